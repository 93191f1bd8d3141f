"""The night as the command tells it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from memory_assets.cli.output import console
from memory_assets.cli.story import dry_run_story, night_story
from memory_assets.domain.intents import Retire
from memory_assets.pipeline.health.preflight import REGISTERED, preflight
from memory_assets.pipeline.nightly.dry_run import rehearse
from memory_assets.storage.intents import append_intents
from tests.building import close, note, row
from tests.chat_server import chat_server
from tests.cli.conftest import Cli
from tests.embedding_server import EmbeddingServer
from tests.nights import NOW, World, tree
from tests.providers import FIRST, down, hosted_world


def _printed(tell: object) -> str:
    out = console()
    with out.capture() as captured:
        tell(out)  # type: ignore[operator]
    return captured.get()


def test_a_night_is_told_as_a_story(tmp_path: Path) -> None:
    """From sessions to memories, what was left out and why, where things are, what is next."""
    world = World(tmp_path)
    world.session("clinic", "s", row(1), row(2), note(3, "memory_promoted", "seq:1"), close(4))
    world.session("clinic", "bad", row(1, subject="x", detail="y"), b"{]", close(3))
    world.session("clinic", "open", row(1, subject="z", detail="y"))
    report = world.night()
    said = _printed(lambda out: night_story(out, report, now=world.now))
    assert "generation 1 published" in said
    places = [said.index(word) for word in ("sessions", "events", "candidates", "memories", "Next")]
    assert places == sorted(places)
    assert "clinic/bad.jsonl:2  not-json" in said
    assert "the session is not finished yet" in said
    assert "2 candidate(s) of clinic wait for a reviewer: memory-assets review list" in said
    assert str(world.ledgers) in "".join(said.split())
    for step in report.steps:
        assert step in said


def test_what_a_later_night_counts_and_asks_for_is_named(tmp_path: Path) -> None:
    """A published decision was withdrawn: its proposal waits, and our own rows are told apart."""
    world = World(tmp_path)
    world.session("clinic", "done", row(1), note(2, "memory_promoted", "seq:1"), close(3))
    world.session("clinic", "kept", row(1, subject="Kept", detail="y"), close(2))
    world.night()
    world.review("clinic", "kept", 1, "accept")
    world.night()
    world.session(
        "clinic",
        "done",
        row(1),
        note(2, "memory_promoted", "seq:1"),
        close(3),
        note(4, "decision_withdrawn", "seq:1"),
        close(5),
    )
    report = world.night()
    said = " ".join(_printed(lambda out: night_story(out, report, now=world.now)).split())
    assert "8 events 2 new; 1 in companion files; 0 lines in quarantine" in said
    assert (
        "1 proposal(s) about published memories of clinic wait for a reviewer: "
        "memory-assets review list --tenant clinic" in said
    )
    found = report.to_dict()
    assert (found["waiting"], found["proposals"]) == (0, 1)
    assert found["proposals_by_tenant"] == {"clinic": 1}


def test_a_night_that_only_changes_earlier_memories_says_so(tmp_path: Path) -> None:
    """What was retired is counted, with the command that shows it; what could not be is named."""
    world = World(tmp_path)
    world.session("clinic", "s", row(1), note(2, "memory_promoted", "seq:1"), close(3))
    world.night()
    said_by = {"tenant_id": "clinic", "decided_by": "reviewer anna", "reason": "old"}
    asked = [Retire(memory_id=f"mem-000{n}", decided_at=world.now, **said_by) for n in (1, 9)]
    append_intents(world.workspace.home, asked)
    report = world.night()
    said = " ".join(_printed(lambda out: night_story(out, report, now=world.now)).split())
    assert "1 changed (merged, retired, ...): `memory-assets diff 1 2`" in said
    assert "change 2 (retire) was not applied: " in said


def test_a_model_that_did_not_do_its_work_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for a vector, until when, and whose fault that is."""
    with closing(EmbeddingServer()) as server, closing(EmbeddingServer()) as other:
        world = hosted_world(tmp_path, (server, other), monkeypatch)
        world.memories(2)
        world.night()
        world.memories(3, first=100)
        server.script = down
        report = world.night()
        said = " ".join(_printed(lambda out: night_story(out, report, now=world.now)).split())
    assert "3 memories are not searchable by vector until the next night" in said
    assert f"{FIRST}: provider-unavailable: what it did not embed waits for the next night" in said


def test_a_long_quarantine_is_cut_short(tmp_path: Path) -> None:
    """Thirty refused lines: the first twenty, and the command for all of them."""
    world = World(tmp_path)
    world.session("clinic", "s", *([b"{]"] * 30), row(1))
    said = _printed(lambda out: night_story(out, world.night(), now=world.now))
    assert said.count("not-json:") == 20
    assert "memory-assets quarantine list" in said


def test_a_dry_run_is_told_as_one(tmp_path: Path) -> None:
    """What would be promoted, wait and be left out; and that nothing was written."""
    world = World(tmp_path)
    world.session(
        "clinic",
        "s",
        row(1, subject="Kept", detail="x"),
        row(2, subject="dim_time", detail="x"),
        row(3, subject="Waits", detail="x"),
        note(4, "memory_promoted", "seq:1"),
        close(5),
    )
    said = _printed(lambda out: dry_run_story(out, rehearse(world.workspace, now=world.now)))
    assert said.startswith("Dry run: nothing was written.")
    for heading in ("Would be promoted (1)", "Would wait for a reviewer (1)", "left out (1)"):
        assert heading in said
    assert "mem-0001" in said


def test_the_command_rehearses(fresh: Cli) -> None:
    """``nightly --dry-run`` leaves the tree as it was."""
    before = tree(fresh.home)
    done = fresh("nightly", "--dry-run")
    assert done.code == 0
    assert "Dry run: nothing was written." in done.out
    assert tree(fresh.home) == before


def test_no_ledgers_is_said_before_a_home_is_made(tmp_path: Path) -> None:
    """The error names the option and the variable, and nothing was created."""
    home = tmp_path / "home"
    nowhere = Cli(home, tmp_path / "nowhere")
    assert nowhere("nightly", "--dry-run", "--json").json()["error"] == "usage"
    unnamed = nowhere.process("nightly", "--json", MEMORY_ASSETS_LEDGERS="")
    assert unnamed.code == 2
    assert unnamed.json()["error"] == "settings-invalid"
    assert "--ledgers" in unnamed.json()["remedy"]
    assert not home.exists()


def test_what_was_kept_from_becoming_memory_needs_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped tenants, events without an answer and refused answers; one switched off does not."""
    world = World(tmp_path)
    world.tenants(
        '[tenants.ws]\nextractor = "openai:m"\n[tenants.off]\nenabled = false\n'
        '[tenants.az]\nembedding = ["voyage:x"]\n'
    )
    said = {"source": "CHAT"}
    world.session("ws", "bad", row(1, "memory_event", detail="No JSON.", **said), close(2))
    world.session("ws", "slow", row(1, "memory_event", detail="Too long.", **said), close(2))
    world.session("off", "s", row(1), close(2))
    world.session("az", "s", row(1), close(2))
    preflight(world.workspace, lambda: sorted(REGISTERED), now=world.now)
    with chat_server(lambda text: 400 if text == "Too long." else "no") as server:
        monkeypatch.setenv("MEMORY_ASSETS_EXTRACTOR_URL", server.url)
        world.__dict__.pop("workspace", None)
        report = world.night()
    said_all = " ".join(_printed(lambda out: night_story(out, report, now=world.now)).split())
    for part in (
        "1 free-text event(s) wait for a model's answer: m: openai:m answered 400",
        "1 answer(s) of a model are in quarantine: memory-assets facts refused",
        "az: stopped by check 3 (provider): hashed:64 may not see the texts of 'az'",
        "1 more of tenants that are switched off",
    ):
        assert part in said_all
    assert "not in tenants.toml" not in said_all
    again = _printed(lambda out: night_story(out, world.night().located(world.workspace), now=NOW))
    assert "stands: nothing new, and the pre-flight check stopped az" in " ".join(again.split())
    assert report.to_dict()["stopped_tenants"]["az"]["number"] == 3


def test_a_night_that_stopped_a_tenant_does_not_pass_for_a_good_one(tmp_path: Path) -> None:
    """Whoever runs it from cron hears of it; the other tenant's candidates wait."""
    world = World(tmp_path)
    world.tenants('[tenants.ws]\n[tenants.az]\nembedding = ["voyage:x"]\n')
    world.session("ws", "s", row(1), close(2))
    world.session("az", "s", row(1), close(2))
    world.session("stranger", "s", row(1), close(2))
    cli = Cli(world.home, world.ledgers)
    night = cli.process("nightly", "--json")
    assert night.code == 1
    found = night.json()
    assert found["stopped_tenants"]["az"]["name"] == "provider"
    assert found["waiting_by_tenant"] == {"ws": 1}
    world.tenants("[tenants.ws]\n[tenants.az]\n")
    assert cli.process("nightly", "--json").code == 0
