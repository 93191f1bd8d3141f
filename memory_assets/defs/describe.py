"""Declared schemas → what the Dagster UI shows: column tables and column lineage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from memory_assets.domain.schemas import TableSpec

Sources = Mapping[str, TableSpec]
"""Upstream assets and their tables."""
Renamed = Mapping[str, tuple[str, ...]]
"""Columns that are not fed by the upstream column of their own name; none for what is new here."""
_LINEAGE = "dagster/column_lineage"


def some_of(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def schema_of(spec: TableSpec) -> dg.TableSchema:
    """The column table of a declared schema."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                c.name,
                str(c.dtype),
                description=c.meaning,
                constraints=dg.TableColumnConstraints(nullable=c.nullable),
            )
            for c in spec.columns
        ]
    )


def lineage(
    spec: TableSpec, sources: Sources, renamed: Renamed | None = None
) -> dg.TableColumnLineage:
    """Which upstream columns feed each column: the one of the same name, or as ``renamed`` says."""
    names = renamed or {}
    return dg.TableColumnLineage(
        {
            column.name: [
                dg.TableColumnDep(asset_key=dg.AssetKey(asset), column_name=source)
                for asset, table in sources.items()
                for source in names.get(column.name, (column.name,))
                if source in table.names()
            ]
            for column in spec.columns
        }
    )


def recorded(
    context: dg.AssetExecutionContext, asset: str, counts: Mapping[str, Any]
) -> dict[str, Any]:
    """The metadata of one materialization: counts, and the column lineage of the definition.

    The UI reads column lineage from materializations, where a change of it would be history.
    """
    declared = context.assets_def.metadata_by_key[dg.AssetKey(asset)]
    kept = {k: v for k, v in declared.items() if k == _LINEAGE}
    return {**kept, **counts}


def table_metadata(
    spec: TableSpec, sources: Sources | None = None, renamed: Renamed | None = None
) -> dict[str, Any]:
    """The definition metadata of an asset that stands for one declared table."""
    found: dict[str, Any] = {"dagster/column_schema": schema_of(spec)}
    if sources:
        found[_LINEAGE] = lineage(spec, sources, renamed)
    return found
