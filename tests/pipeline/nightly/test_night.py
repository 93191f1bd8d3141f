"""One whole night, and what its report says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_assets.pipeline.nightly.night import NightReport
from tests.building import close, note, row
from tests.nights import World

STABLE = (
    "sessions",
    "events",
    "quarantined",
    "effective",
    "candidates",
    "promoted",
    "memories",
    "embedded",
    "generation",
    "seconds",
)


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """A marked clarification, one that waits, a session with a refused line, an open one."""
    world = World(tmp_path)
    world.session(
        "clinic",
        "done",
        row(1),
        row(2),
        row(3, "table_promoted", subject="visits"),
        note(4, "memory_promoted", "seq:1"),
        close(5),
    )
    world.session("clinic", "open", row(1, subject="later", detail="not yet"))
    world.session("clinic", "bad", row(1, subject="torn", detail="apart"), b"{]", close(3))
    return world


def test_the_report_counts_the_way_from_ledgers_to_index(world: World) -> None:
    """Sessions, events, effective decisions, candidates and memories add up."""
    found = world.night().to_dict()
    assert list(found)[: len(STABLE)] == list(STABLE)
    assert (found["sessions"], found["events"], found["quarantined"]) == (3, 8, 1)
    assert (found["effective"], found["effective_clarifications"]) == (5, 4)
    assert (found["candidates"], found["waiting_by_tenant"]) == (2, {"clinic": 2})
    assert (found["promoted"], found["memories"], found["embedded"]) == (1, 1, 1)
    assert found["generation"] == 1
    assert found["seconds"] == pytest.approx(sum(found["steps"].values()), abs=0.01)


def test_what_was_left_out_has_a_reason(world: World) -> None:
    """Reason codes with counts and words, and the refused line with its place."""
    found = world.night().to_dict()
    assert [(d["code"], d["count"]) for d in found["dropped"]] == [("open", 1)]
    assert found["dropped"][0]["reason"] == "the session is not finished yet"
    (line,) = found["quarantine"]
    assert (line["place"], line["code"]) == ("clinic/bad.jsonl:2", "not-json")


def test_a_night_without_changes_publishes_nothing(world: World) -> None:
    """The second report stands on the same generation and embeds nothing."""
    world.night()
    again = world.night()
    assert not again.publish.published
    found = again.to_dict()
    assert (found["generation"], found["promoted"], found["embedded"]) == (1, 0, 0)
    assert (found["memories"], found["sessions_read"]) == (1, 0)


def test_automatic_promotions_were_candidates_tonight(world: World) -> None:
    """What the policy promotes was offered first, so the funnel never grows on its way down."""
    world.tenants('[tenants.clinic]\nreview = "automatic"\n')
    found = world.night().to_dict()
    assert (found["candidates"], found["waiting"], found["promoted"]) == (2, 1, 2)


def test_a_report_can_be_made_of_stages_that_ran_elsewhere(world: World) -> None:
    """From the four results and the seconds of their steps, whoever ran them."""
    whole = world.night()
    seconds = {"ingest": 1.0, "decide": 0.5, "publish": 2.0, "markers": 0.25, "all": 9.0}
    made = NightReport.from_parts(
        whole.ingest, whole.decide, whole.publish, whole.markers, seconds
    ).located(world.workspace)
    assert made.seconds == 9.0
    assert made.steps == {"ingest": 1.0, "decide": 0.5, "publish": 2.0, "markers": 0.25}
    assert made.refused == whole.refused
    assert made.to_dict()["paths"]["home"] == str(world.home)


def test_progress_is_told_stage_by_stage(world: World) -> None:
    """Whoever watches hears of reading and embedding, each up to its end."""
    from memory_assets.pipeline.nightly.night import run_night

    heard: list[tuple[str, int, int]] = []
    run_night(world.workspace, now=world.now, run_id="r", progress=lambda *told: heard.append(told))
    assert ("reading ledgers", 3, 3) in heard
    assert ("embedding memories", 1, 1) in heard


def test_a_night_without_news_does_not_load_what_only_writing_needs(world: World) -> None:
    """LanceDB takes longer to load than everything that such a night does."""
    world.night()
    world.night()
    flags = {f"MEMORY_ASSETS_{name.upper()}": str(v) for name, v in world.flags.items() if v}
    code = (
        "import sys; from datetime import UTC, datetime\n"
        "from memory_assets.pipeline.nightly.night import run_night\n"
        "from memory_assets.pipeline.workspace import Workspace\n"
        "night = run_night(Workspace.load(), now=datetime.now(UTC), run_id='idle')\n"
        "print(night.publish.published, 'lance' in sys.modules, 'lancedb' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **flags},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["False", "True", "False"]
