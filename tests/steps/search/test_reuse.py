"""Proposing and applying memories: one decides nothing, the other is a reviewer's, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from memory_assets.domain.intents import Retire
from memory_assets.domain.visibility import Principal
from memory_assets.errors import (
    AccessDenied,
    UnknownMemoryError,
    UnknownSessionError,
    UnknownTenantError,
    UsageError,
)
from memory_assets.steps.search.reuse import UseResult, apply_memory, propose_use
from memory_assets.steps.search.types import SearchRequest
from memory_assets.storage.access_log import read_uses
from memory_assets.storage.intents import append_intents
from tests.building import close, jsonl, note, row
from tests.nights import World

ADMIN = Principal.local("clinic")
AUTOMATIC = '[tenants.clinic]\nreview = "automatic"\nlanguage = "en"\n'


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """One published memory of session s1, and an open session s2 that asks a question."""
    world = World(tmp_path)
    world.tenants(AUTOMATIC)
    world.session("clinic", "s1", row(1, subject="Ablation", detail="by catheter"), close(2))
    world.session("clinic", "s2", row(1, "note", question_context="How many ablations?"))
    assert world.night().publish.memories == 1
    return world


def propose(world: World, memory: str = "mem-0001", **more: Any) -> UseResult:
    fields: dict[str, Any] = {"tenant_id": None, "session_id": "s2", "proposed_by": "agent:a"}
    who = more.pop("who", ADMIN)
    return propose_use(world.workspace.searcher, who, memory, now=world.now, **fields | more)


def apply(world: World, memory: str = "mem-0001", **more: Any) -> UseResult:
    fields: dict[str, Any] = {"tenant_id": None, "session_id": "s2", "reviewer": "anna"}
    who = more.pop("who", ADMIN)
    log = world.workspace.home.access_log
    return apply_memory(
        world.workspace.searcher, who, memory, now=world.now, access_log=log, **fields | more
    )


def append(world: World, *rows: dict[str, Any]) -> None:
    """The agent goes on with its session."""
    with (world.ledgers / "clinic" / "s2.jsonl").open("ab") as out:
        out.write(jsonl(rows))


def found(world: World, session: str = "s2") -> list[str]:
    request = SearchRequest("ablation", ADMIN, world.now, session=session)
    return [h.memory_id for h in world.workspace.search(request).hits]


def uses(world: World) -> int:
    (hit,) = world.workspace.search(SearchRequest("ablation", ADMIN, world.now)).hits
    return hit.uses


def test_a_proposal_decides_nothing_and_counts_nothing(world: World) -> None:
    """One row in the companion file; the memory stays open for the session, and unused."""
    ledger = world.ledgers / "clinic" / "s2.jsonl"
    before = ledger.read_bytes()
    assert propose(world).to_dict()["ref"] == "m:1"
    assert ledger.read_bytes() == before
    assert found(world) == ["mem-0001"]
    world.night()
    assert uses(world) == 0
    assert read_uses(world.workspace.home.access_log).events == ()


def test_a_proposal_is_not_repeated_until_the_session_goes_on(world: World) -> None:
    """Asked twice, one row; after a further ledger row it may be proposed again."""
    assert propose(world).written
    again = propose(world)
    assert (again.written, again.ref) == (False, "m:1")
    world.session(
        "clinic",
        "s2",
        row(1, "note", question_context="How many ablations?"),
        row(2, "phase_reopened", phase="F1"),
        companion=[row(1, "memory_proposed", after_seq=1, detail="mem-0001")],
    )
    assert propose(world).ref == "m:2"


def test_an_applied_memory_is_a_clarification_that_cites_it(world: World) -> None:
    """Subject and detail of the memory, the session's question, and the id in the rationale."""
    assert apply(world, reason="It is the same procedure.").ref == "m:1"
    assert found(world) == []
    world.night()
    decided = (
        world.workspace.assess(now=world.now).routes.filter(session_id="s2").row(0, named=True)
    )
    assert (decided["subject"], decided["detail"]) == ("Ablation", "by catheter")
    assert decided["rationale"] == "Reuses mem-0001. It is the same procedure."
    assert decided["question_context"] == "How many ablations?"
    assert decided["cites"] == ["mem-0001"]


def test_a_use_counts_once_however_often_it_is_applied_and_accepted(world: World) -> None:
    """Applied three times, then accepted as a reuse: no second memory, and one use."""
    first = apply(world)
    assert [apply(world).written for _ in range(2)] == [False, False]
    world.night()
    assert uses(world) == 1
    append(world, close(2))
    report = world.night()
    assert (report.publish.memories, report.publish.corroborated) == (1, 1)
    kinds = world.workspace.registry().corroborations.select("kind", "decision_seq").rows()
    assert (first.ref, kinds) == ("m:1", [("reuse", -1)])
    assert uses(world) == 1
    assert not world.night().publish.published


def test_equal_content_with_a_citation_is_a_reuse_and_other_content_a_refinement(
    world: World,
) -> None:
    """Re-recorded word for word it is one more use of the memory; changed, a reviewer must look."""
    same = row(1, phase="F2", subject="Ablation", detail="By catheter.", rationale="as mem-0001")
    other = row(1, phase="F2", subject="Ablation", detail="surgical too", rationale="as mem-0001")
    world.session("clinic", "same", same, close(2))
    world.session("clinic", "other", other, close(2))
    report = world.night()
    assert (report.publish.memories, report.publish.corroborated) == (1, 1)
    assert uses(world) == 1
    waiting = world.workspace.assess(now=world.now).candidates
    assert waiting.select("session_id", "label").rows() == [("other", "refines mem-0001")]


def test_a_withdrawn_application_may_be_applied_again(world: World) -> None:
    """The ledger withdraws the companion row; the next choice is a row and a use of its own."""
    apply(world)
    append(world, note(2, "decision_withdrawn", "m:1"))
    assert found(world) == ["mem-0001"]
    assert apply(world).ref == "m:2"


def test_what_the_session_decided_is_neither_proposed_nor_applied(world: World) -> None:
    """The session of the memory itself has nothing to reuse: no row, no use, and the reason."""
    for done in (propose(world, session_id="s1"), apply(world, session_id="s1")):
        assert (done.written, done.ref) == (False, None)
        assert "decided the same" in done.why
    assert not (world.ledgers / "clinic" / "s1.markers.jsonl").read_bytes().count(b"Reuses")
    assert read_uses(world.workspace.home.access_log).events == ()


def test_a_crash_between_row_and_log_is_mended_by_applying_again(world: World) -> None:
    """The use is logged under the key of the row that is there."""
    apply(world)
    for path in world.workspace.home.access_log.rglob("*.jsonl"):
        path.unlink()
    assert not apply(world).written
    (event,) = read_uses(world.workspace.home.access_log).events
    assert event.event_id == ("clinic", "s2", -1, 0)


@pytest.mark.parametrize(
    "name", ["", "  ", "agent:planner", " agent:planner", "Agent:Planner", "agent-7", "review-bot"]
)
def test_an_agent_never_applies(world: World, name: str) -> None:
    """Applying is a reviewer's: an agent, or nobody, is refused and writes nothing."""
    with pytest.raises(AccessDenied):
        apply(world, reviewer=name)
    assert not (world.ledgers / "clinic" / "s2.markers.jsonl").exists()


@pytest.mark.parametrize("said", [{"reason": "\ud800"}, {"reason": "x" * 10_001}])
def test_a_reason_that_cannot_be_kept_is_refused(world: World, said: dict[str, str]) -> None:
    """It writes nothing, instead of half of the choice."""
    with pytest.raises(UsageError):
        apply(world, **said)
    assert not (world.ledgers / "clinic" / "s2.markers.jsonl").exists()


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_a_proposal_says_whose_it_is(world: World, name: str) -> None:
    """A proposal of nobody, or of a name that no file can hold, is refused."""
    with pytest.raises(UsageError):
        propose(world, proposed_by=name)
    assert not (world.ledgers / "clinic" / "s2.markers.jsonl").exists()


def test_a_companion_file_is_no_session(world: World) -> None:
    """What is beside a ledger is used under the session's own name only."""
    propose(world)
    for use in (propose, apply):
        with pytest.raises(UnknownSessionError):
            use(world, session_id="s2.markers")
    assert not read_uses(world.workspace.home.access_log).events


def test_what_is_not_there_is_named(world: World) -> None:
    """Unknown memory, session and tenant are three errors."""
    with pytest.raises(UnknownMemoryError):
        propose(world, "mem-0099")
    with pytest.raises(UnknownSessionError):
        propose(world, session_id="nowhere")
    with pytest.raises(UnknownTenantError):
        propose(world, who=Principal.local("bank"))


def test_a_memory_that_may_not_be_seen_is_unknown(world: World) -> None:
    """An advisor cannot use, nor even learn of, a memory about somebody else's client."""
    private = row(1, subject="Visit", detail="at home", client_id="c9")
    world.session("clinic", "s3", private, close(2))
    world.night()
    advisor = Principal("clinic", "ADVISOR", "anna", frozenset({"c1"}))
    with pytest.raises(UnknownMemoryError) as hidden:
        apply(world, "mem-0002", who=advisor)
    with pytest.raises(UnknownMemoryError) as absent:
        apply(world, "mem-0003", who=advisor)
    assert str(hidden.value).replace("mem-0002", "") == str(absent.value).replace("mem-0003", "")


def test_a_retired_memory_is_not_used(world: World) -> None:
    """The error says that it is retired."""
    retire = Retire(
        tenant_id="clinic", decided_by="reviewer anna", decided_at=world.now, memory_id="mem-0001"
    )
    append_intents(world.workspace.home, [retire])
    world.night()
    with pytest.raises(UsageError, match="retired"):
        apply(world)


def test_the_nights_log_of_uses_is_a_table_of_its_own(world: World) -> None:
    """``uses`` holds the row's key, the memory, the time and the reviewer, once for ever."""
    apply(world)
    world.night()
    world.night()
    table = world.workspace.registry().uses
    assert table.select("session_id", "decision_seq", "memory_id", "used_by").rows() == [
        ("s2", -1, "mem-0001", "anna")
    ]
    assert table.filter(pl.col("generation") == 2).height == 1
