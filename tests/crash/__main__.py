"""``make crash``: publications are killed hundreds of times, and nothing may be lost or doubled.

Real processes on the real stack. A reader looks at the home all the while. In the end one night
runs in peace, and must give what nights give that nobody disturbed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from random import Random

import polars as pl
from rich.progress import track

from memory_assets.domain.intents import Remove
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.failpoints import FAILPOINTS
from memory_assets.storage.generations import GenerationStore
from memory_assets.storage.home import Home
from memory_assets.storage.intents import append_intents
from tests.crash.forking import Forker, Outcome
from tests.crash.torn import stamps, tear
from tests.crash.worker import NOW
from tests.crash.world import World, new_home

REMOVALS_ONLY = "publish.request-redacted"
_TRIES = 5
POINTS = tuple(f for f in FAILPOINTS if f != REMOVALS_ONLY)


class Ordeal:
    """One home that is killed again and again."""

    def __init__(self, root: Path, forker: Forker, seed: int) -> None:
        self.root = root
        self.forker = forker
        self.random = Random(seed)
        self.home = new_home(root / "home")
        self.ledgers = root / "ledgers"
        self.world = World(self.ledgers, seed=seed)
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self._typical = 0.6

    def night(self, **kill: float | int | str) -> Outcome:
        """One night, perhaps killed; what it said of itself is judged."""
        outcome = self.forker.run(
            ["night", str(self.home), str(self.ledgers)],
            **kill,  # type: ignore[arg-type]
        )
        if outcome.killed:
            self.counts["killed"] += 1
        elif outcome.exit_code:
            self.problems.append(f"a night ended with {outcome.results}")
        else:
            self.counts["ended well"] += 1
            self.counts["published"] += bool(outcome.results[0]["published"])
            self._typical = 0.8 * self._typical + 0.2 * outcome.seconds
        return outcome

    def kill_at_random(self) -> str:
        """Kills one night after a random time, or at a random file operation; which of the two."""
        self.world.grow(self.random.randint(0, 2))
        before = stamps(self.home)
        current = self._current()
        if self.random.random() < 0.5:
            how = "by the clock"
            outcome = self.night(kill_after=self.random.uniform(0.01, 1.2) * self._typical)
        else:
            how = "at a file operation"
            outcome = self.night(kill_at_call=self.random.randint(1, 140))
        if outcome.killed and self._current() == current and self.random.random() < 0.3:
            self.counts["files torn"] += tear(self.home, before, self.random)
        return how if outcome.killed else "ended first"

    def kill_at(self, failpoint: str) -> bool:
        """Kills one night at a named place; whether it came there."""
        self.world.grow(2)
        return self.night(failpoint=failpoint).killed

    def kill_a_removal(self) -> bool:
        """Asks for the oldest memory to be removed, and kills the night that does it at the end.

        What was asked for is done by the next night, whoever it was that died.
        """
        view = _registry(self.home)
        tenant, memory = view.active().select("tenant_id", "memory_id").row(0)
        wish = Remove(
            tenant_id=tenant,
            memory_ids=(memory,),
            removal="erasure",
            decided_by="reviewer anna",
            decided_at=datetime.fromisoformat(NOW),
        )
        append_intents(Home(self.home), [wish])
        killed = self.night(failpoint=REMOVALS_ONLY).killed
        self.night()
        row = _registry(self.home).memories.filter(tenant_id=tenant, memory_id=memory)
        if row.height:
            self.problems.append(f"{tenant}/{memory} was to be removed and is still there")
        return killed

    def _current(self) -> bytes:
        path = Home(self.home).current
        return path.read_bytes() if path.exists() else b""

    def converge(self) -> None:
        """The last night, left in peace, compared with a home that nobody ever disturbed."""
        last = self.night()
        again = self.night()
        if again.exit_code == 0 and again.results[0]["published"]:
            self.problems.append("one more night published again")
        calm = self.root / "calm"
        shutil.copytree(
            self.ledgers, calm / "ledgers", ignore=shutil.ignore_patterns("*.markers.jsonl")
        )
        new_home(calm / "home")
        self.forker.run(["night", str(calm / "home"), str(calm / "ledgers")])
        self._compare(calm / "home")
        if last.exit_code:
            self.problems.append("the last night failed")

    def _compare(self, calm: Path) -> None:
        here, there = _registry(self.home), _registry(calm)
        self.counts["memories"] = here.memories.height
        self.counts["corroborations"] = here.corroborations.height
        if not _keys(here).equals(_keys(there)):
            self.problems.append("the settled decisions differ from an undisturbed run's")
        if _classes(here) != _classes(there):
            self.problems.append("the duplicate classes differ from an undisturbed run's")


def _registry(home: Path) -> RegistryView:
    return RegistryView.of(GenerationStore(Home(home)).snapshot())


def _keys(view: RegistryView) -> pl.DataFrame:
    return view.settled_keys().select(PROMOTION_KEY).sort(PROMOTION_KEY)


def _classes(view: RegistryView) -> set[frozenset[tuple[object, ...]]]:
    """Which decisions share a memory, whatever its id is."""
    grouped = (
        view.settled_keys()
        .group_by("tenant_id", "memory_id")
        .agg(pl.struct(PROMOTION_KEY).alias("keys"))
    )
    return {frozenset(tuple(k.values()) for k in keys) for keys in grouped["keys"].to_list()}


def _shown(work: Iterable[int], what: str) -> Iterator[int]:
    yield from track(work, description=what, transient=True, disable=not sys.stdout.isatty())


def main(arguments: list[str]) -> int:
    """Exit code 0 when nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="kills at random places")
    parser.add_argument("--at-failpoints", type=int, default=20, help="kills at each named place")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="about a minute: 40 and 2")
    options = parser.parse_args(arguments)
    kills, per_point = (40, 2) if options.quick else (options.kills, options.at_failpoints)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Forker() as forker:
        ordeal = Ordeal(Path(folder), forker, options.seed)
        report = _watched(ordeal, kills, per_point)
    seconds = time.perf_counter() - began
    return _tell(ordeal, report, seconds)


def _watched(ordeal: Ordeal, kills: int, per_point: int) -> dict[str, object]:
    stop, found = ordeal.root / "stop", ordeal.root / "reader.json"
    ordeal.world.grow(3)
    ordeal.forker.run(
        ["watch", str(ordeal.home), str(ordeal.ledgers), str(stop), str(found)], background=True
    )
    how: Counter[str] = Counter()
    while how.total() - how["ended first"] < kills:
        for _ in _shown(range(kills - (how.total() - how["ended first"])), "random kills"):
            how[ordeal.kill_at_random()] += 1
    ordeal.counts.update(how)
    for point in POINTS:
        hits = 0
        for _ in _shown(range(per_point), point):
            # A night in which nothing is due, all being withdrawn or known, comes by fewer places.
            hits += any(ordeal.kill_at(point) for _ in range(_TRIES))
        if hits < per_point:
            ordeal.problems.append(f"{point} was reached {hits} times, not {per_point}")
        ordeal.counts["killed at named places"] += hits
    ordeal.converge()
    # Last, since an undisturbed run knows nothing of what was removed.
    hits = sum(ordeal.kill_a_removal() for _ in _shown(range(per_point), REMOVALS_ONLY))
    if hits < per_point:
        ordeal.problems.append(f"{REMOVALS_ONLY} was reached {hits} times, not {per_point}")
    ordeal.counts["killed at named places"] += hits
    stop.touch()
    while not found.exists():
        time.sleep(0.05)
    report: dict[str, object] = json.loads(found.read_text())
    return report


def _tell(ordeal: Ordeal, report: dict[str, object], seconds: float) -> int:
    seen = report["problems"]
    assert isinstance(seen, list)
    problems = [*ordeal.problems, *(f"reader: {p}" for p in seen)]
    for name, count in sorted(ordeal.counts.items()):
        print(f"{name:>24} {count}", flush=True)
    print(f"{'looks of the reader':>24} {report['looks']}")
    print(f"{'seconds':>24} {seconds:.0f}")
    for problem in problems[:20]:
        print(f"WRONG: {problem}")
    print(
        "verdict: " + ("something was lost, doubled or mixed" if problems else "nothing is wrong")
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
