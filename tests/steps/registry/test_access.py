"""The nightly reading of the access log: new uses, once, of memories that exist."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import polars as pl

from memory_assets.domain.schemas import USES
from memory_assets.steps.registry.access import new_uses
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.access_log import UseEvent, append_uses
from memory_assets.storage.generations import EMPTY, Snapshot
from tests.searching import NOW, TENANT, Published, memory


def use(seq: int, memory_id: str = "mem-0001", **later: int) -> UseEvent:
    return UseEvent(
        tenant_id=TENANT,
        session_id="s1",
        decision_seq=seq,
        memory_id=memory_id,
        used_at=NOW + timedelta(**later),
        used_by="anna",
    )


def registry(home: Published) -> RegistryView:
    return RegistryView.of(home.store.snapshot())


def test_new_uses_are_those_not_yet_on_record(tmp_path: Path) -> None:
    """Sorted by key; a use of nothing, and one from the future, are left in the log."""
    home = Published(tmp_path)
    known = (TENANT, "s1", -1, 0, "mem-0001", NOW, "anna", 1)
    home.publish([memory("Ablation")], uses=[known])
    log = tmp_path / "access"
    append_uses(log, [use(-3), use(-1), use(-2), use(-4, "mem-0099"), use(-5, days=1)])
    found = new_uses(log, registry(home), generation=2, now=NOW)
    assert found["decision_seq"].to_list() == [-3, -2]
    assert found.schema == USES.schema
    later = new_uses(log, registry(home), generation=2, now=NOW + timedelta(days=2))
    assert later["decision_seq"].to_list() == [-5, -3, -2]


def test_nothing_logged_means_no_rows(tmp_path: Path) -> None:
    """The table keeps its schema."""
    home = Published(tmp_path)
    view = RegistryView.of(Snapshot(home.store, EMPTY))
    found = new_uses(tmp_path / "none", view, generation=1, now=NOW)
    assert found.is_empty()
    assert isinstance(found, pl.DataFrame)


def test_searching_writes_no_access(tmp_path: Path) -> None:
    """A hit is no use: searching, explaining and showing leave the whole home as it was."""
    from memory_assets.domain.visibility import Principal
    from memory_assets.steps.search.lookup import explain_memory, get_memory
    from tests.nights import tree

    home = Published(tmp_path)
    home.publish([memory("Ablation")])
    before = tree(tmp_path / "home")
    for _ in range(3):
        assert home.ids("ablation", explain=True) == ["mem-0001"]
    who = Principal.local(TENANT)
    get_memory(home.searcher, who, "mem-0001")
    explain_memory(home.searcher, who, "mem-0001")
    assert tree(tmp_path / "home") == before
