"""A year of nights against a registry written in one go: does reading get slower?

``python -m tests.benches.bench_year [--nights 365] [--new 5]`` publishes so many nights, each with
so many new memories, then publishes the same ledgers in one night into a fresh home, and prints how
long each takes to open the registry and to search it, as ratios.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from rich.progress import track

from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.nightly.night import run_night
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.search.types import SearchRequest
from tests.building import close, row, write_session

START = datetime(2026, 1, 1, 3, 30, tzinfo=UTC)
SETTINGS = "embedding = 'hashed:384'\n"
TENANTS = "[tenants.bank]\nreview = 'automatic'\nlanguage = 'en'\n"
ROUNDS = 25


def new_workspace(root: Path, ledgers: Path) -> Workspace:
    """A fresh home on these ledgers."""
    root.mkdir()
    (root / "settings.toml").write_text(SETTINGS)
    (root / "tenants.toml").write_text(TENANTS)
    return Workspace.load(home=str(root), ledgers=str(ledgers))


def add_session(ledgers: Path, night: int, new: int) -> None:
    """One finished session with so many concepts."""
    rows = [
        row(n, subject=f"measure {night} {n}", detail=f"sum of column_{night}_{n} by month")
        for n in range(1, new + 1)
    ]
    write_session(ledgers, "bank", f"s{night:05d}", [*rows, close(new + 1)])


def reads(workspace: Workspace, now: datetime) -> dict[str, Callable[[], object]]:
    """Opening the registry, searching with all opened anew, and searching once more."""

    def search(opened: Workspace, query: str) -> object:
        return opened.search(SearchRequest(query, Principal.local("bank"), now))

    return {
        "open registry": workspace.registry,
        "first search": lambda: search(Workspace(workspace.settings), "measure 7 sum"),
        "next search": lambda: search(workspace, "measure 3 column month"),
    }


def timed(*works: Callable[[], object]) -> list[float]:
    """Median milliseconds of each; they take turns, after one round to warm up."""
    spent: list[list[float]] = [[] for _ in works]
    for number in range(ROUNDS + 1):
        for work, times in zip(works, spent, strict=True):
            began = time.perf_counter()
            work()
            if number:
                times.append(time.perf_counter() - began)
    return [1000 * median(times) for times in spent]


def main(arguments: list[str]) -> int:
    """Exit code 0 when no read is more than 1.5 times slower after the year."""
    parser = argparse.ArgumentParser(prog="python -m tests.benches.bench_year", description=__doc__)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--new", type=int, default=5, help="new memories per night")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        year = new_workspace(root / "year", root / "ledgers")
        seconds = []
        for night in track(range(options.nights), "nights", disable=not sys.stdout.isatty()):
            add_session(root / "ledgers", night, options.new)
            began = time.perf_counter()
            run_night(year, now=START + timedelta(days=night), run_id=f"night-{night}")
            seconds.append(time.perf_counter() - began)
        end = START + timedelta(days=options.nights)
        fresh = new_workspace(root / "fresh", root / "ledgers")
        run_night(fresh, now=end, run_id="all")
        return _report(year, fresh, end, seconds)


def _report(year: Workspace, fresh: Workspace, end: datetime, seconds: list[float]) -> int:
    current = year.generations.current()[0]
    tenth = max(1, len(seconds) // 10)
    print(f"{len(seconds)} nights, {current.counts['active']} memories")
    print(f"parts: {sum(len(p) for p in current.tables.values())}")
    size = sum(p.stat().st_size for p in year.home.root.rglob("*") if p.is_file())
    base = sum(p.stat().st_size for p in fresh.home.root.rglob("*") if p.is_file())
    print(f"disk: {size / 1e6:.1f} MB, {size / base:.2f} times the fresh home")
    print(
        f"a night: {median(seconds[:tenth]):.2f} s in the first tenth, "
        f"{median(seconds[-tenth:]):.2f} s in the last"
    )
    worst = 0.0
    of_fresh, of_year = reads(fresh, end), reads(year, end)
    for name in of_year:
        before, after = timed(of_fresh[name], of_year[name])
        worst = max(worst, after / before)
        print(f"{name:>14}: {after:6.1f} ms against {before:6.1f} ms = {after / before:.2f}")
    print("goal 1.5: " + ("met" if worst <= 1.5 else "missed"))
    return 0 if worst <= 1.5 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
