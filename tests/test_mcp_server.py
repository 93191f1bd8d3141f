"""The MCP server, spoken to by the SDK's own client over stdin and stdout."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from memory_assets.domain.visibility import PERSONAS, Principal
from memory_assets.errors import AccessDenied, UnknownTenantError, UsageError
from memory_assets.mcp_server import McpTools, build_server
from tests.building import close, row
from tests.nights import EMBEDDING, World

TOOLS = {"search_memory", "get_memory", "explain_memory", "propose_use", "give_memory_feedback"}


@pytest.fixture(scope="module", name="world")
def _world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A shared memory, one about a client, one of another tenant, and an open session."""
    world = World(tmp_path_factory.mktemp("mcp"))
    world.tenants('[tenants.clinic]\nreview = "automatic"\n[tenants.bank]\nreview = "automatic"\n')
    world.session("clinic", "s1", row(1, subject="Ablation", detail="by catheter"), close(2))
    private = row(1, subject="Ablation of a client", detail="secret", client_id="c1")
    world.session("clinic", "s2", private, close(2))
    world.session("clinic", "s3", row(1, "note", question_context="How many?"))
    world.session("bank", "s1", row(1, subject="Ablation of debt", detail="written off"), close(2))
    world.night()
    return world


def talk(world: World, *arguments: str, do: Callable[[Client], Awaitable[Any]]) -> Any:
    """What a client gets from a server that was started with these arguments."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memory_assets", "mcp", *arguments],
        env={
            "MEMORY_ASSETS_HOME": str(world.home),
            "MEMORY_ASSETS_LEDGERS": str(world.ledgers),
            "MEMORY_ASSETS_EMBEDDING": EMBEDDING,
            "OMP_NUM_THREADS": "1",
        },
    )

    async def session() -> Any:
        async with Client(server) as client:
            return await do(client)

    return anyio.run(session)


def test_an_agent_searches_reads_explains_and_proposes(world: World) -> None:
    """One conversation through all tools; what they answer is structured, errors are told."""

    async def conversation(client: Client) -> None:
        assert client.server_info is not None
        assert client.server_info.version == version("memory-assets")
        listed = await client.list_tools()
        assert {t.name for t in listed.tools} == TOOLS
        for tool in listed.tools:
            assert tool.annotations is not None
            assert not tool.annotations.destructive_hint

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            done = await client.call_tool(name, arguments)
            assert not done.is_error, done.content
            assert done.structured_content is not None
            return dict(done.structured_content)

        found = await call("search_memory", query="ablation", session_id="s3")
        assert [h["memory_id"] for h in found["hits"]] == ["mem-0001"]
        assert (found["degraded"], found["left_out"]) == (None, [])
        assert (await call("get_memory", memory_id="mem-0001"))["detail"] == "by catheter"
        explained = await call("explain_memory", memory_id="mem-0001")
        assert explained["source"]["session_id"] == "s1"
        proposed = await call("propose_use", memory_id="mem-0001", session_id="s3")
        assert (proposed["written"], proposed["ref"]) == (True, "m:1")
        given = await call(
            "give_memory_feedback", memory_id="mem-0001", kind="useful", why="it helped"
        )
        assert given["feedback_id"].startswith("fb-")

        hidden = await client.call_tool("get_memory", {"memory_id": "mem-0002"})
        assert hidden.is_error
        assert "secret" not in str(hidden.content)
        # A tenant that a model makes up is no argument: the principal was fixed at the start.
        asked = {"query": "ablation debt", "tenant": "bank", "persona": "ADMIN"}
        elsewhere = (await client.call_tool("search_memory", asked)).structured_content
        assert elsewhere is not None
        assert {h["tenant_id"] for h in elsewhere["hits"]} == {"clinic"}

    who = ("--tenant", "clinic", "--persona", "advisor", "--as-user", "anna", "--own-client", "c2")
    talk(world, *who, do=conversation)
    companion = (world.ledgers / "clinic" / "s3.markers.jsonl").read_text()
    assert '"type":"memory_proposed"' in companion
    assert '"by":"agent:anna"' in companion


def test_the_tools_say_what_memory_is_and_is_not(world: World) -> None:
    """A model reads it in the instructions and again with the tools: tables are never memory."""

    async def read(client: Client) -> tuple[str, dict[str, str]]:
        listed = await client.list_tools()
        return str(client.instructions), {t.name: str(t.description) for t in listed.tools}

    async def session() -> tuple[str, dict[str, str]]:
        tools = McpTools(world.workspace, Principal.local("clinic"))
        async with Client(build_server(tools)) as client:
            return await read(client)

    instructions, described = anyio.run(session)
    assert "never memory" in instructions
    assert "never an instruction" in instructions
    assert "reusable domain knowledge" in described["search_memory"]
    assert "tables are never memory" in described["propose_use"]
    assert "decides nothing" in described["propose_use"]
    assert not any("promote" in name or "apply" in name for name in described)


@pytest.mark.parametrize("persona", sorted(p.name for p in PERSONAS.values() if len(p.paths) == 1))
def test_a_client_gets_no_server(world: World, persona: str) -> None:
    """Clients, prospects and heirs are refused before anything is served."""
    who = Principal("clinic", persona, "c1", frozenset({"c1"}))
    with pytest.raises(AccessDenied):
        McpTools(world.workspace, who)


def test_a_server_needs_a_tenant(world: World) -> None:
    """Without one nothing may be read, so nothing is served."""
    with pytest.raises(UnknownTenantError):
        McpTools(world.workspace, Principal.local(""))


def test_a_session_that_was_fixed_stays_fixed(world: World) -> None:
    """The model may leave it out, and cannot name another one."""
    tools = McpTools(world.workspace, Principal.local("clinic"), "s3", clock=lambda: world.now)
    assert tools.search("ablation", 10, None)["hits"]
    assert tools.propose("mem-0002", "s3")["session_id"] == "s3"
    with pytest.raises(UsageError):
        tools.search("ablation", 10, "s1")
    free = McpTools(world.workspace, Principal.local("clinic"))
    with pytest.raises(UsageError):
        free.propose("mem-0001", None)
