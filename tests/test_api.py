"""The Python API: typed, light to import, and for one principal."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import memory_assets
from memory_assets.errors import (
    AccessDenied,
    UnknownGeneration,
    UnknownMemoryError,
    UnknownTenantError,
    UsageError,
)
from tests.building import close, row
from tests.nights import EMBEDDING, World


@pytest.fixture(name="world")
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A shared memory and one about a client; the environment names the model."""
    monkeypatch.setenv("MEMORY_ASSETS_EMBEDDING", EMBEDDING)
    world = World(tmp_path)
    world.tenants('[tenants.clinic]\nreview = "automatic"\n')
    world.session("clinic", "s1", row(1, subject="Ablation", detail="by catheter"), close(2))
    private = row(1, subject="Ablation of a client", detail="by catheter", client_id="c1")
    world.session("clinic", "s2", private, close(2))
    world.session("clinic", "s3", row(1, "note"))
    world.night()
    return world


def places(world: World) -> dict[str, Any]:
    return {"home": world.home, "ledgers": world.ledgers, "now": world.now}


def test_a_search_answers_with_hits_and_their_terms(world: World) -> None:
    """One call, one list of hits, best first."""
    found = memory_assets.search("ablation", tenant="clinic", k=1, **places(world))
    (hit,) = found.hits
    assert hit.memory_id == "mem-0001"
    assert hit.content["detail"] == "by catheter"
    assert set(hit.terms) == {"cosine", "text", "recency", "access"}


def test_a_persona_sees_its_own(world: World) -> None:
    """An advisor of another client finds the shared memory only."""
    found = memory_assets.search(
        "ablation", tenant="clinic", persona="ADVISOR", clients=["c2"], **places(world)
    )
    assert [h.memory_id for h in found.hits] == ["mem-0001"]
    with pytest.raises(AccessDenied):
        memory_assets.search("ablation", tenant="clinic", persona="CLIENT", **places(world))
    with pytest.raises(UnknownTenantError):
        memory_assets.search("ablation", tenant="", **places(world))


def test_one_client_may_be_named_without_a_list(world: World) -> None:
    """A text is one client, not a set of letters that belong to nobody."""
    found = memory_assets.search(
        "ablation", tenant="clinic", persona="ADVISOR", clients="c1", **places(world)
    )
    assert {h.memory_id for h in found.hits} == {"mem-0001", "mem-0002"}


def test_what_is_no_tier_or_no_moment_is_refused(world: World) -> None:
    """A misspelt tier finds nothing in silence otherwise, and a time without zone is any hour."""
    where = places(world) | {"tenant": "clinic"}
    with pytest.raises(UsageError, match="'CORE' is no tier"):
        memory_assets.search("ablation", tier="CORE", **where)
    with pytest.raises(UnknownGeneration, match="no zone"):
        memory_assets.search("ablation", as_of=datetime(2026, 3, 1), **where)  # noqa: DTZ001


def test_a_memory_is_proposed_applied_and_judged(world: World) -> None:
    """The three verbs, each with what came of it."""
    where = places(world) | {"tenant": "clinic"}
    done = memory_assets.propose("mem-0001", session="s3", proposed_by="agent:a", **where)
    assert (done.written, done.ref) == (True, "m:1")
    done = memory_assets.apply("mem-0001", session="s3", reviewer="anna", **where)
    assert (done.written, done.ref) == (True, "m:2")
    found = memory_assets.search("ablation", session="s3", **where)
    assert [h.memory_id for h in found.hits] == ["mem-0002"]
    del where["ledgers"]
    item = memory_assets.feedback("mem-0001", "useful", "it helped", given_by="anna", **where)
    assert item.startswith("fb-")
    with pytest.raises(UnknownMemoryError):
        memory_assets.feedback("mem-0009", "wrong", "x", given_by="anna", **where)


def test_a_workspace_is_opened_once_until_its_settings_change(world: World) -> None:
    """Repeated calls share what was opened; a new tenants file is seen at once."""
    first = memory_assets.open_workspace(world.home)
    assert memory_assets.open_workspace(str(world.home)) is first
    world.tenants('[tenants.clinic]\nreview = "manual"\n')
    assert memory_assets.open_workspace(world.home) is not first


def test_every_public_name_is_there() -> None:
    """What is promised can be imported, is listed, and anything else is an error."""
    for name in memory_assets.__all__:
        assert getattr(memory_assets, name) is not None
        assert name in dir(memory_assets)
    with pytest.raises(AttributeError):
        _ = memory_assets.nothing


def test_importing_the_package_imports_nothing_heavy() -> None:
    """A program that only writes ledgers does not wait for a model or a database."""
    code = (
        "import sys, memory_assets; memory_assets.LedgerWriter;"
        "print(sorted({'torch','lance','lancedb','dagster','polars','sentence_transformers'}"
        " & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
