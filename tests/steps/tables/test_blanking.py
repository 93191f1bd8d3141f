"""Buried rows keep their place in derived tables, and say nothing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from memory_assets.domain.schemas import DECISIONS, EVENTS, QUARANTINE, SESSIONS
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.ledgers.decide import GROUP
from memory_assets.steps.registry.view import frame_of_keys
from memory_assets.steps.tables.blanking import WHOLE_SESSION, blanked
from tests.building import close, note, row
from tests.nights import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A session with a clarification, a marker that quotes it, another row, and a bad line."""
    made = World(tmp_path)
    mine = row(1, subject="secret", detail="secret", client_id="c7", concepts=["secret"])
    marker = note(2, "memory_promoted", "seq:1", rationale="secret")
    made.session("clinic", "s1", mine, marker, row(3, detail="plain"), b"secret", close(5))
    made.session("clinic", "s2", row(1, detail="plain"), b"plain nonsense", close(3))
    made.workspace.ingest()
    made.workspace.decide()
    return made


BURIED = frame_of_keys([("clinic", "s1", 1, 0)])


def test_events_lose_content_and_keep_references(world: World) -> None:
    """The replay still sees row 1 promoted by row 2."""
    events = world.workspace.derived.read(ingest.GROUP, EVENTS)
    new = blanked(EVENTS, events, BURIED)
    assert new.schema == events.schema
    assert "secret" not in new.write_json()
    first, second, third = new.filter(pl.col("session_id") == "s1").head(3).to_dicts()
    assert (first["ref"], first["type"], first["client_id"]) == (1, "concept_clarified", None)
    assert (second["detail"], second["target"], second["rationale"]) == ("seq:1", 1, "")
    assert third["detail"] == "plain"
    untouched = pl.col("session_id") == "s2"
    assert new.filter(untouched).equals(events.filter(untouched))


def test_decisions_can_not_be_traced_back(world: World) -> None:
    """Hashes of a short text could be guessed, so they go too."""
    decisions = world.workspace.derived.read(GROUP, DECISIONS)
    new = blanked(DECISIONS, decisions, BURIED)
    gone = new.row(0, named=True)
    assert (gone["decision_seq"], gone["content_sha256"], gone["duplicate_key"]) == (1, "", "")
    assert "secret" not in new.write_json()


def test_refused_lines_of_the_session_are_not_quoted(world: World) -> None:
    """Place and code stay; other sessions' lines are as they were."""
    refused = world.workspace.derived.read(ingest.GROUP, QUARANTINE)
    whole = frame_of_keys([("clinic", "s1", WHOLE_SESSION, 0)])
    new = blanked(QUARANTINE, refused, whole)
    assert new["raw"].to_list() == [b"", b"plain nonsense"]
    assert new["line"].to_list() == refused["line"].to_list()
    assert new["code"].to_list() == refused["code"].to_list()


def test_nothing_changes_without_a_reason(world: World) -> None:
    """Tables without rows of sessions, and an empty list of keys, are returned as they came."""
    events = world.workspace.derived.read(ingest.GROUP, EVENTS)
    sessions = world.workspace.derived.read(ingest.GROUP, SESSIONS)
    assert blanked(EVENTS, events, frame_of_keys([])).equals(events)
    assert blanked(SESSIONS, sessions, BURIED).equals(sessions)
    again = blanked(EVENTS, blanked(EVENTS, events, BURIED), BURIED)
    assert again.equals(blanked(EVENTS, events, BURIED))
