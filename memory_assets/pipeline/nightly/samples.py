"""The sample ledgers that come with the package, copied where they can be worked on."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from memory_assets.errors import UsageError
from memory_assets.storage.files import write_errors

LEDGERS = "ledgers"
TENANTS = "tenants.toml"
REVIEW = "review/decisions.jsonl"
_REVIEW_SAMPLE = "review-decisions.jsonl"


@dataclass(frozen=True, slots=True)
class SampleCopy:
    """Where the samples are now."""

    ledgers: Path
    home: Path
    sessions: int

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            "ledgers": str(self.ledgers),
            "home": str(self.home),
            "sessions": self.sessions,
            "next": self.next_command,
        }

    @property
    def next_command(self) -> str:
        """What to run now."""
        return f"memory-assets nightly --ledgers {self.ledgers} --home {self.home}"


def copy_samples(target: Path) -> SampleCopy:
    """The sample ledgers in ``target/ledgers``, their tenants, and what two reviewers decided.

    ``target`` is then a home folder as well, so that one name is enough to run the night.

    Raises:
        UsageError: one of them is there already; nothing is ever overwritten.
        StoreWriteFailed: the folder cannot be written.
    """
    target = target.expanduser().absolute()
    for name in (LEDGERS, TENANTS, REVIEW):
        if (target / name).exists() or (target / name).is_symlink():
            raise UsageError(
                "There is something already; nothing was copied.",
                where=str(target / name),
                remedy="name a folder that does not exist yet.",
            )
    with write_errors(target):
        target.mkdir(parents=True, exist_ok=True)
        with as_file(files("memory_assets") / "samples") as source:
            shutil.copyfile(source / TENANTS, target / TENANTS)
            (target / REVIEW).parent.mkdir(exist_ok=True)
            shutil.copyfile(source / _REVIEW_SAMPLE, target / REVIEW)
            shutil.copytree(source / LEDGERS, target / LEDGERS, copy_function=shutil.copyfile)
    ledgers = target / LEDGERS
    return SampleCopy(ledgers, target, sum(1 for _ in ledgers.glob("*/*.jsonl")))
