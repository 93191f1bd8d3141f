"""Use cases of one installation; entry points call these and nothing below."""
