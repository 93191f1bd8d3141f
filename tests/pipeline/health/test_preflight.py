"""The nine questions before a night: their order, and that a no stops its tenant and no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_assets.pipeline.health import preflight as module
from memory_assets.pipeline.health.preflight import (
    CHECKS,
    REGISTERED,
    PreflightReport,
    preflight,
    stopped,
)
from tests.building import close, row
from tests.nights import World

TENANTS = '[tenants.ws]\nreview = "automatic"\n[tenants.az]\nreview = "automatic"\n'


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.tenants(TENANTS)
    for tenant in ("ws", "az"):
        world.session(tenant, "s1", row(1), close(2))
    return world


def ask(world: World, assets: frozenset[str] = REGISTERED) -> PreflightReport:
    """The report of a check now."""
    return preflight(world.workspace, lambda: assets, now=world.now)


def failed(report: PreflightReport) -> dict[str, str]:
    """Tenant → the check that stopped it."""
    return {tenant: outcome.name for tenant, outcome in report.stopped.items()}


def test_a_sound_installation_passes_all_nine(world: World) -> None:
    """Every check is asked of every tenant, in order, and nothing is written."""
    report = ask(world)
    assert report.ok
    assert len(CHECKS) == 9
    for outcomes in report.tenants.values():
        assert [o.name for o in outcomes] == [name for name, _ in CHECKS]
    assert not world.workspace.home.preflight.exists()


def test_the_first_no_ends_the_questions_and_stops_the_tenant(world: World) -> None:
    """The other tenant goes on; the deviation is on record with its remedy; mending ends it."""
    world.tenants(TENANTS.replace("[tenants.az]", '[tenants.az]\nembedding = ["voyage:x"]'))
    report = ask(world)
    assert failed(report) == {"az": "provider"}
    assert [o.number for o in report.tenants["az"]] == [1, 2, 3]
    assert world.night().publish.new_memories == 1
    line = (world.workspace.home.preflight / "deviations.jsonl").read_text()
    deviation = json.loads(line)
    assert (deviation["tenant_id"], deviation["number"]) == ("az", 3)
    assert "voyage:x" in deviation["remedy"]
    assert stopped(world.workspace) == ["az"]
    world.tenants(TENANTS)
    assert ask(world).ok
    assert stopped(world.workspace) == []
    assert world.night().publish.new_memories == 1


def test_ledgers_without_an_entry_are_named(world: World) -> None:
    """An unknown tenant's ledgers are reported, not guessed; one switched off is not asked."""
    world.session("new", "s1", row(1), close(2))
    world.tenants(TENANTS.replace("[tenants.az]", "[tenants.az]\nenabled = false"))
    report = ask(world)
    assert failed(report) == {"new": "tenant"}
    assert "az" not in report.tenants
    night = world.night().ingest
    assert (night.unknown_tenants, night.switched_off) == ({"new": 1}, {"az": 1})


def test_registration_needs_all_three(world: World) -> None:
    """A tenant without a folder, or a code location without its assets, is a named deviation."""
    world.tenants(TENANTS + "[tenants.empty]\n")
    report = ask(world)
    assert failed(report) == {"empty": "registration"}
    assert "the tenant's ledgers folder" in report.stopped["empty"].message
    missing = ask(world, frozenset({"ledger_events"}))
    assert set(failed(missing).values()) == {"registration"}
    assert "the code location" in missing.stopped["ws"].message


def test_a_provider_that_is_down_stops_every_tenant(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its own remedy; it is asked once, not once per tenant."""
    monkeypatch.setenv("VOYAGE_API_KEY", "")
    from memory_assets.pipeline.workspace import Workspace

    flags = {**world.flags, "embedding": "voyage:voyage-3-large"}
    report = preflight(Workspace.load(**flags), lambda: REGISTERED, now=world.now)
    assert failed(report) == {"az": "provider", "ws": "provider"}
    assert "VOYAGE_API_KEY" in report.stopped["ws"].remedy


def test_old_libraries_are_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the version found and the one needed."""
    monkeypatch.setattr(module, "MINIMUMS", {"polars": (99, 1)})
    report = ask(world)
    assert failed(report) == {"az": "libraries", "ws": "libraries"}
    assert "99.1" in report.stopped["ws"].message


def test_a_home_of_another_version_stops_everybody(world: World) -> None:
    """A newer schema is never read on the off chance."""
    world.night()
    current = world.workspace.home.current
    body = json.loads(current.read_text())
    current.write_text(json.dumps({**body, "schema_version": 99}))
    report = ask(world)
    assert set(failed(report)) == {"az", "ws"}
    assert all("schema version 99" in o.message for o in report.stopped.values())


@pytest.mark.parametrize(
    ("damage", "check", "said"),
    [
        (lambda path: path.write_text("garbage"), "home", "not readable"),
        (lambda path: path.write_bytes(b""), "home", "not readable"),
        (Path.unlink, "home", "CURRENT does not"),
        (lambda path: (path.unlink(), path.mkdir()), "home", "cannot be read"),
        (lambda path: path.write_text(_of_schema(path, 99)), "schema", "schema version 99"),
        (lambda path: path.write_text(_of_schema(path, 0)), "schema", "schema version 0"),
    ],
    ids=["garbage", "empty", "missing", "folder", "too-new", "too-old"],
)
def test_a_damaged_current_is_told_by_the_check_that_asks_for_it(
    world: World, damage: Callable[[Path], object], check: str, said: str
) -> None:
    """Not by the provider's, which comes before; every tenant stops, and it is written down."""
    world.night()
    damage(world.workspace.home.current)
    world.__dict__.pop("workspace", None)
    report = ask(world)
    assert failed(report) == {"az": check, "ws": check}
    assert said in report.stopped["ws"].message
    assert report.stopped["ws"].remedy
    assert stopped(world.workspace) == ["az", "ws"]


def _of_schema(path: Path, version: int) -> str:
    return json.dumps({**json.loads(path.read_bytes()), "schema_version": version})


def test_too_old_a_library_is_named_before_the_provider(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check 2 reads what is installed, and says which version is needed."""
    old = tmp_path / "site" / "lancedb-0.1.0.dist-info"
    old.mkdir(parents=True)
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: lancedb\nVersion: 0.1.0\n")
    monkeypatch.syspath_prepend(str(old.parent))
    report = ask(world)
    assert failed(report) == {"az": "libraries", "ws": "libraries"}
    assert report.stopped["az"].message == "lancedb is 0.1.0, needed is lancedb 0.40 or later"


def test_a_tenants_file_with_a_byte_order_mark_is_read(world: World) -> None:
    """Some editors write one; it is no statement."""
    world.tenants("\ufeff" + TENANTS)
    assert ask(world).ok
