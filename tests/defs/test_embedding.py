"""Hosted embedding in Dagster runs: costs and breakers as metadata, keys nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_assets.defs.assemble import defs
from memory_assets.defs.migration import embedding_migration
from memory_assets.defs.registry import publication
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.pipeline.workspace import Workspace
from tests.building import close, row
from tests.embedding_server import KEY, EmbeddingServer, Reply
from tests.nights import World

SPEC = "openai:first-model"


@pytest.fixture(name="server")
def _server(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    """The provider that the environment names; three memories wait for the night."""
    server = EmbeddingServer()
    world = World(place)
    world.tenants('[tenants.bank]\nreview = "automatic"\n')
    world.session("bank", "s1", row(1), row(2), row(3), close(4))
    for name, value in {
        "OPENAI_API_KEY": KEY,
        "MEMORY_ASSETS_EMBEDDING": SPEC,
        "MEMORY_ASSETS_EMBEDDING_BASE_URL": server.url,
        "MEMORY_ASSETS_EMBEDDING_DIMENSION": "64",
        "MEMORY_ASSETS_EMBEDDING_PRICE": "1",
        "MEMORY_ASSETS_EMBEDDING_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    workspace = Workspace.load()
    workspace.ingest()
    workspace.decide()
    yield server
    server.close()


def _run(
    instance: dg.DagsterInstance, asset: dg.AssetsDefinition, **config: Any
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [asset],
        instance=instance,
        resources={"workspace": WorkspaceResource()},
        run_config=config,
        raise_on_error=False,
    )


def _metadata(done: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    (event,) = [
        e for e in done.get_asset_materialization_events() if e.asset_key == dg.AssetKey(asset)
    ]
    return {k: v.value for k, v in event.materialization.metadata.items()}


def test_costs_breakers_and_spaces_are_metadata(
    server: EmbeddingServer, instance: dg.DagsterInstance
) -> None:
    """The run says what it asked for, what it paid, and in what state it left the provider."""
    found = _metadata(_run(instance, publication), "memory_embeddings")
    assert found["computed"] == 3
    assert found["tokens"] > 0
    assert found["dollars"] == pytest.approx(found["tokens"] / 1e6, abs=1e-5)
    (provider,) = found["providers"]
    assert (provider["role"], provider["breaker"]) == ("first", "closed")
    (space,) = found["spaces"]
    assert (space["model"], space["role"], space["pending"]) == (SPEC, "serves", 0)


@pytest.mark.parametrize("refused", [False, True])
def test_the_key_is_in_no_dump(
    server: EmbeddingServer, instance: dg.DagsterInstance, place: Path, refused: bool
) -> None:
    """Neither events, run configuration and resources nor files hold it, refused or not."""
    if refused:
        server.script = lambda number, body: Reply(401, {"error": {"message": f"no {KEY}"}})
    done = _run(instance, publication)
    assert done.success is not refused
    assert any(KEY in h.get("authorization", "") for h in server.headers)
    run = instance.get_run_by_id(done.run_id)
    assert run is not None
    texts = [
        repr(run),
        json.dumps(run.run_config),
        repr(WorkspaceResource()),
        repr(Workspace.load()),
    ]
    texts += [repr(entry) for entry in instance.all_logs(done.run_id)]
    texts.append(str(defs.get_repository_def().get_top_level_resources()))
    assert not any(KEY in text for text in texts)
    assert ("Rotate the key" in "".join(texts)) is refused
    holding = [p for p in place.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    assert holding == []


def test_a_migration_is_an_asset(server: EmbeddingServer, instance: dg.DagsterInstance) -> None:
    """Without apply it estimates; with it the new space serves."""
    assert _run(instance, publication).success

    def config(**more: Any) -> dict[str, Any]:
        return {"embedding_migration": {"config": {"to": "hashed:32", **more}}}

    likely = _metadata(_run(instance, embedding_migration, ops=config()), "embedding_migration")
    assert (likely["applied"], likely["to_embed"]) == (False, 3)
    assert Workspace.load().embedding_spec == SPEC
    done = _metadata(
        _run(instance, embedding_migration, ops=config(apply=True)), "embedding_migration"
    )
    assert (done["swapped"], done["pending"]) == (True, 0)
    assert Workspace.load().embedding_spec == "hashed:32"
