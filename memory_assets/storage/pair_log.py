"""The append-only file of reviewed pairs, beside the reviewers' other decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from memory_assets.domain.merge_review import PairReview
from memory_assets.storage.home import Home
from memory_assets.storage.review_log import append_lines

FILE_NAME: Final = "pairs.jsonl"
_DECODER = msgspec.json.Decoder(PairReview)


@dataclass(frozen=True, slots=True)
class PairLog:
    """The file as read: verdicts in order, and the numbers of lines that are none."""

    reviews: tuple[PairReview, ...]
    refused: tuple[int, ...]


def pair_log_path(home: Home) -> Path:
    """Where the file lies."""
    return home.review_decisions.parent / FILE_NAME


def read_pair_log(home: Home) -> PairLog:
    """All lines; a missing file reads as empty, a torn last line is left alone."""
    try:
        data = pair_log_path(home).read_bytes()
    except FileNotFoundError:
        return PairLog((), ())
    reviews = []
    refused = []
    lines = data.split(b"\n")
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            reviews.append(_DECODER.decode(raw))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            if number < len(lines):
                refused.append(number)
    return PairLog(tuple(reviews), tuple(refused))


def append_pair_reviews(home: Home, reviews: Sequence[PairReview]) -> None:
    """Appends the verdicts durably; all of them, or after a crash a readable prefix."""
    if reviews:
        append_lines(pair_log_path(home), [msgspec.json.encode(r) for r in reviews])
