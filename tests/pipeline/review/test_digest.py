"""The digest: what is new, what waits, what conflicts, for whoever reads it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied
from memory_assets.pipeline.review.digest import LISTED, Digest, make_digest
from memory_assets.pipeline.review.state import ReviewState
from tests.building import close, note, row
from tests.nights import World

BEFORE = [
    row(1, subject="Ablation", detail="`flag` = TRUE <b>"),
    row(2, subject="Private", detail="of one client", client_id="c9"),
    note(3, "memory_promoted", "seq:1"),
    note(4, "memory_promoted", "seq:2"),
    close(5),
]


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Two memories in the first night; a conflict that waits, and a retirement, in the second."""
    world = World(tmp_path)
    world.session("clinic", "a", *BEFORE)
    world.night()
    world.session("clinic", "a", *BEFORE, note(6, "decision_withdrawn", "seq:2"), close(7))
    world.session("clinic", "b", row(1, subject="Ablation", detail="`flag` = FALSE <b>"), close(2))
    world.now += timedelta(hours=3)
    world.night()
    return world


def _digest(world: World, principal: Principal | None = None, hours: float = 24) -> Digest:
    state = ReviewState(world.workspace, now=world.now)
    who = principal or Principal.local("clinic")
    return make_digest(state, who, "clinic", since=world.now - timedelta(hours=hours))


def test_news_are_those_of_the_time_that_is_asked_for(world: World) -> None:
    """A day holds the first night's memories, an hour does not; what waits is always there."""
    day, hour = _digest(world), _digest(world, hours=1)
    assert [m["memory_id"] for m in day.new] == ["mem-0001", "mem-0002"]
    assert hour.new == ()
    assert [i["label"] for i in hour.waiting] == ["conflicts with mem-0001", "retire mem-0002"]
    assert hour.conflicts == hour.waiting


def test_both_documents_show_words_as_words(world: World) -> None:
    """Markdown keeps content literal, and the page made of it holds no foreign tag."""
    found = _digest(world)
    assert r"\<b\>" in found.to_markdown()
    page = found.to_html()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<code>flag</code>" in page


def test_an_advisor_reads_of_own_clients_only(world: World) -> None:
    """Neither as news nor as a proposal does another client's memory appear."""
    advisor = Principal("clinic", "ADVISOR", "u1", frozenset({"c1"}))
    found = _digest(world, advisor)
    assert [m["memory_id"] for m in found.new] == ["mem-0001"]
    assert "Private" not in found.to_markdown()
    with pytest.raises(AccessDenied):
        _digest(world, Principal("bank", "ADMIN"))


def test_long_sections_are_counted_in_full(tmp_path: Path) -> None:
    """The list is cut with a word about the rest; the count never is."""
    world = World(tmp_path)
    world.session("clinic", "many", *(row(n) for n in range(1, LISTED + 4)), close(LISTED + 9))
    world.night()
    text = _digest(world).to_markdown()
    assert f"## Waiting for a reviewer ({LISTED + 3})" in text
    assert "… and 3 more" in text
