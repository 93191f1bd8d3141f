"""The queue's table: complete, with neighbours, without content of other scopes, and measured."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import ProviderRejected
from memory_assets.pipeline.review.state import QueueFilter, ReviewState
from memory_assets.steps.registry.neighbours import NeighbourSearch
from memory_assets.steps.review.queue import derive_queue, neighbours_of, read_queue
from tests.building import close, note, row
from tests.nights import World


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Two memories, one of them a single client's, and candidates near them."""
    world = World(tmp_path)
    world.session(
        "clinic",
        "a",
        row(1, subject="Ablation", detail="by catheter, `flag` = TRUE"),
        row(2, subject="Fee", detail="15 basis points", client_id="c1"),
        note(3, "memory_promoted", "seq:1"),
        note(4, "memory_promoted", "seq:2"),
        close(5),
    )
    world.session(
        "clinic",
        "b",
        row(1, subject="Ablation", detail="by catheter, `flag` = FALSE"),
        row(2, subject="Fee", detail="16 basis points"),
        row(3, subject="Fee", detail="16 basis points", client_id="c1"),
        row(4, subject="ablation", detail="By catheter,  `flag` = TRUE."),
        close(5),
    )
    world.night()
    return world


def test_every_candidate_stands_in_the_queue_with_its_neighbours(world: World) -> None:
    """Labels from guards and tables; a neighbour is never of another privacy scope."""
    rows = read_queue(world.workspace.derived)
    found = {r["item_id"]: r for r in rows.to_dicts()}
    near = {k: [n.memory_id for n in neighbours_of(r["neighbours"])] for k, r in found.items()}
    assert {k: r["label"] for k, r in found.items()} == {
        "clinic/b/seq:1": "conflicts with mem-0001",
        "clinic/b/seq:2": "new",
        "clinic/b/seq:3": "conflicts with mem-0002",
        "clinic/b/seq:4": "duplicate of mem-0001",
    }
    assert near["clinic/b/seq:2"] == ["mem-0001"]
    assert set(near["clinic/b/seq:3"]) == {"mem-0001", "mem-0002"}


def test_the_same_night_again_leaves_the_table_alone(world: World) -> None:
    """Nothing changed, so no file changes."""
    head = world.workspace.derived.head("review_queue")
    world.night()
    assert world.workspace.derived.head("review_queue") == head


def test_the_backlog_is_counted_and_aged(world: World) -> None:
    """Figures only: how many, by label and tenant, and how old the oldest is."""
    result = world.workspace.derive_queue(now=world.now + timedelta(days=10))
    found = result.to_metadata()
    assert (found["items"], found["waiting"], found["deferred"]) == (4, 4, 0)
    assert found["label_conflicts_with"] == 2
    assert found["oldest_days"] == pytest.approx(38.7, abs=0.2)
    assert result.backlog.by_tenant == {"clinic": 4}


def test_a_model_that_fails_costs_the_cosines_never_the_queue(world: World) -> None:
    """Equal subjects are still found, and the problem is named."""
    workspace = world.workspace
    embedder = _Refusing(workspace.embedder)
    search = NeighbourSearch(embedder, _Empty())  # type: ignore[arg-type]
    registry = workspace.registry()
    result = derive_queue(
        workspace.derived,
        workspace.assess(now=world.now),
        workspace.proposals(now=world.now),
        registry,
        search,
        now=world.now,
        committing=nullcontext(),
    )
    assert result.problem == "provider-rejected"
    rows = {r["item_id"]: r for r in read_queue(workspace.derived).to_dicts()}
    (near,) = neighbours_of(rows["clinic/b/seq:1"]["neighbours"])
    assert (near.memory_id, near.cosine) == ("mem-0001", None)


class _Refusing:
    """An embedder whose provider answers every request with a refusal."""

    def __init__(self, real: object) -> None:
        self._real = real

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)

    def embed_parts(self, texts: object, *, kind: object) -> object:
        raise ProviderRejected("The provider says no.")


class _Empty:
    """A cache that holds nothing."""

    def get(self, *_: object) -> dict[str, object]:
        return {}

    def put(self, *_: object) -> None:
        return None


def test_the_same_words_in_two_sessions_point_at_each_other(tmp_path: Path) -> None:
    """Both wait, each in its own session, and each names the other."""
    world = World(tmp_path)
    for session in ("a", "b"):
        world.session("clinic", session, row(1, subject="X", detail="y"), close(2))
    world.night()
    state = ReviewState(world.workspace, now=world.now)
    items = state.queue(Principal.local("clinic"), QueueFilter("clinic")).items
    assert [i["equal_to"] for i in items] == [["clinic/b/seq:1"], ["clinic/a/seq:1"]]
