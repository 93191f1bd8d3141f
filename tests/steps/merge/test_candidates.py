"""The pairs table: full, incremental, and after anything that makes earlier pairs worthless."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.ports import TextKind, VectorPart
from memory_assets.embedding.hashed import HashedEmbedder
from memory_assets.errors import ProviderUnavailable
from memory_assets.pipeline.merge.semantic import SemanticMerge
from memory_assets.steps.merge.candidates import (
    GROUP,
    PairSearch,
    compared_tenants,
    read_pairs,
)
from tests.merging import TENANT, Definition, MergeWorld

FIRST: list[Definition] = [
    ("Late order", "An order that lasts more than 24 hours"),
    ("Late order", "An order which lasts more than 24 hours"),
    ("Smoker", "A patient with flag_smoker = TRUE"),
]
SECOND: list[Definition] = [
    ("Late order", "Any order that lasts more than 24 hours"),
    ("Smoker", "Patient whose flag_smoker is TRUE"),
]
Row = tuple[str, str, float | None, str]


@pytest.fixture
def world(tmp_path: Path) -> MergeWorld:
    """A home with the first definitions."""
    made = MergeWorld(tmp_path)
    made.add(FIRST)
    return made


def rows(merge: SemanticMerge) -> set[Row]:
    """The pairs of the tenant, checked to be ordered and given once."""
    found = [
        r
        for frame in read_pairs(merge.derived, TENANT)
        for r in frame.select("memory_a", "memory_b", "cosine", "found_by").iter_rows()
    ]
    assert all(a < b for a, b, _, _ in found)
    assert len(found) == len(set(found))
    return {(a, b, round(c, 5), by) for a, b, c, by in found}


def test_increments_add_up_to_a_full_search(world: MergeWorld) -> None:
    """Night by night the table holds what comparing all with all would find."""
    world.merge().search([TENANT], full=False)
    world.add(SECOND)
    merge = world.merge()
    result = merge.search([TENANT], full=False)
    assert (result.full, result.compared) == (False, 2)
    by_night = rows(merge)
    whole = merge.search([TENANT], full=True)
    assert (whole.full, whole.compared, whole.pairs) == (True, 5, len(by_night))
    assert rows(merge) == by_night


def test_a_second_search_of_the_same_finds_nothing_new(world: MergeWorld) -> None:
    """Nothing is fresh, nothing is compared, the table stays."""
    merge = world.merge()
    merge.search([TENANT], full=False)
    before = rows(merge)
    result = merge.search([TENANT], full=False)
    assert (result.compared, result.found, rows(merge)) == (0, 0, before)


def test_another_model_starts_anew(world: MergeWorld) -> None:
    """Cosines of two spaces are never mixed in one table."""
    world.merge().search([TENANT], full=False)
    world.settings = world.settings.replace("hashed:256", "hashed:128")
    world.add(SECOND[:1])
    merge = world.merge()
    result = merge.search([TENANT], full=False)
    assert (result.full, result.compared) == (True, 4)
    assert compared_tenants(merge.derived)[TENANT]["space_id"] == merge.space_id


def test_a_pair_carries_what_the_guards_say_of_it(world: MergeWorld) -> None:
    """Judged when found: nobody has to read the definitions again to make a proposal of it."""
    ids = world.add([("Late order", "An order that lasts more than 48 hours")])
    merge = world.merge()
    merge.search([TENANT], full=False)
    found = {(r["memory_a"], r["memory_b"]): r for r in _named(merge)}
    alike = found["mem-0001", "mem-0002"]
    assert (alike["relation"], alike["same_subject"], alike["blocking"]) == ("alike", True, [])
    apart = found["mem-0001", ids[0]]
    assert (apart["relation"], apart["same_subject"]) == ("different", True)
    assert apart["blocking"] == apart["guards"] == ["numbers"]


def test_pairs_that_other_guards_judged_are_found_anew(
    world: MergeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new version of the rules, or of this table, takes nothing over from the one before."""
    merge = world.merge()
    merge.search([TENANT], full=False)
    before = rows(merge)
    monkeypatch.setattr("memory_assets.steps.merge.candidates.RULE_VERSION", "next")
    assert merge.search([TENANT], full=False).full
    entries = compared_tenants(merge.derived)
    del entries[TENANT]["judged_by"]
    merge.derived.commit(GROUP, merge.derived.head(GROUP), {"tenants": entries})
    assert rows(merge) == set()
    assert merge.search([TENANT], full=False).full
    assert rows(merge) == before


def _named(merge: SemanticMerge) -> list[dict[str, Any]]:
    return [r for frame in read_pairs(merge.derived, TENANT) for r in frame.iter_rows(named=True)]


def test_other_tenants_keep_their_pairs(world: MergeWorld) -> None:
    """A search of one tenant leaves the rows of the others alone."""
    world.add(FIRST, tenant="other")
    merge = world.merge()
    merge.search(merge.tenants(), full=True)
    before = [f.height for f in read_pairs(merge.derived, "other")]
    merge.search([TENANT], full=True)
    assert [f.height for f in read_pairs(merge.derived, "other")] == before
    assert set(compared_tenants(merge.derived)) == {TENANT, "other"}


def test_a_subject_makes_a_pair_below_the_floor(world: MergeWorld) -> None:
    """Unlike definitions of one subject are found, and marked as found by it."""
    ids = world.add([("Smoker", "qwerty zxcvb")])
    merge = world.merge()
    merge.search([TENANT], full=True)
    assert {by for a, b, _, by in rows(merge) if ids[0] in (a, b)} == {"subject"}


def test_a_search_that_dies_leaves_the_table(
    world: MergeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of an unfinished search are listed by nobody."""
    merge = world.merge()
    merge.search([TENANT], full=True)
    before, head = rows(merge), merge.derived.head(GROUP)

    def dies(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(merge.derived, "commit", dies)
    with pytest.raises(KeyboardInterrupt):
        merge.search([TENANT], full=True)
    after = world.merge()
    assert after.derived.head(GROUP) == head
    assert rows(after) == before


class Down(HashedEmbedder):
    """The world's embedder while its service is out of reach."""

    def embed_parts(self, texts: Sequence[str], *, kind: TextKind) -> Iterator[VectorPart]:
        """No answer."""
        raise ProviderUnavailable("The service does not answer.", remedy="wait.")


def test_what_had_no_vector_is_compared_once_it_has_one(world: MergeWorld) -> None:
    """A service that fails in a memory's first night takes no pair away, and none comes twice."""
    world.merge().search([TENANT], full=False)
    ids = world.add([("Delayed one", "An order that lasts more than 24 hours")])
    merge = world.merge()
    down = PairSearch(merge.derived, Down(256), merge.workspace.cache)
    lacking = down.update(merge.registry, (TENANT,), full=False)
    assert (lacking.full, lacking.compared, lacking.pending) == (False, 1, 1)
    known = rows(merge)
    result = merge.search([TENANT], full=False)
    assert (result.full, result.compared, result.pending) == (False, 1, 0)
    assert known < rows(merge)
    assert {m for pair in rows(merge) - known for m in pair[:2]} >= set(ids)


def test_a_registry_from_a_backup_is_compared_anew(world: MergeWorld, tmp_path: Path) -> None:
    """Generation numbers come again after a restore; the memories behind them are others."""
    shutil.copytree(world.home, tmp_path / "backup")
    world.add([("Bed", "A place in a ward"), ("Nurse", "A person who cares")])
    world.add([("Drug", "A substance")])
    merge = world.merge()
    merge.search([TENANT], full=False)
    shutil.copytree(world.home / "merge", tmp_path / "merge")
    shutil.rmtree(world.home)
    shutil.copytree(tmp_path / "backup", world.home)
    shutil.copytree(tmp_path / "merge", world.home / "merge", dirs_exist_ok=True)
    for session in sorted(world.ledgers.rglob("s*.jsonl"))[len(FIRST) :]:
        session.unlink()
    world.add(SECOND)
    merge = world.merge()
    merge.search([TENANT], full=False)
    by_night = rows(merge)
    merge.search([TENANT], full=True)
    assert rows(merge) == by_night


def test_what_is_kept_of_a_tenant_holds_nothing_of_its_content(world: MergeWorld) -> None:
    """An erased memory leaves not even its hash in the file that says what was compared."""
    merge = world.merge()
    merge.search([TENANT], full=False)
    kept = (world.home / "merge" / f"{GROUP}.json").read_text()
    assert compared_tenants(merge.derived)[TENANT]["newest"][1] in kept
    assert not any(content in kept for content in world.hashes().values())


def test_progress_is_told(world: MergeWorld) -> None:
    """A long search shows how far it is."""
    seen: list[tuple[str, int, int]] = []
    merge = SemanticMerge(world.workspace(), told=lambda *x: seen.append(x))
    merge.search([TENANT], full=True)
    assert any(what == "comparing" and done == total for what, done, total in seen)
