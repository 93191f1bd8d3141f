"""Pages about published memories: feedback and the session that they came from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memory_assets.domain.visibility import Principal
from memory_assets.steps.search.feedback import give_feedback
from memory_assets.storage.feedback_log import FeedbackKind
from memory_assets.web.access import Access
from memory_assets.web.app import review_app
from memory_assets.web.reviewers import ReviewersFile, new_token
from tests.building import close, note, row
from tests.nights import World

WHY = "<b>false</b> since 2025"


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Two published memories of one session."""
    world = World(tmp_path)
    rows = [row(1, subject="Ablation"), row(2, subject="Valve")]
    marked = [note(n + 2, "memory_promoted", f"seq:{n}") for n in (1, 2)]
    world.session("clinic", "s1", *rows, *marked, close(5))
    world.night()
    return world


@pytest.fixture(name="page")
def _page(world: World, tmp_path: Path) -> TestClient:
    """A signed-in reviewer of the clinic."""
    file = tmp_path / "reviewers.toml"
    token = new_token(file, "anna", tenants=["clinic"])
    app = review_app(
        world.workspace,
        Access(ReviewersFile(file)),
        allowed_hosts=("testserver",),
        clock=lambda: world.now,
    )
    client = TestClient(app, client=("127.0.0.1", 4711))
    client.get(f"/sign-in?token={token}")
    return client


def _give(world: World, kind: FeedbackKind, memory: str = "mem-0001") -> str:
    """The path of the item that somebody's feedback becomes."""
    found = give_feedback(
        world.workspace.searcher,
        Principal.local("clinic"),
        memory,
        tenant_id=None,
        kind=kind,
        why=WHY,
        given_by="berta",
        now=world.now,
    )
    return f"/items/clinic/feedback:{memory}%2B{found.feedback_id}"


def _press(page: TestClient, path: str, action: str) -> str:
    """The text of the page after a button of this one was pressed."""
    hidden = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', page.get(path).text)
    return page.post(path, data={**dict(hidden), "action": action}).text


@pytest.mark.parametrize(
    ("kind", "button"), [("wrong", "Retire it"), ("outdated", "Retire it"), ("useful", "Noted")]
)
def test_feedback_opens_with_memory_giver_and_reason(
    world: World, page: TestClient, kind: FeedbackKind, button: str
) -> None:
    """It is listed at once; its page says of which memory, by whom and why, as plain text."""
    page.get("/")
    path = _give(world, kind)
    assert path in page.get("/").text
    shown = page.get(path)
    assert shown.status_code == 200
    for said in ("mem-0001", f"feedback: {kind}", "berta", "&lt;b&gt;false&lt;/b&gt;", button):
        assert said in shown.text
    assert "<b>false" not in shown.text
    assert "says the same" not in shown.text


def test_accepted_feedback_retires_its_memory(world: World, page: TestClient) -> None:
    """From the page to the registry; what was declined changes nothing."""
    wrong, kept = _give(world, "wrong"), _give(world, "outdated", "mem-0002")
    assert "1 accepted." in _press(page, wrong, "accept")
    assert "1 declined." in _press(page, kept, "decline")
    assert "Declined by anna" in page.get(kept).text
    world.night()
    assert world.workspace.registry().active()["memory_id"].to_list() == ["mem-0002"]


def test_a_session_shows_what_waits_about_its_memories(world: World, page: TestClient) -> None:
    """The queue lists it under this session, so its page does not say that nothing waits."""
    assert "Reviewed and closed" in page.get("/sessions/clinic/s1").text
    path = _give(world, "wrong")
    text = page.get("/sessions/clinic/s1").text
    assert "Reviewed and closed" not in text
    assert path in text
    assert "mem-0001: berta" in text
