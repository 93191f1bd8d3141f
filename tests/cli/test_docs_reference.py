"""The pages on events and tables leave nothing out."""

from __future__ import annotations

from memory_assets.cli.docs_reference import events_page, tables_page
from memory_assets.domain.events import EVENT_TYPES, KNOWN_FIELDS
from memory_assets.domain.merge_tables import MERGE_TABLES
from memory_assets.domain.schemas import TABLES


def test_every_event_type_and_field_is_documented() -> None:
    """A writer of ledgers finds each type and each field."""
    page = events_page()
    for name in (*EVENT_TYPES, *KNOWN_FIELDS):
        assert f"| `{name}` |" in page


def test_every_table_and_column_is_documented() -> None:
    """The data dictionary has every declared table, and a meaning for each of its columns."""
    page = tables_page()
    for spec in (*TABLES.values(), *MERGE_TABLES):
        section = page.partition(f"### {spec.name}\n")[2].partition("\n#")[0]
        for column in spec.columns:
            assert f"| `{column.name}` |" in section, f"{spec.name}.{column.name}"
