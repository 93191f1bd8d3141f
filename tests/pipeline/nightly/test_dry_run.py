"""A dry run foresees the night and leaves no trace."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from memory_assets.pipeline.nightly.dry_run import DryRunReport, rehearse
from memory_assets.storage.locks import exclusive
from tests.building import close, note, row
from tests.nights import World, tree

SAID = {"subject": "Active client", "detail": "moved money in 90 days"}


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """A session with an accepted, a bare, a withdrawn and a waiting clarification."""
    world = World(tmp_path)
    world.session(
        "bank",
        "one",
        row(1, **SAID),
        row(2, subject="dim_time", detail="the calendar"),
        row(3),
        row(4),
        note(5, "memory_promoted", "seq:1"),
        note(6, "decision_withdrawn", "seq:3"),
        close(7),
    )
    return world


def _rehearse(world: World) -> DryRunReport:
    return rehearse(world.workspace, now=world.now)


def test_it_leaves_no_trace_before_the_first_night(world: World) -> None:
    """No home folder appears, and the ledgers and the temporary folder stay as they were."""
    before = tree(world.root)
    scratch = set(Path(tempfile.gettempdir()).glob("memory-assets-dry-run-*"))
    _rehearse(world)
    assert tree(world.root) == before
    assert not world.home.exists()
    assert set(Path(tempfile.gettempdir()).glob("memory-assets-dry-run-*")) <= scratch


def test_it_leaves_no_trace_on_a_home(world: World) -> None:
    """Byte for byte the same tree, with a session that is new and one that has grown."""
    world.night()
    world.session("bank", "two", row(1, **SAID), close(2))
    with (world.ledgers / "bank" / "one.jsonl").open("ab") as ledger:
        ledger.write(b'{"seq": 8, "ts": "2026-02-01T10:00:00Z", "type": "session_closed"}\n')
    before = tree(world.root)
    assert _rehearse(world).ingest.changed == 2
    assert tree(world.root) == before


def test_it_says_what_would_happen_and_why(world: World) -> None:
    """Promoted, waiting and left out, each with its place; the left out with a reason."""
    found = _rehearse(world).to_dict()
    assert [(m["memory_id"], m["subject"]) for m in found["would_promote"]] == [
        ("mem-0001", "Active client")
    ]
    assert [w["ref"] for w in found["would_wait"]] == ["seq:4"]
    assert {(o["ref"], o["code"]) for o in found["left_out"]} == {
        ("seq:2", "schema-name"),
        ("seq:3", "not-in-force"),
    }
    assert all(o["reason"] for o in found["left_out"])


def test_the_night_does_what_was_foreseen(world: World) -> None:
    """Counts and new memories of the rehearsal are those of the night that follows."""
    world.session("bank", "two", row(1, **SAID), note(2, "memory_promoted", "seq:1"), close(3))
    foreseen = _rehearse(world).to_dict()
    happened = world.night().to_dict()
    for name in ("sessions", "events", "effective", "candidates", "promoted", "memories"):
        assert foreseen[name] == happened[name], name
    assert foreseen["dropped"] == happened["dropped"]
    assert (foreseen["corroborated"], happened["corroborated"]) == (1, 1)
    memories = world.workspace.registry().memories
    assert memories["memory_id"].to_list() == [m["memory_id"] for m in foreseen["would_promote"]]


def test_watermarks_are_judged_as_in_the_night(world: World) -> None:
    """A ledger that lost a row since the last night is a problem in the rehearsal too."""
    world.night()
    world.session("bank", "one", row(1, **SAID), close(2))
    (problem,) = _rehearse(world).to_dict()["problems"]
    assert (problem["session_id"], problem["status"]) == ("one", "append-only-violation")


def test_it_waits_for_nobody(world: World) -> None:
    """A publication under way neither stops the rehearsal nor notices it."""
    world.night()
    with exclusive(world.workspace.home.publisher_lock, purpose="testing"):
        assert _rehearse(world).generation == 1


def test_personal_data_is_covered(tmp_path: Path) -> None:
    """In what would be promoted, would wait and would be left out: all of it is only listed."""
    world = World(tmp_path)
    world.tenants('[tenants.bank]\nclient_names = ["Mario Rossi"]\n')
    account = "IT60X0542811101000000123456"
    world.session(
        "bank",
        "one",
        row(1, subject=f"Account {account}", detail="of Mario Rossi"),
        row(2, subject="Mario Rossi", detail="a client"),
        row(3, subject=f"dim_{account}", detail="a table"),
        close(4),
    )
    world.night()
    world.review("bank", "one", 1, "accept")
    report = _rehearse(world)
    (promoted,) = report.would_promote()
    assert (promoted["subject"], promoted["detail"]) == ("Account [IBAN]", "of [client name]")
    (waiting,) = report.would_wait()
    assert waiting["subject"] == "[client name]"
    assert waiting["label"] == "new; personal data: client name"
    (left,) = report.left_out()
    assert left["code"] == "schema-name"
    assert account not in str(report.to_dict())
