"""The append-only file of reviewed pairs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from memory_assets.domain.merge_review import PairReview
from memory_assets.storage.home import Home
from memory_assets.storage.pair_log import (
    append_pair_reviews,
    pair_log_path,
    read_pair_log,
)


def review(a: str, b: str) -> PairReview:
    """A verdict."""
    return PairReview(
        tenant_id="t",
        memory_a=a,
        memory_b=b,
        verdict="same",
        reviewer="rosa",
        decided_at=datetime(2026, 1, 1, tzinfo=UTC),
        content_a="x",
        content_b="y",
        cosine=0.93,
    )


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    """Two appends, one file, in order."""
    home = Home(tmp_path)
    assert read_pair_log(home).reviews == ()
    append_pair_reviews(home, [review("a", "b")])
    append_pair_reviews(home, [review("c", "d")])
    append_pair_reviews(home, [])
    assert read_pair_log(home).reviews == (review("a", "b"), review("c", "d"))


def test_a_torn_line_is_refused_and_swallows_nothing(tmp_path: Path) -> None:
    """A writer that died leaves a line of its own; the next verdict is whole."""
    home = Home(tmp_path)
    append_pair_reviews(home, [review("a", "b")])
    with pair_log_path(home).open("ab") as out:
        out.write(b'{"tenant_id":"t","mem')
    assert len(read_pair_log(home).reviews) == 1
    assert read_pair_log(home).refused == ()
    append_pair_reviews(home, [review("c", "d")])
    log = read_pair_log(home)
    assert (len(log.reviews), log.refused) == (2, (2,))
