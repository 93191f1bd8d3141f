"""Where real texts for measurements lie, if they are there: never part of this project."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BESIDE = Path(__file__).parents[2].parent / "shared" / "data"
DATA = Path(os.environ.get("MEMORY_ASSETS_TEST_DATA", BESIDE))
"""A folder with ``stsb/stsb-{en,it}-dev.csv`` and ``bird_ledgers/<tenant>/<session>.jsonl``."""


@dataclass(frozen=True, slots=True)
class Clarified:
    """One clarified concept: the question that it came from, and what was agreed."""

    question: str
    subject: str
    detail: str


def stsb(language: str) -> list[tuple[str, str, float]]:
    """(sentence, sentence, likeness from 0 to 5); the same pairs in the same order per language."""
    path = DATA / "stsb" / f"stsb-{language}-dev.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        return [(a, b, float(score)) for a, b, score in csv.reader(lines)]


@cache
def clarified() -> tuple[Clarified, ...]:
    """Every clarified concept of the BIRD ledgers, each once, in the order of the files."""
    return tuple(dict.fromkeys(_clarified()))


def _clarified() -> Iterator[Clarified]:
    for path in sorted((DATA / "bird_ledgers").glob("*/*.jsonl")):
        for line in path.read_text("utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and row.get("type") == "concept_clarified":
                found = [str(row.get(k) or "") for k in ("question_context", "subject", "detail")]
                if all(found):
                    yield Clarified(*found)
