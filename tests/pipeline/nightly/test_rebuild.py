"""The registry made again from ledgers, review decisions, intents and the allocation log alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from memory_assets.domain.intents import Remove, Retire, Supersede
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.errors import UsageError
from memory_assets.pipeline.nightly.rebuild import rebuild
from memory_assets.pipeline.review.detach import detach
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.review.items import ItemRef
from memory_assets.storage.allocations import read_allocations
from memory_assets.storage.intents import append_intents
from tests.building import close, note, row
from tests.embedding_server import EmbeddingServer
from tests.nights import NOW, World
from tests.providers import Hosted
from tests.steps.promotion.test_settle import ALIKE, FIRST, PROVEN

BY: dict[str, Any] = {
    "decided_by": "reviewer anna",
    "decided_at": NOW,
    "reason": "as a test",
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Nights whose order shows in the ids, with every kind of change on top."""
    made = World(tmp_path)
    made.tenants('[tenants.bank]\nreview = "automatic"\n[tenants.clinic]\nreview = "manual"\n')
    made.session("bank", "z-first", row(1, subject="aum", detail="assets"), row(2), close(3))
    made.session("clinic", "s1", row(1, subject="ablation", detail="procedure"), close(2))
    made.night()
    made.review("clinic", "s1", 1, "accept")
    made.session("bank", "a-later", row(1, subject="aum", detail="assets."), row(3), close(4))
    made.session("bank", "b-later", row(1, subject="churn", detail="left"), close(2))
    made.night()
    made.session("bank", "c-last", row(7), row(8), row(9), close(10))
    made.night()
    return made


def _rebuilt(world: World) -> tuple[Workspace, int]:
    """The new home's workspace, after the old registry was taken away; and how many were lost."""
    for name in ("CURRENT", "generations", "registry", "index", "derived", "cache"):
        path = world.home / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    target = world.root / "rebuilt"
    old = Workspace.load(**world.flags)
    result = rebuild(old, target, run_id="rebuild", now=world.now)
    return Workspace.load(**{**world.flags, "home": str(target)}), len(result.lost)


def _tables(workspace: Workspace) -> dict[str, pl.DataFrame]:
    """Every table of the registry in one order, without the numbers of generations."""
    return {
        name: frame.drop("promoted_generation", "generation", strict=False).sort(pl.all())
        for name, frame in workspace.registry().tables().items()
        if name != "tombstones"
    }


def _same(world: World, before: dict[str, pl.DataFrame]) -> None:
    rebuilt, lost = _rebuilt(world)
    assert lost == 0
    after = _tables(rebuilt)
    for name, frame in before.items():
        assert_frame_equal(frame, after[name])


def test_ids_content_and_verdicts_are_the_same(world: World) -> None:
    """Though one pass over all sessions would have given out other ids."""
    before = _tables(world.workspace)
    memories = before["memories"]
    assert memories.filter(session_id="z-first")["memory_id"].to_list() == ["mem-0001", "mem-0002"]
    assert set(memories["tenant_id"]) == {"bank", "clinic"}
    assert before["corroborations"].height == 1
    _same(world, before)


def test_replacements_and_retirements_are_the_same(world: World) -> None:
    """Intents are applied again, after the memories that they name are there."""
    append_intents(
        world.workspace.home,
        [
            Supersede(tenant_id="bank", memory_id="mem-0002", superseded_by="mem-0003", **BY),
            Retire(tenant_id="clinic", memory_id="mem-0001", **BY),
        ],
    )
    world.night()
    before = _tables(world.workspace)
    assert before["supersessions"].height == before["retirements"].height == 1
    _same(world, before)


def test_what_was_erased_stays_erased_and_its_id_unused(world: World) -> None:
    """The ledger still has the row; no rebuild may bring it back, or give its number to another."""
    removed = Remove(tenant_id="bank", memory_ids=("mem-0004",), removal="erasure", **BY)
    append_intents(world.workspace.home, [removed])
    world.night()
    before = _tables(world.workspace)
    buried = world.workspace.registry().tombstones.select(PROMOTION_KEY)
    rebuilt, lost = _rebuilt(world)
    assert lost == 0
    assert_frame_equal(before["memories"], _tables(rebuilt)["memories"])
    assert set(rebuilt.registry().tombstones.select(PROMOTION_KEY).rows()) == set(buried.rows())


def test_a_new_decision_gets_a_number_of_its_own(world: World) -> None:
    """The rebuilt home goes on where the old one stopped."""
    last = max(world.workspace.registry().memories.filter(tenant_id="bank")["memory_id"])
    rebuilt, _ = _rebuilt(world)
    world.session("bank", "d-new", row(1, subject="nps", detail="promoters"), close(2))
    rebuilt.ingest()
    rebuilt.decide()
    rebuilt.publish(run_id="next", now=world.now)
    memories = rebuilt.registry().memories
    new = memories.filter(session_id="d-new")["memory_id"].item()
    assert int(new[4:]) == int(last[4:]) + 1


def test_a_memory_whose_decision_was_withdrawn_since_is_still_there(world: World) -> None:
    """Published memories are never dropped silently: a retirement is somebody's decision."""
    world.session(
        "bank",
        "b-later",
        *(row(1, subject="churn", detail="left"), close(2)),
        *(note(3, "decision_withdrawn", "seq:1", phase="F1"), close(4)),
    )
    world.night()
    _same(world, _tables(world.workspace))


def test_a_lost_ledger_is_said(world: World) -> None:
    """What cannot be made again is listed by its key, not left out in silence."""
    (world.ledgers / "bank" / "c-last.jsonl").unlink()
    _, lost = _rebuilt(world)
    assert lost == 3


def test_every_promotion_is_on_record_once(world: World) -> None:
    """A night without changes, or a second one, adds no line."""
    lines = read_allocations(world.workspace.home)
    registry = world.workspace.registry()
    assert len(lines) == registry.memories.height + registry.corroborations.height
    world.night()
    assert read_allocations(world.workspace.home) == lines


def test_a_rebuild_needs_an_empty_folder_and_a_record(world: World) -> None:
    """Nothing is overwritten, and no other ids are made up."""
    with pytest.raises(UsageError, match="not empty"):
        rebuild(world.workspace, world.home, run_id="r", now=world.now)
    (world.home / "allocations.jsonl").unlink()
    with pytest.raises(UsageError, match="no allocation log"):
        rebuild(world.workspace, world.root / "rebuilt", run_id="r", now=world.now)


def test_a_detached_corroboration_keeps_the_id_that_it_got(tmp_path: Path) -> None:
    """Though later memories follow, one corroborates it in its turn, and a session is new."""
    world = World(tmp_path)
    world.tenants(f'[tenants.ws]\nreview = "automatic"\n{PROVEN}')
    world.session("ws", "s1", row(1, subject="Inpatient", detail=FIRST), close(2))
    world.night()
    alike = row(1, subject="Inpatient", detail=ALIKE, source="CHAT", metadata={"sheet": "B7"})
    world.session("ws", "s2", alike, close(2))
    world.night()
    item = ItemRef("ws", "s2", 1)
    done = detach(world.workspace, item, by="anna", reason="", now=world.now)
    assert done.detached_as == "mem-0002"
    world.session("ws", "s3", row(1, subject="Inpatient", detail=ALIKE + "."), close(2))
    world.session("ws", "s4", row(1, subject="Churn", detail="left in 90 days"), close(2))
    world.night()
    before = _tables(world.workspace)
    assert before["corroborations"]["memory_id"].to_list() == ["mem-0002"]
    assert max(before["memories"]["memory_id"]) == "mem-0003"
    world.session("ws", "s0", row(1, subject="Readmission", detail="back in 30 days"), close(2))
    rebuilt, lost = _rebuilt(world)
    assert lost == 0
    after = _tables(rebuilt)
    new = pl.col("session_id") == "s0"
    assert after["memories"].filter(new)["memory_id"].to_list() == ["mem-0004"]
    assert_frame_equal(before["memories"], after["memories"].filter(~new).sort(pl.all()))
    assert_frame_equal(before["corroborations"], after["corroborations"])


def test_no_text_is_paid_for_again(
    hosted: Hosted, servers: tuple[EmbeddingServer, EmbeddingServer]
) -> None:
    """The vectors that were bought are taken along; the new home stands on its own."""
    hosted.memories(20)
    lines = (f"{k} = {json.dumps(v)}" for k, v in hosted.flags.items() if k.startswith("embedding"))
    (hosted.home / "settings.toml").write_text("\n".join(lines))
    hosted.night()
    servers[0].bodies.clear()
    rebuilt = rebuild(hosted.workspace, hosted.root / "new", run_id="rebuild", now=hosted.now)
    assert rebuilt.memories == 20
    assert servers[0].bodies == []
    shutil.rmtree(hosted.home)
    new = Workspace.load(home=str(hosted.root / "new"), ledgers=str(hosted.ledgers))
    current, _ = new.generations.current()
    assert [(s.space.model, s.rows, s.pending) for s in current.spaces] == [("first-model", 20, 0)]
