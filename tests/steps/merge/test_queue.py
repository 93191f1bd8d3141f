"""Merge proposals in the review queue: shown, decided, applied once, and remembered as labels."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.review.decide import Decided, ReviewDesk, Verdict
from memory_assets.pipeline.review.state import Item, QueueFilter, ReviewState
from memory_assets.steps.review.items import ProposalRef
from memory_assets.storage.pair_log import read_pair_log
from tests.merging import NOW, TENANT, MergeWorld

SAME = [
    ("Late order", "A late order is an order that lasts more than 24 hours, flag_late = TRUE."),
    ("Late order", "An order with flag_late = TRUE that lasts more than 24 hours is a late order."),
]
CONFLICT = [
    ("Active client", "A client with at least one movement in the last 12 months"),
    ("Active client", "A client with at least one movement in the last 6 months"),
]


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> MergeWorld:
    """An empty home."""
    return MergeWorld(tmp_path)


def _planned(world: MergeWorld, definitions: list[tuple[str, str]]) -> tuple[list[str], Item]:
    ids = world.add(definitions)
    world.merge().plan([TENANT])
    state = ReviewState(world.workspace(), now=NOW)
    (item,) = state.queue(Principal.local(TENANT), QueueFilter(TENANT)).items
    return ids, item


def _decide(world: MergeWorld, item: Item, kind: Any) -> Decided:
    ref = ProposalRef(TENANT, item["item_id"].partition("/")[2])
    return ReviewDesk(world.workspace(), "rosa", now=NOW).decide([ref], Verdict(kind))


def test_a_group_is_accepted_once_and_becomes_labels(world: MergeWorld) -> None:
    """One replaces the other with the next run, the pair is a label, and nobody is asked again."""
    ids, item = _planned(world, SAME)
    assert item["kind"] == "merge"
    assert sorted(item["memory_ids"]) == sorted(ids)
    shown = ReviewState(world.workspace(), now=NOW).item(
        Principal.local(TENANT), ProposalRef(TENANT, item["item_id"].partition("/")[2])
    )
    assert [n["memory_id"] for n in shown["neighbours"]] == item["memory_ids"][1:]
    assert _decide(world, item, "accept").refused == ()
    assert world.workspace().settle_proposals(now=NOW) == 1
    assert world.workspace().settle_proposals(now=NOW) == 0
    world.night()
    assert sorted(world.status().values()) == ["active", "superseded"]
    (label,) = read_pair_log(world.workspace().home).reviews
    assert (label.verdict, label.reviewer) == ("same", "rosa")
    assert ReviewState(world.workspace(), now=NOW).proposals.proposals == ()
    assert ReviewState(world.workspace(), now=NOW).proposals.refused == ()


def test_a_group_waits_since_its_newest_definition(world: MergeWorld) -> None:
    """So it counts in the age of the backlog, and a filter by age leaves it in."""
    ids, item = _planned(world, SAME)
    memories = world.workspace().registry().memories.filter(pl.col("memory_id").is_in(ids))
    assert item["waits_since"] == max(memories["decided_at"].to_list()).isoformat()
    state = ReviewState(world.workspace(), now=NOW + timedelta(days=2))
    old = QueueFilter(TENANT, older_than=timedelta(days=1))
    found = state.queue(Principal.local(TENANT), old)
    assert [i["item_id"] for i in found.items] == [item["item_id"]]
    assert found.oldest == item["waits_since"]


def test_a_declined_group_is_remembered_as_different(world: MergeWorld) -> None:
    """Both memories stay, and the next plan does not propose the pair again."""
    _, item = _planned(world, SAME)
    _decide(world, item, "decline")
    world.night()
    assert set(world.status().values()) == {"active"}
    assert [r.verdict for r in read_pair_log(world.workspace().home).reviews] == ["different"]
    world.merge().plan([TENANT])
    assert ReviewState(world.workspace(), now=NOW).proposals.proposals == ()


def test_the_newer_definition_replaces_the_older_only_by_review(world: MergeWorld) -> None:
    """Two definitions of one subject: a conflict that waits; accepted, the newer one stays."""
    ids, item = _planned(world, CONFLICT)
    assert (item["kind"], item["label"]) == ("conflict", f"conflicts with {ids[1]}")
    world.night()
    assert set(world.status().values()) == {"active"}
    _decide(world, item, "accept")
    world.night()
    assert world.status() == {ids[0]: "superseded", ids[1]: "active"}
    assert [r.verdict for r in read_pair_log(world.workspace().home).reviews] == ["conflicts"]


def test_an_edit_of_a_proposal_is_refused(world: MergeWorld) -> None:
    """A proposal is taken as it is, declined, or put off."""
    _, item = _planned(world, SAME)
    ref = ProposalRef(TENANT, item["item_id"].partition("/")[2])
    desk = ReviewDesk(world.workspace(), "rosa", now=NOW)
    done = desk.decide([ref], Verdict("duplicate_of", memory_id="mem-0001"))
    assert [r.code for r in done.refused] == ["bad-verdict"]
    assert _decide(world, item, "defer").refused == ()
