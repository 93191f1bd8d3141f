"""A registry made from rows is a real one: what a night would find in it is there."""

from __future__ import annotations

from pathlib import Path

from memory_assets.domain.schemas import MEMORIES
from memory_assets.steps.index.scratch import memory_rows
from tests.searching import NOW, Published, memory


def test_rows_get_ids_by_tenant_and_defaults(tmp_path: Path) -> None:
    """Numbers start anew in each tenant; what is not said has its default."""
    frame = memory_rows(
        [memory("A"), memory("B", tenant_id="bank"), memory("C", client_id="c1")], decided_at=NOW
    )
    assert frame.schema == MEMORIES.schema
    assert frame.select("tenant_id", "memory_id").rows() == [
        ("clinic", "mem-0001"),
        ("bank", "mem-0001"),
        ("clinic", "mem-0002"),
    ]
    assert frame["scope"].to_list()[2] == "|c1|client"
    assert frame["content_sha256"].n_unique() == 3


def test_publishing_again_replaces_the_registry(tmp_path: Path) -> None:
    """A new generation holds exactly the rows that it was given, in registry and index."""
    home = Published(tmp_path)
    home.publish([memory("A"), memory("B")])
    home.publish([memory("A")])
    served = home.searcher.served()
    assert served.generation.number == 2
    serving = served.generation.serving
    assert serving is not None
    assert served.active.height == served.index(serving).count_rows() == 1
