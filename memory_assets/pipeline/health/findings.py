"""One thing that ``doctor`` found, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["error", "warning", "info", "ok"]
"""An error stops the night or loses something; a warning will, or hides something from searches."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found; every error and warning says what mends it."""

    level: Level
    name: str
    message: str
    mend: str = ""
    """The command, or the action, that mends it."""

    def to_dict(self) -> dict[str, Any]:
        """The finding as ``--json`` prints it."""
        return {name: getattr(self, name) for name in self.__slots__}


def ok(name: str, message: str) -> Finding:
    """All is well here."""
    return Finding("ok", name, message)


def info(name: str, message: str, mend: str = "") -> Finding:
    """Worth knowing."""
    return Finding("info", name, message, mend)


def warning(name: str, message: str, mend: str) -> Finding:
    """Will become an error, or hides something."""
    return Finding("warning", name, message, mend)


def error(name: str, message: str, mend: str) -> Finding:
    """Stops the night, or something is lost."""
    return Finding("error", name, message, mend)
