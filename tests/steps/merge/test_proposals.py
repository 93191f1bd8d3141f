"""From judged pairs to proposals, where the weeks before have merged some of the memories."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import polars as pl
import pytest

from memory_assets.domain.merge import Member, MergePolicy
from memory_assets.domain.merge_review import PairVerdicts
from memory_assets.domain.merge_tables import DUPLICATE_PAIRS
from memory_assets.steps.merge.proposals import Definitions, ProposeResult, propose
from memory_assets.steps.tables.frames import frame_of

OLD, KEPT, NEW = "mem-0001", "mem-0002", "mem-0003"


def proposed(
    cosines: Mapping[tuple[str, str], float], replaced: Mapping[str, str], relation: str = "alike"
) -> ProposeResult:
    """Proposals under an earned threshold of 0.9, from pairs of one subject."""
    none: list[str] = []
    rows = [("clinic", *p, True, relation, none, none, c, "vector") for p, c in cosines.items()]
    active = [m for m in (OLD, KEPT, NEW) if m not in replaced]
    text = {"scope": "all", "subject": "Stay", "detail": "a stay"}
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return propose(
        "clinic",
        [frame_of(DUPLICATE_PAIRS, rows)],
        Definitions(pl.DataFrame([{"memory_id": m, **text} for m in active])),
        {m: Member(m, True, 0, 9, when) for m in (OLD, KEPT, NEW)},
        MergePolicy(threshold=0.9, floor=0.5),
        PairVerdicts([]),
        replaced=replaced,
    )


@pytest.mark.parametrize(
    ("far", "route"), [(None, "review"), (0.55, "review"), (0.89, "review"), (0.93, "auto")]
)
def test_merges_of_several_weeks_make_no_chain(far: float | None, route: str) -> None:
    """What has replaced a memory merges by itself only with what is close to that memory, too."""
    cosines = {(OLD, KEPT): 0.93, (KEPT, NEW): 0.93}
    if far is not None:
        cosines[OLD, NEW] = far
    (found,) = proposed(cosines, {OLD: KEPT}).proposals
    assert (found.members, found.route) == ((KEPT, NEW), route)


def test_without_a_merge_before_nothing_stands_behind_a_pair() -> None:
    """An earned pair of memories that replaced nothing merges by itself."""
    (found,) = proposed({(KEPT, NEW): 0.93}, {}).proposals
    assert found.route == "auto"


def test_an_equal_text_follows_the_one_that_it_equals() -> None:
    """A text that is equal to a survivor merges, whatever that one has replaced."""
    (found,) = proposed({(KEPT, NEW): 0.93}, {OLD: KEPT}, "equal").proposals
    assert found.route == "auto"
