"""Feedback is an item for reviewers, and changes nothing by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, UnknownMemoryError, UsageError
from memory_assets.steps.search.feedback import give_feedback
from memory_assets.storage.feedback_log import Feedback, read_feedback
from tests.nights import tree
from tests.searching import NOW, TENANT, Published, memory

ADMIN = Principal.local(TENANT)
ADVISOR = Principal(TENANT, "ADVISOR", "anna", frozenset({"c1"}))


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Published:
    home = Published(tmp_path)
    home.publish([memory("Ablation"), memory("Visit", client_id="c9")])
    return home


def give(home: Published, memory_id: str = "mem-0001", **more: Any) -> Feedback:
    fields: dict[str, Any] = {"kind": "wrong", "why": "the year is missing", "given_by": "anna"}
    who = more.pop("who", ADMIN)
    return give_feedback(home.searcher, who, memory_id, tenant_id=None, now=NOW, **fields | more)


def waiting(home: Published) -> list[str]:
    return [i.memory_id for i in read_feedback(home.searcher.store.home.feedback).items]


def test_feedback_waits_for_a_reviewer_and_moves_no_score(home: Published) -> None:
    """The item holds what was said of which memory; the search is as before."""
    before = [h.score for h in home.search("ablation").hits]
    published = tree(home.root / "home" / "registry")
    give(home, kind="useful", why="  it helped ")
    (item,) = read_feedback(home.searcher.store.home.feedback).items
    assert (item.memory_id, item.kind, item.why) == ("mem-0001", "useful", "it helped")
    assert [h.score for h in home.search("ablation").hits] == before
    assert tree(home.root / "home" / "registry") == published


def test_the_same_feedback_is_one_item(home: Published) -> None:
    """Saying it again gives the item that waits already."""
    assert give(home) == give(home)
    assert waiting(home) == ["mem-0001"]


@pytest.mark.parametrize(
    "said",
    [
        {"kind": "bad"},
        {"why": " "},
        {"why": "bad \ud800"},
        {"why": "x" * 10_001},
        {"given_by": ""},
        {"given_by": "x" * 201},
    ],
)
def test_feedback_needs_a_known_kind_a_reason_and_a_name(
    home: Published, said: dict[str, str]
) -> None:
    """Wrong, outdated or useful, why, and who says so: nothing else is written down."""
    with pytest.raises(UsageError):
        give(home, **said)
    assert waiting(home) == []


def test_only_what_may_be_seen_can_be_judged(home: Published) -> None:
    """Another client's memory is unknown to the advisor; a client judges nothing."""
    with pytest.raises(UnknownMemoryError):
        give(home, "mem-0002", who=ADVISOR)
    with pytest.raises(AccessDenied):
        give(home, who=Principal(TENANT, "CLIENT", "c9", frozenset({"c9"})))
    give(home, "mem-0002")
    give(home, "mem-0001", who=ADVISOR)
    assert waiting(home) == ["mem-0002", "mem-0001"]
