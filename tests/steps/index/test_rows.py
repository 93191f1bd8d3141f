"""The hash that decides which rows of the index are written again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from memory_assets.steps.index.rows import IndexRows

MEMORY: dict[str, Any] = {
    "tenant_id": "clinic",
    "memory_id": "mem-0001",
    "user_id": "u",
    "client_id": "c",
    "audience": "client",
    "tier": "recall",
    "content_sha256": "0" * 64,
    "decided_at": datetime(2026, 1, 1, 12, tzinfo=UTC),
}
CHANGES: dict[str, Any] = {
    "tenant_id": "bank",
    "memory_id": "mem-0002",
    "user_id": None,
    "client_id": "",
    "audience": "tenant",
    "tier": "core",
    "content_sha256": "1" * 64,
    "decided_at": datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=UTC),
}


def _keys(memory: dict[str, Any], language: str = "it", **options: Any) -> dict[str, Any]:
    rows = IndexRows(pl.DataFrame([memory]), {"clinic": language, "bank": language})
    return rows.keys(**options).row(0, named=True)


def _hash(memory: dict[str, Any], language: str = "it") -> str:
    return str(_keys(memory, language)["index_sha256"])


def _hashes(memories: pl.DataFrame) -> list[str]:
    return IndexRows(memories, {"clinic": "it"}).keys()["index_sha256"].to_list()


@pytest.mark.parametrize("column", sorted(CHANGES))
def test_a_change_of_anything_indexed_changes_the_hash(column: str) -> None:
    """Whatever decides a row is a reason to write it: owner, tier, content, time."""
    assert sorted(CHANGES) == sorted(MEMORY)
    assert _hash({**MEMORY, column: CHANGES[column]}) != _hash(MEMORY)


def test_the_language_of_the_tenant_changes_the_hash() -> None:
    """Words are folded by it."""
    assert _hash(MEMORY, "en") != _hash(MEMORY, "it")


def test_values_do_not_slip_into_the_next_column() -> None:
    """A user is no client, an absent value no empty one."""
    user = {**MEMORY, "user_id": "uc", "client_id": None}
    both = {**MEMORY, "user_id": "u", "client_id": "c"}
    client = {**MEMORY, "user_id": None, "client_id": "uc"}
    assert len({_hash(m) for m in (user, both, client)}) == 3
    assert _hash({**MEMORY, "client_id": None}) != _hash({**MEMORY, "client_id": ""})


def test_one_instant_has_one_hash() -> None:
    """The zone that a time is written in says nothing about the row."""
    here = pl.DataFrame([MEMORY])
    there = here.with_columns(pl.col("decided_at").dt.convert_time_zone("Europe/Rome"))
    assert _hashes(here) == _hashes(there)


def test_a_vector_that_is_missing_does_not_change_the_hash() -> None:
    """It is told beside the hash: the text is the same, and only the vector waits."""
    pending = _keys(MEMORY, without_vector=frozenset({"clinic/mem-0001"}))
    assert pending == {**_keys(MEMORY), "has_vector": False}
