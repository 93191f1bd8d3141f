"""Sessions read from their files: which ones, and what they amount to."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.errors import LedgerUnreadable, UnknownSessionError, UnknownTenantError
from memory_assets.pipeline.inspect.sessions import decision_lines, find_session, find_sessions
from tests.building import close, note, row
from tests.nights import World


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Two tenants; the session ``shared`` exists in both."""
    world = World(tmp_path)
    world.session("a", "shared", row(1), row(2), note(3, "memory_promoted", "seq:1"), close(4))
    world.session("b", "shared", row(1))
    world.session("b", "own", row(1), close(2))
    return world


def test_a_line_holds_what_the_session_amounts_to(world: World) -> None:
    """In force, promoted, declined and to review, by row number."""
    assert list(decision_lines(world.workspace, tenant_id="a")) == [
        {
            "tenant_id": "a",
            "session_id": "shared",
            "closed": True,
            "in_force": [1, 2],
            "promoted": [1],
            "declined": [],
            "to_review": [2],
        }
    ]


def test_the_companion_counts_at_once(world: World) -> None:
    """A marker beside the ledger is a verdict before any night has read it."""
    marker = note(1, "memory_promotion_declined", "seq:2", after_seq=4)
    world.session(
        "a",
        "shared",
        row(1),
        row(2),
        note(3, "memory_promoted", "seq:1"),
        close(4),
        companion=[marker],
    )
    (line,) = decision_lines(world.workspace, tenant_id="a")
    assert (line["declined"], line["to_review"]) == ([2], [])


def test_a_torn_last_line_keeps_the_session_open(world: World) -> None:
    """Somebody is still writing, although the row before says that it is over."""
    path = world.session("b", "torn", row(1), close(2))
    with path.open("ab") as ledger:
        ledger.write(b'{"seq": 3, "ty')
    (line,) = decision_lines(world.workspace, session_id="torn")
    assert not line["closed"]


def test_sessions_are_found_by_tenant_and_name(world: World) -> None:
    """All, those of one tenant, those of one name, or the one that both name."""
    keys = [f.key for f in find_sessions(world.workspace)]
    assert keys == [("a", "shared"), ("b", "own"), ("b", "shared")]
    assert [f.key for f in find_sessions(world.workspace, session_id="shared")] == [
        ("a", "shared"),
        ("b", "shared"),
    ]
    found = find_session(world.workspace, "shared", tenant_id="b")
    assert found.key == ("b", "shared")
    assert find_session(world.workspace, "own", tenant_id=None).key == ("b", "own")


def test_an_ambiguous_name_is_not_guessed(world: World) -> None:
    """Two tenants have the session: one must be named, and no tenant is named in the message."""
    with pytest.raises(UnknownTenantError) as caught:
        find_session(world.workspace, "shared", tenant_id=None)
    assert "--tenant" in caught.value.remedy
    assert "'a'" not in str(caught.value)


def test_unknown_names_are_named_errors(world: World) -> None:
    """A tenant without ledgers, a session that is not there, a tenant that lacks the session."""
    with pytest.raises(UnknownTenantError):
        find_sessions(world.workspace, tenant_id="c")
    with pytest.raises(UnknownSessionError):
        find_sessions(world.workspace, session_id="none")
    with pytest.raises(UnknownSessionError):
        find_session(world.workspace, "own", tenant_id="a")


def test_a_ledger_that_cannot_be_read_is_said(world: World) -> None:
    """A folder where the ledger should be: the message names it."""
    (world.ledgers / "b" / "folder.jsonl").mkdir()
    with pytest.raises(LedgerUnreadable) as caught:
        list(decision_lines(world.workspace, session_id="folder"))
    assert caught.value.where.endswith("folder.jsonl")
