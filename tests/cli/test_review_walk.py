"""``review`` as a walk while other people and the night are at work, and when the line breaks."""

from __future__ import annotations

import io
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from memory_assets.cli.review_walk import Outcome, Walk
from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.review.decide import ReviewDesk, Verdict
from memory_assets.pipeline.review.state import QueueFilter, ReviewState
from memory_assets.steps.review.items import ItemRef
from tests.building import close, row
from tests.nights import World

ON_A_TERMINAL = """
import pty, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
pty.spawn(sys.argv[1:])
"""
Step = str | Callable[[], object]


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Three candidates that wait."""
    world = World(tmp_path)
    world.session("clinic", "s1", row(1), row(2), row(3), close(4))
    world.night()
    return world


def _walk(world: World, *steps: Step) -> tuple[Outcome, str]:
    """What a walk came to and printed; between its keys, other things happen."""

    def keys() -> Iterator[str]:
        for step in steps:
            if isinstance(step, str):
                yield from step
            else:
                step()

    state = ReviewState(world.workspace, now=world.now)
    items = list(state.queue(Principal.local("clinic"), QueueFilter("clinic")).items)
    out = io.StringIO()
    console = Console(file=out, width=200)
    walk = Walk(world.workspace, "anna", items, console, keys(), clock=lambda: world.now)
    return walk.go(), out.getvalue()


def _verdicts(world: World) -> list[str]:
    return [line.verdict for _, line in world.workspace.review_log().lines()]


def test_a_published_verdict_is_not_taken_back(world: World) -> None:
    """The night published it meanwhile: undo says so, and the count stays."""
    done, said = _walk(world, "a", world.night, "u")
    assert "Not taken back: it is mem-0001 already." in said
    assert "Taken back." not in said
    assert done.to_dict()["verdicts"] == {"accept": 1}


def test_somebody_elses_verdict_is_not_replaced_unseen(world: World) -> None:
    """Another reviewer declined what this walk still shows as waiting."""
    other = ReviewDesk(world.workspace, "luca", now=world.now)
    item = [ItemRef("clinic", "s1", 1)]
    done, said = _walk(world, lambda: other.decide(item, Verdict("decline")), "a")
    assert "luca declined it" in said
    assert (done.refused, _verdicts(world)) == (1, ["decline"])


@pytest.mark.parametrize("key", ["e", "m"])
def test_the_end_of_input_says_nothing(
    world: World, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that breaks at a question accepts nothing."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    done, said = _walk(world, key)
    assert "Nothing was said." in said
    assert (done.to_dict()["verdicts"], done.left, _verdicts(world)) == ({}, 3, [])


def test_control_c_at_a_question_ends_the_walk(world: World) -> None:
    """At once, told, and with nothing said; on a terminal, as whoever presses it has one."""
    command = [sys.executable, "-m", "memory_assets", "review", "--reviewer", "anna"]
    command += ["--home", str(world.home), "--ledgers", str(world.ledgers)]
    with subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            shown = child.stdout.fileno()
            assert _is_said(shown, "[q]uit ?", seconds=90)
            for key, answer in ((b"e", "Subject ["), (b"\x03", "Interrupted.")):
                # A terminal drops what was typed just before it waits for a single key.
                tries = (child.stdin.write(key) and _is_said(shown, answer) for _ in range(30))
                assert any(tries), answer
        finally:
            child.kill()
    assert _verdicts(world) == []


def _is_said(source: int, words: str, *, seconds: float = 3) -> bool:
    """Reads until this was said, or it is too late."""
    shown, end = "", time.monotonic() + seconds
    while words not in shown:
        if not select.select([source], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        read = os.read(source, 65_536)
        if not read:
            return False
        shown += read.decode("utf-8", "replace")
    return True


def test_what_was_passed_over_is_left(world: World) -> None:
    """``n`` says nothing, so the item is still among those that are left."""
    done, _ = _walk(world, "nan")
    assert (done.to_dict()["verdicts"], done.left) == ({"accept": 1}, 2)
