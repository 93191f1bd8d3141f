"""Is this installation fit for the night? Doctor and pre-flight."""
