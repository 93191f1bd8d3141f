"""The asset graph as a whole: a snapshot, and what must hold for every asset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.freshness import TimeWindowFreshnessPolicy

from memory_assets.defs.assemble import defs
from memory_assets.defs.ledgers import ChosenSessions
from memory_assets.defs.merge import DuplicateSearch
from memory_assets.defs.migration import MigrationConfig
from memory_assets.defs.upkeep import CleanupConfig

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


def test_every_asset_that_runs_can_be_late_and_says_what_a_backup_needs() -> None:
    """The UI shows which assets missed their night, and which must be backed up."""
    for node in defs.get_repository_def().asset_graph.asset_nodes:
        if not node.is_executable:
            continue
        assert node.freshness_policy is not None, node.key
        assert node.tags["memory_assets/storage"] in {"canonical", "rebuildable"}, node.key


def test_every_freshness_window_can_be_shown() -> None:
    """GraphQL has 32-bit numbers: one longer window fails the UI's query for the whole lineage."""
    seen = 0
    for node in defs.get_repository_def().asset_graph.asset_nodes:
        policy = node.freshness_policy
        if isinstance(policy, TimeWindowFreshnessPolicy):
            for window in (policy.fail_window, policy.warn_window):
                assert window is None or window.to_timedelta().total_seconds() < 2**31, node.key
            seen += 1
    assert seen > 10


@pytest.mark.parametrize(
    "config", [ChosenSessions, DuplicateSearch, MigrationConfig, CleanupConfig]
)
def test_every_field_of_a_runs_configuration_explains_itself(config: type[dg.Config]) -> None:
    """The Launchpad shows what each field does beside it."""
    for name, field in config.model_fields.items():
        assert len(field.description or "") > 15, name


def test_every_check_explains_itself() -> None:
    """The description of a check says what it warns about or what must hold."""
    graph = defs.get_repository_def().asset_graph
    for key in graph.asset_check_keys:
        spec = graph.get_check_spec(key)
        assert len(spec.description or "") > 25, key


def _feeds(asset: str, column: str) -> set[tuple[str, str]]:
    """All columns upstream of this one, its own included, over every asset's column lineage."""
    graph = defs.get_repository_def().asset_graph
    node = graph.get(dg.AssetKey(asset))
    found = {(asset, column)}
    lineage = node.metadata.get("dagster/column_lineage")
    if isinstance(lineage, dg.TableColumnLineage):
        for dep in lineage.deps_by_column.get(column, []):
            found |= _feeds(dep.asset_key.to_user_string(), dep.column_name)
    return found


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("subject", "subject"),
        ("decided_at", "ts"),
        ("client_id", "client_id"),
        ("folded", "detail"),
        ("vector", "rationale"),
        ("row_key", "tenant_id"),
    ],
)
def test_a_column_of_the_index_leads_back_to_a_field_of_the_ledger(column: str, field: str) -> None:
    """Column lineage is unbroken from the search index to what an agent wrote."""
    assert ("session_ledgers", field) in _feeds("memory_index", column)


def test_column_lineage_names_columns_that_exist() -> None:
    """A renamed column would otherwise leave a lineage that points nowhere."""
    graph = defs.get_repository_def().asset_graph
    schemas: dict[str, set[str]] = {}
    for node in graph.asset_nodes:
        schema = node.metadata.get("dagster/column_schema")
        if isinstance(schema, dg.TableSchema):
            schemas[node.key.to_user_string()] = {c.name for c in schema.columns}
    for node in graph.asset_nodes:
        lineage = node.metadata.get("dagster/column_lineage")
        if isinstance(lineage, dg.TableColumnLineage):
            assert set(lineage.deps_by_column) <= schemas[node.key.to_user_string()]
            for dep in (d for deps in lineage.deps_by_column.values() for d in deps):
                assert dep.column_name in schemas[dep.asset_key.to_user_string()], dep


def test_runs_stay_in_one_process() -> None:
    """The default executor would import everything anew for every step."""
    job = defs.resolve_job_def("nightly_consolidation")
    assert job.executor_def.name == "in_process"


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(_graph(), indent=1, sort_keys=True) + "\n", "utf-8")
