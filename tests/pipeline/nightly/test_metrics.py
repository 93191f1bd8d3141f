"""The figures of the night, compared with what lies in the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.pipeline.nightly.metrics import write_metrics
from memory_assets.pipeline.workspace import Workspace
from tests.building import close, row
from tests.nights import World


def _figures(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_the_figures_are_those_of_the_tables(tmp_path: Path) -> None:
    """Sessions, refused lines, backlog, memories and generation, each as it stands, or zero."""
    world = World(tmp_path)
    world.tenants('[tenants.bank]\nreview = "automatic"\n[tenants.clinic]\n')
    world.session("bank", "s1", row(1), row(2), close(3))
    world.session("clinic", "s1", row(1), close(2))
    world.session("clinic", "open", b"{not json", row(2))
    world.night()
    result = write_metrics(world.workspace, now=world.now)
    assert result.path == world.home / "metrics.prom"
    found = _figures(result.path.read_text())
    expected = {
        "generation": 1,
        "index_rows": 2,
        'memories{tenant="bank"}': 2,
        'memories{tenant="clinic"}': 0,
        'candidates{tenant="bank"}': 0,
        'candidates{tenant="clinic"}': 1,
        'sessions{tenant="clinic"}': 2,
        "open_sessions": 1,
        "quarantined_lines": 1,
        "pending_vectors": 0,
        "night_timestamp_seconds": world.now.timestamp() // 1,
    }
    assert {name: found[f"memory_assets_{name}"] for name in expected} == expected


def test_blocked_sessions_are_counted_by_what_is_wrong(tmp_path: Path) -> None:
    """Each kind has a figure, also while it is zero: an alert needs something to compare."""
    world = World(tmp_path)
    path = world.session("bank", "s1", row(1), row(2), close(3))
    world.session("bank", "s2", row(1), close(2))
    world.night()
    world.session("bank", "s1", row(2), close(3))
    (path.parent / "s2.jsonl").unlink()
    world.night()
    found = _figures(write_metrics(world.workspace, now=world.now).path.read_text())
    blocked = {k: v for k, v in found.items() if "blocked" in k}
    assert blocked == {
        'memory_assets_blocked_sessions{status="append-only-violation"}': 1,
        'memory_assets_blocked_sessions{status="missing"}': 1,
        'memory_assets_blocked_sessions{status="unreadable"}': 0,
    }


def test_an_empty_home_has_figures_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Monitoring may be set up before the first night, and put where the collector looks."""
    monkeypatch.setenv("MEMORY_ASSETS_METRICS_FILE", str(tmp_path / "collector" / "memory.prom"))
    world = World(tmp_path)
    world.home.mkdir()
    result = write_metrics(Workspace.load(**world.flags), now=world.now)
    assert result.path == tmp_path / "collector" / "memory.prom"
    assert _figures(result.path.read_text())["memory_assets_generation"] == 0
