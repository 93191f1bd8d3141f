"""Which generations stay: by count, by age, and never fewer than the present one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.schemas import TIER_ASSIGNMENTS
from memory_assets.storage.generations import Generation, GenerationStore
from memory_assets.storage.home import Home
from memory_assets.storage.retention import Retention, apply_gc, plan_gc

START = datetime(2026, 1, 1, tzinfo=UTC)


def publish(store: GenerationStore, number: int, **changes: object) -> Generation:
    """One more generation, a day after the last, with one part of its own."""
    before, tag = store.begin()
    frame = TIER_ASSIGNMENTS.frame([("t", f"mem-{number:04d}", "core", number, "r", "{}")])
    part = store.parts.write(TIER_ASSIGNMENTS, frame, f"{number:08d}")
    assert part is not None
    parts = (*before.tables.get("tier_assignments", ()), part)
    at = (START + timedelta(days=number)).isoformat()
    made = Generation(
        number,
        before.number or None,
        at,
        "r",
        {"tier_assignments": parts},
        **changes,  # type: ignore[arg-type]
    )
    store.pointer.replace(store.stage_manifest(made), expected_tag=tag)
    return made


@pytest.fixture
def store(tmp_path: Path) -> GenerationStore:
    """Ten daily generations."""
    made = GenerationStore(Home(tmp_path))
    for number in range(1, 11):
        publish(made, number)
    return made


NOW = START + timedelta(days=10, hours=1)


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (Retention(3), [8, 9, 10]),
        (Retention(1), [10]),
        (Retention(1, timedelta(days=4)), [7, 8, 9, 10]),
        (Retention(6, timedelta(days=4)), [5, 6, 7, 8, 9, 10]),
        (Retention(99), list(range(1, 11))),
        (Retention(1, timedelta(days=99)), list(range(1, 11))),
    ],
)
def test_what_is_new_or_young_stays(
    store: GenerationStore, rule: Retention, kept: list[int]
) -> None:
    """Either is enough; the rest goes, once."""
    current, _ = store.current()
    plan = plan_gc(store, current, rule, now=NOW)
    assert list(plan.kept) == kept
    apply_gc(store, current, plan)
    assert store.kept(current) == kept
    assert not plan_gc(store, current, rule, now=NOW)
    assert store.current(verify=True)[0] == current


@given(st.integers(1, 12), st.integers(0, 12))
def test_the_present_generation_is_never_collected(count: int, days: int) -> None:
    """Whatever the rule and however late it is."""
    with TemporaryDirectory() as folder:
        store = GenerationStore(Home(Path(folder)))
        for number in (1, 2, 3):
            publish(store, number)
        current, _ = store.current()
        late = NOW + timedelta(days=1000)
        plan = plan_gc(store, current, Retention(count, timedelta(days=days)), now=late)
        assert 3 in plan.kept
        assert set(plan.kept).isdisjoint(plan.generations)


def test_parts_that_no_kept_generation_lists_go(store: GenerationStore) -> None:
    """A compacted table leaves its old parts to the generations that still list them."""
    current, tag = store.current()
    old = current.tables["tier_assignments"]
    frame = pl.concat([store.parts.read(TIER_ASSIGNMENTS, [p]) for p in old])
    whole = store.parts.write(TIER_ASSIGNMENTS, frame, "00000011")
    assert whole is not None
    made = Generation(11, 10, NOW.isoformat(), "r", {"tier_assignments": (whole,)})
    store.pointer.replace(store.stage_manifest(made), expected_tag=tag)
    kept = plan_gc(store, made, Retention(2), now=NOW)
    assert (kept.kept, kept.parts) == ((10, 11), ())
    plan = plan_gc(store, made, Retention(1), now=NOW)
    assert sorted(plan.parts) == sorted(p.path for p in old)
    assert plan.part_bytes == sum(p.bytes for p in old)
    apply_gc(store, made, plan)
    assert [p.name for p in (store.home.registry / "tier_assignments").iterdir()] == [
        Path(whole.path).name
    ]


def test_a_collection_that_was_cut_short_is_ended_by_the_next(store: GenerationStore) -> None:
    """It goes by what manifests list, so parts that lost their manifest are found."""
    current, _ = store.current()
    plan = plan_gc(store, current, Retention(2), now=NOW)
    store.manifest_path(plan.generations[0]).unlink()
    again = plan_gc(store, current, Retention(2), now=NOW)
    apply_gc(store, current, again)
    assert store.kept(current) == [9, 10]
    assert store.current(verify=True)[0] == current


def test_what_a_removal_destroyed_is_not_kept(store: GenerationStore) -> None:
    """Generations below the floor are gone for every reader at once, whatever still lies there."""
    current = publish(store, 11, floor=11)
    assert store.kept(current) == [11]
    plan = plan_gc(store, current, Retention(99), now=NOW)
    assert plan.kept == (11,)
