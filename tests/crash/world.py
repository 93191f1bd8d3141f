"""Ledgers that grow between nights, for publications that are killed."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.building import Row, close, note, row, write_session

TENANTS = ("bank", "clinic")
SETTINGS = "embedding = 'hashed:64'\nkeep_generations = 7\nkeep_days = 0\n"
TENANT_FILE = "[tenants.bank]\nreview = 'automatic'\nlanguage = 'en'\n\n[tenants.clinic]\n"


class World:
    """A ledgers folder and the sessions written to it so far."""

    def __init__(self, ledgers: Path, *, seed: int) -> None:
        self.ledgers = ledgers
        self._random = Random(seed)
        self._sessions = 0
        self._facts = 0

    def grow(self, sessions: int = 1) -> None:
        """Writes more finished sessions; about one clarification in four says nothing new."""
        for _ in range(sessions):
            self._sessions += 1
            tenant = TENANTS[self._sessions % 2]
            rows: list[Row] = []
            for _ in range(self._random.randint(1, 4)):
                self._clarify(rows, marked=tenant == "clinic")
            rows.append(close(len(rows) + 1))
            write_session(self.ledgers, tenant, f"s{self._sessions:05d}", rows)

    def _clarify(self, rows: list[Row], *, marked: bool) -> None:
        old = self._facts and self._random.random() < 0.25
        number = self._random.randint(1, self._facts) if old else self._facts + 1
        self._facts = max(self._facts, number)
        seq = len(rows) + 1
        rows.append(row(seq, subject=f"concept {number}", detail=f"cod_{number} = TRUE"))
        if self._random.random() < 0.15:
            rows.append(note(seq + 1, "decision_withdrawn", f"seq:{seq}"))
        elif marked:
            rows.append(note(seq + 1, "memory_promoted", f"seq:{seq}"))


def new_home(folder: Path) -> Path:
    """A home whose settings keep few generations, so that garbage is collected all the time."""
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text(SETTINGS)
    (folder / "tenants.toml").write_text(TENANT_FILE)
    return folder
