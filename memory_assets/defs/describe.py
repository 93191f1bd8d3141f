"""Declared schemas → what the Dagster UI shows: column tables and column lineage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from memory_assets.domain.schemas import TableSpec


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
    spec: TableSpec, sources: Mapping[str, TableSpec], renamed: Mapping[str, str] | None = None
) -> dg.TableColumnLineage:
    """Which upstream columns feed each column: those of the same name, or as ``renamed`` says."""
    names = renamed or {}
    return dg.TableColumnLineage(
        {
            column.name: [
                dg.TableColumnDep(asset_key=dg.AssetKey(asset), column_name=source)
                for asset, table in sources.items()
                if (source := names.get(column.name, column.name)) in table.names()
            ]
            for column in spec.columns
        }
    )


def table_metadata(
    spec: TableSpec,
    sources: Mapping[str, TableSpec] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The definition metadata of an asset that stands for one declared table."""
    found: dict[str, Any] = {"dagster/column_schema": schema_of(spec)}
    if sources:
        found["dagster/column_lineage"] = lineage(spec, sources, renamed)
    return found
