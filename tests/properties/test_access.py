"""No way of reading shows anybody what the access matrix denies.

Every row carries a word of its own, and whatever an answer holds, in whichever field, is searched
for these words. The matrix is written down here once more, in other terms than the code's.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.domain.visibility import PERSONAS, Principal
from memory_assets.errors import (
    AccessDenied,
    UnknownMemoryError,
    UnknownSessionError,
    UnknownTenantError,
)
from memory_assets.mcp_server import McpTools
from memory_assets.pipeline.exchange.formats import FORMATS
from memory_assets.pipeline.exchange.snapshots import REGISTRY, export_tenant
from memory_assets.pipeline.inspect.browse import list_memories, show_memory
from memory_assets.pipeline.inspect.core_blocks import core_block
from memory_assets.pipeline.inspect.history import memory_history
from memory_assets.pipeline.inspect.summary import summarise
from memory_assets.pipeline.review.state import QueueFilter, ReviewState
from memory_assets.pipeline.upkeep.evaluation_run import evaluate_registry
from memory_assets.pipeline.upkeep.retier import override_tier
from memory_assets.steps.search.feedback import give_feedback
from memory_assets.steps.search.lookup import explain_memory, get_memory
from memory_assets.steps.search.types import SearchRequest
from tests.building import close, row
from tests.nights import World

USERS = (None, "anna", "berta")
CLIENTS = (None, "c1", "c2")
AUDIENCES = (None, "tenant", "client", "user", "profile")
OWNERS = [o for o in product(USERS, CLIENTS, AUDIENCES) if o[2] != "profile" or o[1]]
TENANTS = ("clinic", "bank")


@dataclass(frozen=True)
class Owned:
    """One row as the matrix sees it, and the word that gives it away."""

    tenant: str
    user: str | None
    client: str | None
    audience: str | None
    word: str
    session: str


ROWS = [
    Owned(tenant, *owner, f"word{n}{tenant}", f"s{n}")
    for tenant in TENANTS
    for n, owner in enumerate(OWNERS)
]
BY_WORD = {r.word: r for r in ROWS}
MEMORIES = st.integers(1, len(OWNERS)).map(lambda n: f"mem-{n:04d}")

principals = st.builds(
    Principal,
    st.sampled_from([*TENANTS, "", "nowhere"]),
    st.sampled_from([*PERSONAS, "advisor", ""]),
    st.sampled_from([*USERS, "", "carla"]),
    st.frozensets(st.sampled_from(["c1", "c2", "c3", ""]), max_size=2),
    st.frozensets(st.sampled_from(TENANTS)),
)


def may(who: Principal, row_: Owned) -> bool:
    """The matrix: staff of a tenant, its advisors for their own and the shared; nobody else."""
    if who.persona in ("SUPERVISOR", "ADMIN"):
        return row_.tenant == who.tenant or row_.tenant in who.more_tenants
    if who.persona != "ADVISOR" or row_.tenant != who.tenant:
        return False
    if who.user and row_.user == who.user:
        return True
    meant = row_.audience or ("client" if row_.client else "user" if row_.user else "tenant")
    if meant in ("client", "profile"):
        return bool(row_.client) and row_.client in who.clients
    return meant == "tenant"


def may_in_core(who: Principal, row_: Owned) -> bool:
    """A core block shows a person the own profile too, which is core in the clinic (`_pin`)."""
    own = row_.audience == "profile" and who.clients == {row_.client}
    profile = who.persona in ("CLIENT", "PROSPECT", "NEXTGEN_HEIR") and own
    return may(who, row_) or (profile and row_.tenant == who.tenant == "clinic")


@pytest.fixture(scope="module", name="world")
def _world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A memory of every owner in the clinic, and candidates of every owner in the bank.

    The bank has memories too, of two of its sessions; each memory has one line of feedback.
    """
    world = World(tmp_path_factory.mktemp("access"))
    world.tenants('[tenants.clinic]\nreview = "automatic"\n[tenants.bank]\nreview = "manual"\n')
    for r in ROWS:
        owner: dict[str, Any] = {"user_id": r.user, "client_id": r.client, "audience": r.audience}
        content = {"subject": f"concept {r.word}", "detail": f"meaning of {r.word}"}
        content["question_context"] = f"what about {r.word}?"
        world.session(r.tenant, r.session, row(1, **content, **owner), close(2))
    world.workspace.ingest()
    world.workspace.decide()
    for session in ("s0", "s3"):
        world.review("bank", session, 1, "accept")
    world.night()
    _pin(world, "clinic")
    world.night()
    for tenant in TENANTS:
        for memory in world.workspace.registry().memories.filter(tenant_id=tenant)["memory_id"]:
            word = next(
                r.word
                for r in ROWS
                if r.tenant == tenant and r.session == _session_of(world, tenant, memory)
            )
            _give(world, tenant, memory, word)
    return world


def _pin(world: World, tenant: str) -> None:
    """All memories of a tenant into core, so that its block has something to give away."""
    override_tier(
        world.workspace,
        Principal.local(tenant),
        tenant,
        world.workspace.registry().memories.filter(tenant_id=tenant)["memory_id"].to_list(),
        "core",
        until=world.now + timedelta(days=300),
        by="anna",
        reason="",
        now=world.now,
    )


def _session_of(world: World, tenant: str, memory: str) -> str:
    found = world.workspace.registry().memories.filter(tenant_id=tenant, memory_id=memory)
    return str(found["session_id"].item())


def _give(world: World, tenant: str, memory: str, word: str) -> None:
    give_feedback(
        world.workspace.searcher,
        Principal.local(tenant),
        memory,
        tenant_id=None,
        kind="wrong",
        why=f"not {word}",
        given_by="x",
        now=world.now,
    )


Read = Callable[[World, Principal, str, str, str], Any]


def _search(world: World, who: Principal, tenant: str, memory: str, session: str) -> Any:
    query = "concept meaning what about " + " ".join(BY_WORD)
    request = SearchRequest(
        query, who, world.now, tenants=(tenant,), k=200, session=session, explain=True
    )
    return world.workspace.search(request).to_dict()


def _mcp(call: Callable[[McpTools, str, str], Any]) -> Read:
    def read(world: World, who: Principal, tenant: str, memory: str, session: str) -> Any:
        return call(McpTools(world.workspace, who, clock=lambda: world.now), memory, session)

    return read


def _export(form: str) -> Read:
    def read(world: World, who: Principal, tenant: str, memory: str, session: str) -> Any:
        data = export_tenant(world.workspace, who, tenant, form).data
        return pl.read_parquet(io.BytesIO(data)).to_dicts() if form == "parquet" else data.decode()

    return read


EXPORTS: Final = {f"export {form}": _export(form) for form in (*FORMATS, REGISTRY)}
PATHS: dict[str, Read] = {
    "search": _search,
    "list": lambda w, p, t, m, s: list_memories(
        w.workspace, tenant_id=t, principal=p, everything=True
    ).to_dict(),
    "show": lambda w, p, t, m, s: show_memory(w.workspace, m, tenant_id=t, principal=p),
    "history": lambda w, p, t, m, s: memory_history(
        w.workspace, m, tenant_id=t, principal=p
    ).to_dict(),
    "get": lambda w, p, t, m, s: get_memory(w.workspace.searcher, p, m, tenant_id=t),
    "explain": lambda w, p, t, m, s: explain_memory(w.workspace.searcher, p, m, tenant_id=t),
    "summary": lambda w, p, t, m, s: summarise(w.workspace, s, tenant_id=t, principal=p).to_dict(),
    "review": lambda w, p, t, m, s: (
        ReviewState(w.workspace, now=w.now).queue(p, QueueFilter(t)).items
    ),
    "evaluate": lambda w, p, t, m, s: evaluate_registry(
        w.workspace, now=w.now, principal=p
    ).evaluation.to_dict(),
    **EXPORTS,
    "core": lambda w, p, t, m, s: core_block(w.workspace, p, t).to_dict(),
    "mcp search": _mcp(lambda tools, m, s: tools.search("concept meaning", 50, s)),
    "mcp get": _mcp(lambda tools, m, s: tools.get(m)),
    "mcp explain": _mcp(lambda tools, m, s: tools.explain(m)),
}
DENIALS = (AccessDenied, UnknownTenantError, UnknownMemoryError, UnknownSessionError)


def words_in(answer: Any) -> set[str]:
    """The rows that an answer gives away."""
    return set(re.findall(r"word\d+(?:clinic|bank)", json.dumps(answer, default=str)))


@pytest.mark.parametrize("path", sorted(PATHS))
@settings(max_examples=25)
@given(
    who=principals,
    tenant=st.sampled_from([*TENANTS, "", "nowhere"]),
    memory=MEMORIES,
    number=st.integers(0, len(OWNERS) - 1),
)
def test_no_answer_holds_what_is_denied(
    world: World, path: str, who: Principal, tenant: str, memory: str, number: int
) -> None:
    """Whoever asks, of whatever tenant, memory and session: only rows that the matrix allows."""
    try:
        answer = PATHS[path](world, who, tenant, memory, f"s{number}")
    except DENIALS:
        return
    allows = may_in_core if path == "core" else may
    assert [w for w in words_in(answer) if not allows(who, BY_WORD[w])] == []
    if path not in ("mcp search", "mcp get", "mcp explain", "evaluate"):
        assert {BY_WORD[w].tenant for w in words_in(answer)} <= {tenant}


@settings(max_examples=40)
@given(who=principals, tenant=st.sampled_from(TENANTS))
def test_lists_and_searches_hold_all_that_is_allowed(
    world: World, who: Principal, tenant: str
) -> None:
    """Nothing is lost either: the clinic's list and search are exactly the allowed memories."""
    published = set(world.workspace.registry().memories.filter(tenant_id=tenant)["subject"])
    allowed = {
        r.word
        for r in ROWS
        if r.tenant == tenant and may(who, r) and f"concept {r.word}" in published
    }
    for path in ("list", "search"):
        try:
            found = words_in(PATHS[path](world, who, tenant, "mem-0001", _unused(world)))
        except DENIALS:
            found = set()
        assert found == allowed


def _unused(world: World) -> str:
    """A session that decided nothing, so that a search leaves nothing out."""
    path = world.ledgers / "clinic" / "idle.jsonl"
    for tenant in TENANTS:
        if not (path := world.ledgers / tenant / "idle.jsonl").exists():
            world.session(tenant, "idle", row(1, "note"))
    return path.stem


@pytest.mark.parametrize("persona", ["CLIENT", "PROSPECT", "NEXTGEN_HEIR"])
@pytest.mark.parametrize("clients", [set(), {"c1"}, {"c1", "c2"}, {""}])
def test_a_client_reads_the_own_profile_and_nothing_else(
    world: World, persona: str, clients: set[str]
) -> None:
    """Exactly the own profile, in the core block alone; of two people or nobody, nothing."""
    who = Principal("clinic", persona, None, frozenset(clients), frozenset())
    for path, read in PATHS.items():
        try:
            found = words_in(read(world, who, "clinic", "mem-0001", "s1"))
        except DENIALS:
            found = set()
        own = {r.word for r in ROWS if path == "core" and may_in_core(who, r)}
        assert found == own
        assert bool(own) == (path == "core" and clients == {"c1"})


@pytest.mark.parametrize("path", sorted(PATHS))
def test_every_path_shows_an_administrator_something(
    world: World, path: str, tmp_path: Path
) -> None:
    """The reads are real: each of them gives words, or figures, to somebody who may have them."""
    tenant = "bank" if path == "review" else "clinic"
    answer = PATHS[path](world, Principal.local(tenant), tenant, "mem-0001", "s1")
    silent = {"explain", "mcp explain", "evaluate"}
    assert bool(words_in(answer)) == (path not in silent)
    assert answer
