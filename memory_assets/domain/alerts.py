"""What an alert says: which run, what stopped or was refused, where, and what to do. No content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

SHOWN: Final = 20
"""Sessions that an alert names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that went wrong in a run."""

    name: str
    """The step that failed, or the check."""
    code: str
    """The named error, or ``check-failed``; ``interrupted`` where the system stopped the process;
    ``unexpected`` for what nobody foresaw."""
    what: str
    where: str = ""
    """File, session or folder."""
    remedy: str = ""
    severity: Literal["error", "warn"] = "error"
    sessions: Sequence[str] = ()
    """``tenant/session`` of the sessions concerned."""

    def to_dict(self) -> dict[str, Any]:
        """The reason as the webhook gets it."""
        return {
            "name": self.name,
            "code": self.code,
            "severity": self.severity,
            "what": self.what,
            "where": self.where,
            "remedy": self.remedy,
            "sessions": list(self.sessions[:SHOWN]),
            "sessions_in_all": len(self.sessions),
        }

    def line(self) -> str:
        """The reason in one line."""
        parts = [f"{self.name} ({self.code}): {self.what}"]
        if self.where and self.where not in self.what:
            parts.append(f"Where: {self.where}.")
        if self.sessions:
            more = len(self.sessions) - SHOWN
            listed = ", ".join(self.sessions[:SHOWN]) + (f" and {more} more" if more > 0 else "")
            parts.append(f"Sessions: {listed}.")
        if self.remedy and self.remedy not in self.what:
            parts.append(f"What to do: {self.remedy}")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Alert:
    """A run that failed, or one that ended well while a check did not pass."""

    kind: Literal["run-failed", "check-failed"]
    job: str
    run_id: str
    reasons: tuple[Reason, ...]

    def text(self) -> str:
        """The alert in words: the first line says what happened, then one line per reason."""
        said = "failed" if self.kind == "run-failed" else "ended, with checks that did not pass"
        first = f"Run {self.run_id} of {self.job} {said}."
        return "\n".join([first, *(reason.line() for reason in self.reasons)])

    def to_dict(self) -> dict[str, Any]:
        """The alert as the webhook gets it; ``text`` is what chat services show."""
        return {
            "text": self.text(),
            "kind": self.kind,
            "job": self.job,
            "run_id": self.run_id,
            "reasons": [reason.to_dict() for reason in self.reasons],
        }
