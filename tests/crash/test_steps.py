"""Publication as a state machine: nights, wishes and growth in any order, a crash between any two.

The crash is an exception that nothing catches, at the same named places: what it leaves on disk is
what a kill leaves. The model knows nothing of files; it knows what must hold.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from memory_assets.domain.intents import Intent, Retire, Retract, Supersede
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage import failpoints
from memory_assets.storage.generations import GenerationStore
from memory_assets.storage.home import Home
from memory_assets.storage.intents import append_intents
from tests.crash import reader, worker
from tests.crash.torn import stamps, tear
from tests.crash.world import World, new_home

pytestmark = pytest.mark.crash
Key = tuple[str, str]
POINTS = [f for f in failpoints.FAILPOINTS if f != "publish.request-redacted"]
BY: dict[str, Any] = {
    "decided_by": "reviewer anna",
    "decided_at": datetime(2026, 3, 1, tzinfo=UTC),
}


class Crash(BaseException):
    """The end of a process."""


class Publication(RuleBasedStateMachine):
    """A home, and what must be true of it whatever happened."""

    @initialize()
    def begin(self) -> None:
        """An empty home and three sessions."""
        self.root = Path(tempfile.mkdtemp())
        self.home, self.ledgers = new_home(self.root / "home"), self.root / "ledgers"
        self.world = World(self.ledgers, seed=3)
        self.world.grow(3)
        self.random = Random(3)
        self.generation = 0
        self.contents: dict[Key, str] = {}
        self.replaced: dict[Key, str] = {}
        self.retired: set[Key] = set()
        self.wishes: list[Intent] = []

    @rule(sessions=st.integers(1, 2))
    def sessions_are_written(self, sessions: int) -> None:
        """Agents go on working."""
        self.world.grow(sessions)

    @precondition(lambda self: len(self.contents) > 1)
    @rule(data=st.data())
    def somebody_supersedes(self, data: st.DataObject) -> None:
        """Any two memories of a tenant: what the registry's state forbids must be refused."""
        old, new = (data.draw(st.sampled_from(sorted(self.contents))) for _ in "ab")
        if old[0] == new[0]:
            self._wish(Supersede(tenant_id=old[0], memory_id=old[1], superseded_by=new[1], **BY))

    @precondition(lambda self: self.replaced)
    @rule(data=st.data())
    def somebody_takes_it_back(self, data: st.DataObject) -> None:
        """A supersession in force is retracted."""
        key, by = data.draw(st.sampled_from(sorted(self.replaced.items())))
        self._wish(Retract(tenant_id=key[0], memory_id=key[1], superseded_by=by, **BY))

    @precondition(lambda self: self.contents)
    @rule(data=st.data())
    def somebody_retires(self, data: st.DataObject) -> None:
        """A memory is taken out of search."""
        key = data.draw(st.sampled_from(sorted(self.contents)))
        self._wish(Retire(tenant_id=key[0], memory_id=key[1], reason="withdrawn", **BY))

    @rule()
    def a_night_in_peace(self) -> None:
        """Publishes all there is; one more night finds nothing to do."""
        worker.night(str(self.home), str(self.ledgers))
        self._catch_up()
        assert not self.wishes
        again = worker.night(str(self.home), str(self.ledgers))
        assert (again["published"], again["markers"]) == (False, 0)

    @rule(point=st.sampled_from(POINTS), torn=st.booleans())
    def a_night_that_dies(self, point: str, torn: bool) -> None:
        """The process ends at a named place, perhaps by a loss of power; markers stay whole."""
        before, number = stamps(self.home), self.generation
        os.environ[failpoints.VARIABLE] = point
        kept, failpoints._end = failpoints._end, _crash
        try:
            worker.night(str(self.home), str(self.ledgers))
        except Crash:
            pass
        finally:
            failpoints._end = kept
            del os.environ[failpoints.VARIABLE]
        self._catch_up()
        if torn and self.generation == number:
            tear(self.home, before, self.random)

    @invariant()
    def a_reader_sees_one_whole_generation(self) -> None:
        """Registry and index agree, nothing is there twice, no generation comes back."""
        number, problems = reader.look(self.home, self.ledgers)
        assert problems == []
        assert number == self.generation

    def teardown(self) -> None:
        """The last night converges with a home that was never disturbed."""
        if not hasattr(self, "root"):
            return
        self.a_night_in_peace()
        calm = self.root / "calm"
        ignore = shutil.ignore_patterns("*.markers.jsonl")
        shutil.copytree(self.ledgers, calm / "ledgers", ignore=ignore)
        worker.night(str(new_home(calm / "home")), str(calm / "ledgers"))
        here, there = (self._view(h).settled_keys() for h in (self.home, calm / "home"))
        keys = ["tenant_id", "session_id", "decision_seq", "fact_no"]
        assert here.select(keys).sort(keys).equals(there.select(keys).sort(keys))
        shutil.rmtree(self.root)

    def _wish(self, intent: Intent) -> None:
        append_intents(Home(self.home), [intent])
        self.wishes.append(intent)

    def _view(self, home: Path) -> RegistryView:
        return RegistryView.of(GenerationStore(Home(home)).snapshot())

    def _catch_up(self) -> None:
        """Moves the model on if a generation was published, and compares."""
        view = self._view(self.home)
        if view.generation == self.generation:
            return
        assert view.generation == self.generation + 1
        self.generation = view.generation
        for wish in self.wishes:
            self._grant(wish)
        self.wishes = []
        assert view.replaced() == self.replaced
        assert set(view.retirements.select("tenant_id", "memory_id").rows()) == self.retired
        rows = view.memories.select("tenant_id", "memory_id", "content_sha256").rows()
        contents = {(t, m): sha for t, m, sha in rows}
        assert self.contents.items() <= contents.items()
        self.contents = contents

    def _grant(self, wish: Intent) -> None:
        gone = self.retired | self.replaced.keys()
        match wish:
            case Retire(tenant_id=t, memory_id=m):
                self.retired.add((t, m))
            case Supersede(tenant_id=t, memory_id=m, superseded_by=by):
                if m != by and (t, m) not in gone and (t, by) not in gone:
                    self.replaced[t, m] = by
            case Retract(tenant_id=t, memory_id=m, superseded_by=by):
                if self.replaced.get((t, m)) == by:
                    del self.replaced[t, m]


def _crash(name: str) -> None:
    raise Crash(name)


TestPublication = Publication.TestCase
TestPublication.settings = settings(max_examples=6, stateful_step_count=10, deadline=None)
