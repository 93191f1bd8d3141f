"""The columns of the search index, its row keys and hashes, and filters that cannot be injected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NewType

import pyarrow as pa

from memory_assets.errors import IndexMismatch

KIND = "memory"
"""The only kind of row that may enter the index: schema choices of one question never do."""

Predicate = NewType("Predicate", str)
"""A filter built by the functions below, values quoted; a plain string is a type error."""

NOTHING = Predicate("false")

_TEXTS = ("user_id", "client_id", "audience", "tier", "type", "subject", "detail", "rationale")
SCALAR_INDEXES = {
    "tenant_id": "bitmap",
    "tier": "bitmap",
    "client_id": "btree",
    "decided_at": "btree",
}
PRIMARY_KEY = {b"lance-schema:unenforced-primary-key": b"true"}
"""Makes two processes that merge the same new keys conflict; without it both insert them. Set in
the schema, so that no moment exists at which the table has no key."""


def index_schema(dimension: int) -> pa.Schema:
    """The Arrow schema of one space's table; ``vector`` is null while it is pending."""
    text = pa.string()
    return pa.schema(
        [
            pa.field("row_key", text, nullable=False, metadata=PRIMARY_KEY),
            pa.field("kind", text, nullable=False),
            pa.field("tenant_id", text, nullable=False),
            pa.field("memory_id", text, nullable=False),
            *(pa.field(name, text) for name in _TEXTS),
            pa.field("question_context", text),
            pa.field("tables", pa.list_(text)),
            pa.field("concepts", pa.list_(text)),
            pa.field("folded", text, nullable=False),
            pa.field("decided_at", pa.timestamp("us", tz="UTC")),
            pa.field("text_sha256", text, nullable=False),
            pa.field("index_sha256", text, nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimension)),
        ]
    )


COLUMNS: tuple[str, ...] = tuple(index_schema(1).names)
WORD_COLUMNS: tuple[str, ...] = tuple(name for name in COLUMNS if name != "vector")


def row_key(tenant_id: str, memory_id: str) -> str:
    """``tenant_id/memory_id``: memory ids are unique per tenant only, and keys must be one column.

    A memory id holds no slash, so the last one parts the two whatever the tenant is called.
    """
    if "/" in memory_id or not memory_id or not tenant_id:
        raise IndexMismatch(
            f"{memory_id!r} of tenant {tenant_id!r} cannot be an index key",
            remedy="a memory id has no slash, and neither it nor the tenant is empty.",
        )
    return f"{tenant_id}/{memory_id}"


def equals(column: str, value: str) -> Predicate:
    """Rows whose ``column`` is exactly ``value``."""
    return Predicate(f"{_column(column)} = {_literal(value)}")


def is_in(column: str, values: Iterable[str]) -> Predicate:
    """Rows whose ``column`` is one of ``values``; none of them for no values."""
    listed = ", ".join(_literal(value) for value in values)
    return Predicate(f"{_column(column)} IN ({listed})") if listed else NOTHING


def is_null(column: str) -> Predicate:
    """Rows without a value in ``column``."""
    return Predicate(f"{_column(column)} IS NULL")


def all_of(*predicates: Predicate) -> Predicate:
    """Rows for which every predicate holds."""
    return Predicate(" AND ".join(f"({one})" for one in predicates) or "true")


def any_of(*predicates: Predicate) -> Predicate:
    """Rows for which at least one predicate holds; none of them for no predicates."""
    return Predicate(" OR ".join(f"({one})" for one in predicates)) if predicates else NOTHING


def _column(name: str) -> str:
    if name not in COLUMNS:
        raise IndexMismatch(f"the index has no column {name!r}", remedy="use one of its columns.")
    return name


def _literal(value: str) -> str:
    # Lance's SQL knows one escape inside a literal: the doubled quote. Backslashes are plain.
    return "'" + value.replace("'", "''") + "'"
