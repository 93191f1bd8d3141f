"""Declared schemas: the one place that names columns."""

from __future__ import annotations

import polars as pl
import pytest

from memory_assets.domain.schemas import (
    DERIVED_TABLES,
    PROMOTION_KEY,
    REGISTRY_TABLES,
    TABLES,
    TableSpec,
)


@pytest.mark.parametrize("spec", TABLES.values(), ids=lambda s: s.name)
def test_every_column_is_named_once_and_explained(spec: TableSpec) -> None:
    """The data dictionary is made of these texts."""
    assert len(set(spec.names())) == len(spec.columns)
    assert spec.meaning.endswith(".")
    assert all(c.meaning.endswith(".") for c in spec.columns)
    assert "tenant_id" in spec.names()
    assert spec.empty().schema == spec.schema


def test_tables_are_listed_once() -> None:
    """Derived tables can be rebuilt, registry tables cannot: no table is both."""
    names = [t.name for t in (*DERIVED_TABLES, *REGISTRY_TABLES)]
    assert sorted(names) == sorted(set(names)) == sorted(TABLES)


def test_one_name_has_one_type_everywhere() -> None:
    """A column that two tables share can be joined without a cast."""
    differ = {"verdict_by"}  # the marker row of a decision; of a memory, whoever accepted it
    types: dict[str, set[str]] = {}
    for spec in TABLES.values():
        for column in spec.columns:
            types.setdefault(column.name, set()).add(str(column.dtype))
    assert {name for name, found in types.items() if len(found) > 1} == differ


def test_the_promotion_key_is_whole_where_promotion_needs_it() -> None:
    """Idempotency hangs on these four columns."""
    assert PROMOTION_KEY == ["tenant_id", "session_id", "decision_seq", "fact_no"]
    for name in ("decisions", "memories", "corroborations", "tombstones"):
        assert set(PROMOTION_KEY) <= set(TABLES[name].names())


def test_rows_become_a_frame_of_the_declared_types() -> None:
    """Tuples in column order; a value of another type is refused."""
    spec = TABLES["decided"]
    assert spec.frame([("t", "s", 1)]).schema == spec.schema
    with pytest.raises((TypeError, pl.exceptions.PolarsError)):
        spec.frame([("t", "s", "x")])
