"""What an alert says, in words and as JSON."""

from __future__ import annotations

from memory_assets.domain.alerts import SHOWN, Alert, Reason


def test_the_text_names_run_step_error_place_and_remedy() -> None:
    """Whoever reads it at night knows where to look and what to type."""
    reason = Reason("publication", "corrupt-store", "A part is damaged.", "/home/x", "restore it.")
    text = Alert("run-failed", "nightly", "run-1", (reason,)).text()
    assert text.splitlines() == [
        "Run run-1 of nightly failed.",
        "publication (corrupt-store): A part is damaged. Where: /home/x. What to do: restore it.",
    ]


def test_many_sessions_are_counted_not_listed() -> None:
    """A bad night with thousands of sessions still fits into one message."""
    sessions = [f"bank/s{n}" for n in range(SHOWN + 5)]
    reason = Reason("check", "check-failed", "Blocked.", sessions=sessions)
    assert reason.line().endswith("and 5 more.")
    assert len(reason.to_dict()["sessions"]) == SHOWN
    assert reason.to_dict()["sessions_in_all"] == SHOWN + 5


def test_nothing_is_said_twice() -> None:
    """Messages of named errors already hold their place and remedy."""
    reason = Reason("step", "code", "Broken. Where: /a. What to do: mend it.", "/a", "mend it.")
    assert reason.line().count("mend it.") == 1
    assert reason.line().count("/a") == 1
