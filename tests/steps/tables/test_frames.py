"""Frames from rows of the declared schema."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from memory_assets.domain.schemas import CORROBORATIONS, EVENTS, QUARANTINE, TABLES, TableSpec
from memory_assets.steps.tables.frames import frame_of

VALUES: dict[str, Any] = {"String": "x", "Int64": 2**63 - 1, "Boolean": True, "Binary": b"\0\xff"}


def _value(dtype: Any) -> Any:
    if dtype == pl.Float64:
        return 0.5
    return VALUES.get(str(dtype), () if isinstance(dtype, pl.List) else None)


@pytest.mark.parametrize("spec", TABLES.values(), ids=lambda s: s.name)
def test_rows_come_back_with_the_declared_types(spec: TableSpec) -> None:
    """Wide integers, bytes, empty lists and nulls in every column that may hold one."""
    full = tuple(_value(c.dtype) for c in spec.columns)
    bare = tuple(None if c.nullable else v for c, v in zip(spec.columns, full, strict=True))
    frame = frame_of(spec, [full, bare])
    assert frame.schema == spec.schema
    assert frame.rows() == [
        tuple(list(v) if isinstance(v, tuple) else v for v in r) for r in (full, bare)
    ]


def test_no_rows_give_the_empty_table() -> None:
    """With its schema."""
    assert frame_of(EVENTS, []).equals(EVENTS.empty())


def test_a_row_of_another_length_or_type_is_refused() -> None:
    """A shifted column must not pass for another one."""
    row = tuple(_value(c.dtype) for c in QUARANTINE.columns)
    with pytest.raises((TypeError, ValueError)):
        frame_of(QUARANTINE, [row, row[1:]])
    with pytest.raises((TypeError, ValueError)):
        frame_of(CORROBORATIONS, [row])
    with pytest.raises(TypeError):
        frame_of(QUARANTINE, [(*row[:2], "1", *row[3:])])
