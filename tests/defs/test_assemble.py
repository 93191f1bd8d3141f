"""The asset graph as a whole: a snapshot, and what must hold for every asset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg

from memory_assets.defs.assemble import defs

SNAPSHOT = Path(__file__).with_name("asset_graph.json")


def _graph() -> dict[str, Any]:
    repository = defs.get_repository_def()
    graph = repository.asset_graph
    assets = {}
    for key in sorted(graph.get_all_asset_keys(), key=lambda k: k.to_user_string()):
        node = graph.get(key)
        assets[key.to_user_string()] = {
            "deps": sorted(p.to_user_string() for p in node.parent_keys),
            "group": node.group_name,
            "kinds": sorted(k.removeprefix("dagster/kind/") for k in node.tags if "kind" in k),
            "checks": sorted(c.name for c in node.check_keys),
        }
    return {
        "assets": assets,
        "jobs": sorted(j.name for j in repository.get_all_jobs() if not j.name.startswith("__")),
        "schedules": sorted(s.name for s in repository.schedule_defs),
        "sensors": sorted(s.name for s in repository.sensor_defs),
    }


def test_the_graph_is_the_one_on_record() -> None:
    """Keys, dependencies, groups, checks, jobs, schedules and sensors change only on purpose.

    To accept a change: python -m tests.defs.test_assemble
    """
    assert _graph() == json.loads(SNAPSHOT.read_text("utf-8"))


def test_every_asset_explains_itself() -> None:
    """A newcomer finds a description, an owner, a kind and a group on every asset."""
    for node in defs.get_repository_def().asset_graph.asset_nodes:
        name = node.key.to_user_string()
        assert len(node.description or "") > 40, name
        assert node.owners, name
        assert any("kind" in tag for tag in node.tags), name
        assert node.group_name in {"ledgers", "registry", "quality"}, name


def test_every_column_of_a_declared_table_is_described() -> None:
    """Column schemas carry a meaning for each column, which the UI shows."""
    seen = 0
    for node in defs.get_repository_def().asset_graph.asset_nodes:
        schema = node.metadata.get("dagster/column_schema")
        if schema is not None:
            assert isinstance(schema, dg.TableSchema)
            assert all(c.description for c in schema.columns)
            seen += 1
    assert seen >= 5


def test_runs_stay_in_one_process() -> None:
    """The default executor would import everything anew for every step."""
    job = defs.resolve_job_def("nightly_consolidation")
    assert job.executor_def.name == "in_process"


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(_graph(), indent=1, sort_keys=True) + "\n", "utf-8")
