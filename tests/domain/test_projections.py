"""The declared columns of ledger rows and index rows are those that the code reads and writes."""

from __future__ import annotations

from memory_assets.domain.events import KNOWN_FIELDS
from memory_assets.domain.projections import INDEX_ROWS, LEDGER_ROWS, VECTORS
from memory_assets.storage.index_schema import COLUMNS


def test_ledger_rows_have_the_fields_of_the_parser() -> None:
    """A field that the parser knows is described, and none that it does not know."""
    assert set(LEDGER_ROWS.names()) == KNOWN_FIELDS


def test_index_rows_have_the_columns_of_the_index() -> None:
    """The described columns are those of the Lance table, in its order."""
    assert tuple(INDEX_ROWS.names()) == COLUMNS


def test_vectors_are_part_of_the_index() -> None:
    """What is said of a vector's columns holds in the index as well."""
    assert set(VECTORS.columns) <= set(INDEX_ROWS.columns)
