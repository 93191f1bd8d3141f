"""A backfill in pieces: chosen tenants, sessions and days are taken in, the others wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.domain.schemas import EVENTS
from memory_assets.errors import UsageError
from memory_assets.steps.ledgers.selection import Selection
from tests.building import close, row
from tests.nights import World

DAYS = ("2026-01-01T23:30:00Z", "2026-01-02T00:30:00+01:00", "2026-01-03T12:00:00Z")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two tenants with a session on each of three days; the second day is the first in UTC."""
    made = World(tmp_path)
    for tenant in ("bank", "clinic"):
        for number, day in enumerate(DAYS, 1):
            made.session(tenant, f"s{number}", row(1, ts=day), close(2))
    return made


def _read(world: World, selection: Selection) -> set[str]:
    done = world.workspace.ingest(chosen=selection.takes)
    assert done.not_chosen == 6 - done.read
    events = world.workspace.derived.read("ledger_events", EVENTS)
    return {f"{t}/{s}" for t, s in events.select("tenant_id", "session_id").unique().rows()}


def test_nothing_chosen_means_everything(world: World) -> None:
    """A night without run configuration takes in all that changed."""
    assert Selection.of() == Selection()
    assert len(_read(world, Selection.of())) == 6


def test_tenants_are_chosen_by_name(world: World) -> None:
    """Sessions of other tenants wait."""
    assert _read(world, Selection.of(tenants=["bank"])) == {"bank/s1", "bank/s2", "bank/s3"}


def test_sessions_are_chosen_by_tenant_and_name(world: World) -> None:
    """A session of the same name in another tenant is another session."""
    assert _read(world, Selection.of(sessions=["clinic/s2"])) == {"clinic/s2"}


def test_days_count_by_the_first_row_in_utc_with_both_ends(world: World) -> None:
    """00:30 at +01:00 is still the day before in UTC."""
    chosen = _read(world, Selection.of(since="2026-01-01", until="2026-01-01"))
    assert chosen == {"bank/s1", "bank/s2", "clinic/s1", "clinic/s2"}


def test_what_waited_is_taken_in_later(world: World) -> None:
    """In pieces or at once: the registry that results is the same."""
    world.tenants('[tenants.bank]\nreview = "automatic"\n[tenants.clinic]\nreview = "automatic"\n')
    world.workspace.ingest(chosen=Selection.of(tenants=["clinic"]).takes)
    world.workspace.decide()
    world.workspace.publish(run_id="piece", now=world.now)
    assert set(world.workspace.registry().memories["tenant_id"]) == {"clinic"}
    report = world.night()
    assert report.ingest.read == 3
    assert set(world.workspace.registry().memories["tenant_id"]) == {"bank", "clinic"}


def test_markers_of_a_piece_do_not_take_in_the_rest(world: World) -> None:
    """Our own companion files are read back at once, and nothing else with them."""
    world.tenants('[tenants.bank]\nreview = "automatic"\n[tenants.clinic]\nreview = "automatic"\n')
    world.workspace.ingest(chosen=Selection.of(tenants=["clinic"]).takes)
    world.workspace.decide()
    world.workspace.publish(run_id="piece", now=world.now)
    assert world.workspace.mark(now=world.now).written == 3
    assert {t for t, _ in world.workspace.waiting_sessions().sessions} == {"bank"}


def test_a_session_without_a_time_is_in_no_range(world: World) -> None:
    """A file whose first rows cannot be read is left for a night that takes everything."""
    world.session("bank", "torn", b"{not json", close(2) | {"ts": "soon"})
    chosen = world.workspace.ingest(chosen=Selection.of(since="2000-01-01").takes)
    assert (chosen.read, chosen.not_chosen) == (6, 1)


def test_a_selection_that_cannot_be_meant_is_refused_in_one_message() -> None:
    """Every problem is named at once."""
    with pytest.raises(UsageError) as caught:
        Selection.of(sessions=["s1"], since="yesterday", until="2026-02-30")
    for words in ("'s1'", "since", "until"):
        assert words in caught.value.what
    with pytest.raises(UsageError, match="comes after"):
        Selection.of(since="2026-02-01", until="2026-01-01")
