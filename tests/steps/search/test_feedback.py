"""Feedback is an item for reviewers, and changes nothing by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, UnknownMemoryError, UsageError
from memory_assets.steps.search.feedback import feedback_items, give_feedback, settle_feedback
from memory_assets.storage.feedback_log import Feedback
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


def waiting(home: Published, who: Principal = ADMIN, **more: Any) -> list[str]:
    return [i.feedback.memory_id for i in feedback_items(home.searcher, who, **more)]


def test_feedback_waits_for_a_reviewer_and_moves_no_score(home: Published) -> None:
    """The item shows what was said and what the memory says; the search is as before."""
    before = [h.score for h in home.search("ablation").hits]
    published = tree(home.root / "home" / "registry")
    give(home, kind="useful", why="  it helped ")
    (item,) = feedback_items(home.searcher, ADMIN)
    shown = item.to_dict()
    assert (shown["kind"], shown["why"], shown["subject"]) == ("useful", "it helped", "Ablation")
    assert (shown["status"], shown["settled_by"]) == ("active", None)
    assert [h.score for h in home.search("ablation").hits] == before
    assert tree(home.root / "home" / "registry") == published


def test_the_same_feedback_is_one_item(home: Published) -> None:
    """Saying it again gives the item that waits already."""
    assert give(home) == give(home)
    assert waiting(home) == ["mem-0001"]


def test_a_settled_item_leaves_the_list(home: Published) -> None:
    """A reviewer's answer is kept with the item; it can be shown again."""
    item = give(home)
    settle_feedback(
        home.searcher, ADMIN, item.feedback_id, reviewer="berta", outcome="reworded", now=NOW
    )
    assert waiting(home) == []
    (kept,) = feedback_items(home.searcher, ADMIN, with_settled=True)
    assert kept.to_dict()["outcome"] == "reworded"
    with pytest.raises(UsageError):
        settle_feedback(
            home.searcher, ADMIN, item.feedback_id, reviewer="berta", outcome="again", now=NOW
        )


def test_an_agent_gives_feedback_and_settles_none(home: Published) -> None:
    """Whoever uses memories may complain; only a person takes an item off the list."""
    item = give(home, given_by="agent:planner")
    with pytest.raises(AccessDenied):
        settle_feedback(
            home.searcher, ADMIN, item.feedback_id, reviewer="agent:x", outcome="ok", now=NOW
        )


@pytest.mark.parametrize(("kind", "why"), [("bad", "x"), ("wrong", " ")])
def test_feedback_needs_a_known_kind_and_a_reason(home: Published, kind: str, why: str) -> None:
    """Wrong, outdated or useful, and why: nothing else is written down."""
    with pytest.raises(UsageError):
        give(home, kind=kind, why=why)
    assert waiting(home) == []


def test_only_what_may_be_seen_can_be_judged_or_listed(home: Published) -> None:
    """Another client's memory is unknown to the advisor, and so is what others said of it."""
    with pytest.raises(UnknownMemoryError):
        give(home, "mem-0002", who=ADVISOR)
    give(home, "mem-0002")
    give(home, "mem-0001", who=ADVISOR)
    assert waiting(home) == ["mem-0002", "mem-0001"]
    assert waiting(home, ADVISOR) == ["mem-0001"]
    with pytest.raises(AccessDenied):
        waiting(home, Principal(TENANT, "CLIENT", "c9", frozenset({"c9"})))
