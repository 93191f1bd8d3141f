"""Row keys, hashes and filters of the index."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.errors import IndexMismatch
from memory_assets.storage.index import SpaceIndex
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.index_schema import (
    all_of,
    any_of,
    equals,
    is_in,
    is_null,
    row_key,
)
from tests.storage.index_samples import SPACE, Source, row

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> PinnedIndex:
    rows = [
        row(0, client_id="c1", tier="core"),
        row(1, client_id="O'Hara", tier="recall"),
        row(2, client_id=None, tier="archival"),
    ]
    index = SpaceIndex.open(tmp_path_factory.mktemp("schema"), SPACE)
    wanted = Source(rows)
    index.sync(wanted.target, wanted.rows_for)
    return index.pin(index.version)


def found(pinned: PinnedIndex, where: str) -> list[str]:
    return pinned.rows(["memory_id"], where)["memory_id"].to_list()  # type: ignore[arg-type]


def test_predicates_select_their_rows(pinned: PinnedIndex) -> None:
    """Each builder selects exactly what its name says."""
    assert found(pinned, equals("client_id", "O'Hara")) == ["mem-0001"]
    assert found(pinned, is_in("client_id", ["c1", "O'Hara"])) == ["mem-0000", "mem-0001"]
    assert found(pinned, is_in("client_id", [])) == []
    assert found(pinned, is_null("client_id")) == ["mem-0002"]
    assert found(pinned, all_of(equals("tenant_id", "ws"), equals("tier", "core"))) == ["mem-0000"]
    assert found(pinned, any_of(equals("tier", "core"), is_null("client_id"))) == [
        "mem-0000",
        "mem-0002",
    ]
    assert found(pinned, any_of()) == []
    assert len(found(pinned, all_of())) == 3


def test_precedence_is_that_of_the_builders(pinned: PinnedIndex) -> None:
    """An alternative inside a conjunction cannot widen it."""
    inner = any_of(equals("tier", "core"), equals("tier", "recall"))
    assert found(pinned, all_of(inner, equals("tenant_id", "az"))) == []


@settings(max_examples=60, deadline=None)
@given(TEXT)
def test_no_value_leaves_its_quotes(pinned: PinnedIndex, value: str) -> None:
    """Whatever a name holds, it equals itself only: no row is found and nothing fails."""
    assert found(pinned, equals("client_id", value + "'#")) == []
    assert found(pinned, is_in("tenant_id", [value + "' OR 1=1 --", "\\' OR ''='"])) == []


def test_unknown_columns_are_refused() -> None:
    """A column name is never taken from outside."""
    for build in (lambda c: equals(c, "x"), lambda c: is_in(c, ["x"]), is_null):
        with pytest.raises(IndexMismatch):
            build("1=1 OR tenant_id")


def test_row_keys_never_meet() -> None:
    """A tenant with a slash keeps its keys apart from every other tenant's."""
    assert row_key("a/b", "c") == "a/b/c"
    for tenant_id, memory_id in (("a", "b/c"), ("", "c"), ("a", "")):
        with pytest.raises(IndexMismatch):
            row_key(tenant_id, memory_id)
