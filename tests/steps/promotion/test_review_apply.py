"""What the review file comes to, however it was written: good lines apply, bad ones are listed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memory_assets.steps.promotion.consolidate import Assessment
from memory_assets.storage.review_log import append_lines
from tests.building import close, note, row
from tests.nights import World

Line = dict[str, Any]


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Three concepts that wait, a table, and one concept in a session that is still open."""
    world = World(tmp_path)
    world.session(
        "clinic", "s1", row(1), row(2), row(3), row(4, "table_promoted", subject="visits"), close(5)
    )
    world.session("clinic", "open", row(1, subject="later", detail="not yet"))
    world.workspace.ingest()
    world.workspace.decide()
    return world


def _line(world: World, seq: int, verdict: str = "accept", **changes: Any) -> Line:
    rows = world.workspace.assess(now=world.now).routes
    found = rows.filter(session_id="s1", decision_seq=seq)["content_sha256"]
    return {
        "tenant_id": "clinic",
        "session_id": "s1",
        "decision_seq": seq,
        "verdict": verdict,
        "reviewer": "anna",
        "decided_at": (world.now - timedelta(hours=1)).isoformat(),
        "content_sha256": found.item() if found.len() else "unknown",
        **changes,
    }


def _write(world: World, *lines: Line | bytes) -> Assessment:
    encoded = [x if isinstance(x, bytes) else msgspec.json.encode(x) for x in lines]
    append_lines(world.workspace.home.review_decisions, encoded)
    return world.workspace.assess(now=world.now)


def _codes(found: Assessment) -> dict[int, str]:
    return {r.line: r.code for r in found.refused_reviews}


def _accepted(found: Assessment) -> list[int]:
    return [a.row["decision_seq"] for a in found.accepted]


def test_a_file_full_of_faults_loses_none_of_its_good_lines(world: World) -> None:
    """Every bad line has its own reason, and the rest is applied."""
    found = _write(
        world,
        b"{not json}",
        _line(world, 1),
        _line(world, 99),
        _line(world, 4),
        _line(world, 2, decided_at=(world.now + timedelta(days=1)).isoformat()),
        _line(world, 2, reviewer=" Agent: planner"),
        _line(world, 2, content_sha256="0" * 64),
        _line(world, 2, verdict="approve"),
        _line(world, 2, decided_at="2026-02-01T10:00:00"),
        _line(world, 2, memory_id="mem-0001"),
        _line(world, 2, verdict="duplicate_of", memory_id="mem-0404"),
        _line(world, 3),
        b'{"verdict": "accept", ' + msgspec.json.encode(_line(world, 2))[1:],
    )
    assert _accepted(found) == [1, 3]
    assert _codes(found) == {
        1: "bad-line",
        3: "unknown-item",
        4: "unknown-item",
        5: "from-the-future",
        6: "not-a-reviewer",
        7: "changed-since",
        8: "bad-line",
        9: "bad-time",
        10: "bad-verdict",
        11: "unknown-memory",
        13: "bad-line",
    }
    assert found.candidates["decision_seq"].to_list() == [2]


def test_two_verdicts_of_one_instant_are_both_refused(world: World) -> None:
    """Nobody guesses which one was meant: the item waits again, whatever was said before."""
    before = _line(world, 1, decided_at=(world.now - timedelta(hours=2)).isoformat())
    found = _write(world, before, _line(world, 1), _line(world, 1, "decline"), _line(world, 2))
    assert _codes(found) == {2: "two-verdicts", 3: "two-verdicts"}
    assert _accepted(found) == [2]
    assert found.candidates["decision_seq"].to_list() == [1, 3]


def test_the_same_line_twice_is_no_contradiction(world: World) -> None:
    """A line that was copied says nothing new."""
    found = _write(world, _line(world, 1), _line(world, 1))
    assert (_accepted(found), _codes(found)) == ([1], {})


def test_of_several_verdicts_the_latest_counts_wherever_it_stands(world: World) -> None:
    """Time decides, not the order of lines that somebody put together."""
    late = (world.now - timedelta(minutes=5)).isoformat()
    found = _write(world, _line(world, 1, "accept", decided_at=late), _line(world, 1, "decline"))
    assert _accepted(found) == [1]
    assert [(o.line, o.by_line) for o in found.overridden_reviews] == [(2, 1)]
    assert _codes(found) == {}


def test_a_decline_can_be_reversed_and_taken_back(world: World) -> None:
    """Decline, accept, reopen: after each line the item stands where that line puts it."""
    stands = []
    for minute, verdict in enumerate(("decline", "accept", "reopen", "defer")):
        when = (world.now - timedelta(minutes=30 - minute)).isoformat()
        routes = _write(world, _line(world, 1, verdict, decided_at=when)).routes
        stands.append(routes.filter(session_id="s1", decision_seq=1)["route"].item())
    assert stands == ["declined", "accepted", "review", "deferred"]


def test_a_verdict_holds_for_equal_content_of_the_session(world: World) -> None:
    """A reviewer sees equal content once, so one word settles all of it, and reopens all of it."""
    same = row(2, subject="concept 1", detail="Definition 1.")
    world.session("clinic", "s2", row(1), same, close(3))
    world.workspace.ingest()
    world.workspace.decide()
    rows = world.workspace.assess(now=world.now).routes.filter(session_id="s2")
    line = _line(world, 1, session_id="s2", content_sha256=rows["content_sha256"][0])
    found = _write(world, line)
    assert found.routes.filter(session_id="s2")["route"].to_list() == ["accepted", "accepted"]
    again = _write(world, line | {"verdict": "reopen", "decided_at": world.now.isoformat()})
    assert again.routes.filter(session_id="s2")["route"].to_list() == ["review", "review"]


def test_the_file_overrides_a_marker_of_the_ledger(world: World) -> None:
    """A reviewer's later decline stops what a marker would have promoted."""
    world.session("clinic", "s3", row(1), note(2, "memory_promoted", "seq:1"), close(3))
    world.workspace.ingest()
    world.workspace.decide()
    rows = world.workspace.assess(now=world.now).routes.filter(session_id="s3")
    seen = rows["content_sha256"].item()
    found = _write(world, _line(world, 1, "decline", session_id="s3", content_sha256=seen))
    assert found.routes.filter(session_id="s3")["route"].to_list() == ["declined"]


def test_an_accept_of_an_open_session_waits_for_its_end(world: World) -> None:
    """Nothing of an unfinished session is published; the verdict is not lost."""
    rows = world.workspace.assess(now=world.now).routes.filter(session_id="open")
    seen = rows["content_sha256"].item()
    found = _write(world, _line(world, 1, session_id="open", content_sha256=seen))
    assert (_accepted(found), _codes(found)) == ([], {})
    world.session("clinic", "open", row(1, subject="later", detail="not yet"), close(2))
    world.night()
    assert world.workspace.registry().memories["subject"].to_list() == ["later"]


def test_what_is_published_stays_applied_and_cannot_be_declined(world: World) -> None:
    """A line that did its work is never listed as refused; a later decline is, with the way out."""
    _write(world, _line(world, 1))
    world.night()
    world.session(
        "clinic",
        "s1",
        *[row(1), row(2), row(3), row(4, "table_promoted", subject="visits"), close(5)],
        *[note(6, "decision_withdrawn", "seq:1"), close(7)],
    )
    world.night()
    assert _codes(world.workspace.assess(now=world.now)) == {}
    when = (world.now - timedelta(seconds=1)).isoformat()
    found = _write(world, _line(world, 1, "decline", decided_at=when, content_sha256="any"))
    assert _codes(found) == {2: "already-published"}
    assert "mem-0001" in found.refused_reviews[0].reason


def test_a_withdrawn_decision_is_not_published_by_an_old_accept(world: World) -> None:
    """The accept came first, the withdrawal before the night: refused by name."""
    _write(world, _line(world, 1))
    world.session(
        "clinic",
        "s1",
        *[row(1), row(2), row(3), row(4, "table_promoted", subject="visits"), close(5)],
        *[note(6, "decision_withdrawn", "seq:1"), close(7)],
    )
    found = world.night().publish.assessment
    assert _codes(found) == {1: "not-offered"}
    assert world.workspace.registry().memories.is_empty()


def test_a_duplicate_can_be_named_of_a_memory_that_the_same_people_see(world: World) -> None:
    """Another scope is refused; the same scope corroborates and makes no second memory."""
    world.session("clinic", "s4", row(1, subject="private", detail="x", user_id="u1"), close(2))
    _write(world, _line(world, 1))
    world.night()
    rows = world.workspace.assess(now=world.now).routes.filter(session_id="s4")
    other = _line(world, 1, "duplicate_of", session_id="s4", memory_id="mem-0001")
    found = _write(
        world,
        other | {"content_sha256": rows["content_sha256"].item()},
        _line(world, 2, "duplicate_of", memory_id="mem-0001"),
    )
    assert _codes(found) == {2: "other-scope"}
    world.night()
    view = world.workspace.registry()
    assert view.memories["memory_id"].to_list() == ["mem-0001"]
    assert view.corroborations.select("memory_id", "kind", "decision_seq").rows() == [
        ("mem-0001", "duplicate", 2)
    ]
