"""Where real texts for measurements lie, if they are there: never part of this project."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count as count_up
from itertools import zip_longest
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


def definitions() -> list[str]:
    """Short real definitions, English and Italian, alternating: ``term: text``."""
    kinds = []
    for name in ("italia_ontologie", "semantic_layer"):
        path = DATA / "definitions" / f"{name}.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        kinds.append([f"{row['term']}: {row['text']}" for row in rows])
    return [text for pair in zip_longest(*kinds) for text in pair if text]


def texts(count: int) -> list[str]:
    """So many different texts as they are embedded: real ones where they are, else made up."""
    if DATA.is_dir():
        memories = [f"{c.subject}\n{c.detail}\n{c.question}" for c in clarified()]
        pairs = zip_longest(memories, definitions())
        found = list(dict.fromkeys(t for pair in pairs for t in pair if t))
        if len(found) >= count:
            return found[:count]
    words = ("tariffa", "paziente", "ricovero", "revenue", "margin", "customer", "degenza", "tasso")
    chance = random.Random(5)
    made = (
        f"measure {n}: {' '.join(chance.choices(words, k=chance.randint(8, 60)))}"
        for n in count_up()
    )
    return [next(made) for _ in range(count)]
