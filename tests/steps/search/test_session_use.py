"""What a session decided is left out of its searches, and comes back when that ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import UnknownSessionError, UsageError
from memory_assets.steps.search.session_use import read_session
from tests.building import close, note, row, write_session
from tests.searching import NOW, TENANT, Published, memory

CONCEPTS = [
    memory("Ablation", "catheter ablation"),
    memory("Cardioversion", "electrical cardioversion"),
    memory("Discharge", "discharge from the ward"),
]


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Published:
    home = Published(tmp_path)
    home.publish(CONCEPTS)
    return home


def left_out(home: Published, *rows: dict[str, Any], **more: Any) -> dict[str, str]:
    """The ids that a search on behalf of a session of these rows leaves out, and why."""
    write_session(home.root / "ledgers", TENANT, "s1", rows)
    found = home.search("ablation cardioversion discharge", session="s1", **more)
    dropped = {d.memory_id: d.code for d in found.dropped}
    assert not dropped.keys() & {h.memory_id for h in found.hits}
    assert len(dropped) + len(found.hits) == len(CONCEPTS)
    return dropped


def cites(seq: int, memory_id: str, **fields: Any) -> dict[str, Any]:
    return row(seq, phase="F2", rationale=f"as in {memory_id}", **fields)


def test_a_session_that_decided_nothing_sees_everything(home: Published) -> None:
    """Proposals, table choices and notes leave nothing out."""
    rows = (
        row(1, "memory_proposed", detail="mem-0001"),
        row(2, "table_promoted", subject="fact_x", detail="include"),
    )
    assert left_out(home, *rows) == {}


def test_a_cited_memory_is_left_out(home: Published) -> None:
    """A clarification whose rationale cites a memory decided on it."""
    assert left_out(home, cites(1, "mem-0001")) == {"mem-0001": "decided-in-session"}


def test_equal_content_is_left_out_without_a_citation(home: Published) -> None:
    """Saying the same in other capitals and spaces is deciding the same."""
    same = row(1, subject="cardioversion", detail="Electrical  cardioversion.")
    assert left_out(home, same) == {"mem-0002": "decided-in-session"}


def test_what_the_session_brought_itself_is_left_out(tmp_path: Path) -> None:
    """A memory that a reviewer reworded is still this session's own."""
    home = Published(tmp_path)
    home.publish(
        [memory("Reworded", "another text", session_id="s1", decision_seq=4), *CONCEPTS[1:]]
    )
    assert left_out(home, row(4)) == {"mem-0001": "decided-in-session"}


def test_a_legacy_rejection_hides_the_memory(home: Published) -> None:
    """``memory_rejected`` of older ledgers keeps its effect, until it is withdrawn."""
    rejected = row(1, "memory_rejected", detail="mem-0003")
    assert left_out(home, rejected) == {"mem-0003": "hidden"}
    assert left_out(home, rejected, note(2, "decision_withdrawn", "seq:1")) == {}


@pytest.mark.parametrize(
    "ending",
    [
        note(2, "decision_withdrawn", "seq:1"),
        row(2, "phase_reopened", phase="F1"),
        row(2, "phase_rolled_back", phase="F2"),
    ],
    ids=lambda r: r["type"],
)
def test_a_reuse_that_ended_may_be_proposed_again(home: Published, ending: dict[str, Any]) -> None:
    """Withdrawn, reopened or rolled back: the memory is found again."""
    assert left_out(home, cites(1, "mem-0001"), ending) == {}


def test_a_citation_of_a_replaced_memory_leaves_out_its_survivor(tmp_path: Path) -> None:
    """Whoever decided on the old one has decided on what answers for it now."""
    home = Published(tmp_path)
    merged = (TENANT, "mem-0001", "mem-0002", 1, False, "anna", "{}")
    home.publish(CONCEPTS, supersessions=[merged])
    write_session(home.root / "ledgers", TENANT, "s1", [cites(1, "mem-0001")])
    assert home.ids("cardioversion", session="s1") == ["mem-0003"]


def test_companion_rows_count_like_ledger_rows(home: Published) -> None:
    """What a reviewer applied beside the ledger is decided too."""
    applied = cites(1, "mem-0001", after_seq=1, subject="Ablation", detail="catheter ablation")
    write_session(home.root / "ledgers", TENANT, "s2", [row(1), close(2)], [applied])
    assert "mem-0001" not in home.ids("ablation", session="s2")


@pytest.mark.parametrize("name", ["nowhere", "../clinic/s1", "", ".", "a\0b", "x" * 300, "\ud800"])
def test_an_unknown_session_is_named(home: Published, name: str) -> None:
    """A session that is not there, or no file's name at all, is an error."""
    with pytest.raises(UnknownSessionError):
        read_session(home.root / "ledgers", TENANT, name)
    with pytest.raises(UnknownSessionError):
        home.search("ablation", session=name)


def test_a_session_belongs_to_one_tenant(home: Published) -> None:
    """Searching two tenants on behalf of one session makes no sense and is refused."""
    home.publish([*CONCEPTS, memory("x", tenant_id="bank")])
    who = Principal(TENANT, "ADMIN", more_tenants=frozenset({"bank"}))
    with pytest.raises(UsageError):
        home.search("x", who, tenants=(TENANT, "bank"), session="s1", now=NOW)


def test_a_session_of_another_user_is_unknown_to_an_advisor(home: Published) -> None:
    """Whose session it is stands in its rows; what it decided is nobody else's to learn."""
    write_session(home.root / "ledgers", TENANT, "s1", [row(1, user_id="anna")])
    write_session(home.root / "ledgers", TENANT, "nobodys", [row(1)])
    anna, berta = (Principal(TENANT, "ADVISOR", name) for name in ("anna", "berta"))
    assert len(home.ids("ablation", anna, session="s1")) == len(CONCEPTS)
    assert len(home.ids("ablation", berta, session="nobodys")) == len(CONCEPTS)
    with pytest.raises(UnknownSessionError):
        home.search("ablation", berta, session="s1")
