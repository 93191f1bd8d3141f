"""Core blocks in real nights: who sees what, and that a session's block stays as it began."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, UnknownTenantError
from memory_assets.pipeline.inspect.core_blocks import core_block
from memory_assets.pipeline.upkeep.retier import override_tier
from tests.building import close, row
from tests.nights import World


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.tenants('[tenants.ws]\nreview = "automatic"\n[tenants.az]\nreview = "automatic"\n')
    world.session(
        "ws",
        "s1",
        row(1, subject="shared", detail="for all"),
        row(2, subject="fiscal", detail="fixed", metadata={"immutable": True}),
        row(3, subject="mail", detail="of c1", client_id="c1", audience="profile"),
        row(4, subject="note", detail="on c1", client_id="c1"),
        row(5, subject="own", detail="of u1", user_id="u1"),
        row(6, subject="other", detail="of c2", client_id="c2", audience="profile"),
        row(7, subject="cold", detail="never core"),
        close(8),
    )
    world.session("az", "s1", row(1, subject="foreign", detail="of az"), close(2))
    world.night()
    pin(world, "ws", [f"mem-{n:04d}" for n in range(1, 7)])
    pin(world, "az", ["mem-0001"])
    world.night()
    return world


def pin(world: World, tenant: str, memory_ids: list[str]) -> None:
    """Makes memories core for a month."""
    override_tier(
        world.workspace,
        Principal.local(tenant),
        tenant,
        memory_ids,
        "core",
        until=world.now + timedelta(days=30),
        by="anna",
        reason="",
        now=world.now,
    )


def subjects(world: World, persona: str, user: str | None = None, *clients: str) -> list[str]:
    """Subjects in the block of a principal of ws, in its order."""
    who = Principal("ws", persona, user, frozenset(clients))
    text = core_block(world.workspace, who, "ws").block.text
    return [line.split(":")[0].removeprefix("- ") for line in text.splitlines()]


def test_each_principal_has_a_block_of_its_own(world: World) -> None:
    """Tenant, then tenant with client, with user; a client only the profile that is its own."""
    assert subjects(world, "ADVISOR") == ["fiscal", "shared"]
    assert subjects(world, "ADVISOR", None, "c1") == ["mail", "fiscal", "shared", "note"]
    assert subjects(world, "ADVISOR", "u1") == ["fiscal", "shared", "own"]
    assert subjects(world, "CLIENT", None, "c1") == ["mail"]
    assert subjects(world, "NEXTGEN_HEIR", None, "heir") == []
    assert subjects(world, "CLIENT", None, "c1", "c2") == []


def test_no_tenant_no_block(world: World) -> None:
    """A missing tenant, another one, an unknown persona: denied by default."""
    with pytest.raises(UnknownTenantError):
        core_block(world.workspace, Principal.local(""), None)
    with pytest.raises(AccessDenied):
        core_block(world.workspace, Principal("ws", "ADVISOR"), "az")
    with pytest.raises(AccessDenied):
        core_block(world.workspace, Principal("ws", "BOT"), "ws")


def test_a_tenant_that_nobody_knows_has_no_block(world: World) -> None:
    """A slip in its name is told, as everywhere else: an empty block would pass for the answer."""
    with pytest.raises(UnknownTenantError, match="'wss'"):
        core_block(world.workspace, Principal("wss", "ADVISOR"), "wss")


def test_a_block_is_fixed_when_its_session_starts(world: World) -> None:
    """With the generation, or the time of the start, it reads the same after later nights."""
    who = Principal("ws", "ADVISOR")
    began = core_block(world.workspace, who, "ws")
    started = world.now
    pin(world, "ws", ["mem-0007"])
    world.night()
    changed: Any = core_block(world.workspace, who, "ws")
    assert "mem-0007" in changed.block.memory_ids
    for as_of in (began.generation, started):
        assert core_block(world.workspace, who, "ws", as_of=as_of) == began


def test_an_empty_home_has_an_empty_block(tmp_path: Path) -> None:
    """An agent may start before the first night."""
    world = World(tmp_path)
    found = core_block(world.workspace, Principal.local("ws"), "ws")
    assert (found.block.text, found.generation) == ("", 0)
