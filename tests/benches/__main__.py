"""All benches, one after the other, and what came of their goals.

``python -m tests.benches`` runs them; ``--only NAME`` chooses (again for more), ``--quick`` takes
small sizes, ``--list`` tells how long each takes. Sizes follow the environment variables of each
bench (``BENCH_SESSIONS``, ``BENCH_MEMORIES``, ``BENCH_MERGE_ROWS``, ...), which come before the
sizes here. Each bench runs in a process of its own, so that no cache or peak of memory is shared.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = ROOT / ".cache" / "bench"
"""Keeps the vectors of real texts, which take longer to make than everything else."""
MINILM: Final = "packaged:all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Bench:
    """One bench: how it is started, how long it takes, and where its ratios are in what it says."""

    name: str
    module: str
    minutes: float
    """On two quiet cores, everything cached; an estimate."""
    arguments: tuple[str, ...] = ()
    sizes: Mapping[str, str] = field(default_factory=dict)
    quick_arguments: tuple[str, ...] = ()
    quick_sizes: Mapping[str, str] = field(default_factory=dict)
    goals: tuple[tuple[str, str, str], ...] = ()
    """(what, goal such as ``<= 1.2``, pattern whose first group is the figure)."""


_MERGE: Final = {"BENCH_MERGE_EMBEDDING": MINILM, "BENCH_MERGE_CACHE": str(CACHE)}
_EMBEDDING_GOALS: Final = (
    ("times a plain encode(batch_size=32)", ">= 1.3", r"^ratio ([\d.]+)"),
    ("share of the float32 floor, %", ">= 70", r"float32 floor ([\d.]+)%"),
    ("largest change of a cosine", "<= 0.01", r"pair's cosine ([\d.e+-]+)"),
)
_P95: Final = r"(?s)100,000 memories:(?:(?! memories:).)*?hybrid, {} .*?p95 ratio ([\d.]+)"
BENCHES: Final = (
    Bench(
        "nightly",
        "bench_nightly",
        6,
        quick_sizes={"BENCH_SESSIONS": "2000"},
        goals=(
            ("strict parsing to json.loads", "<= 1.2", r"ratio ([\d.]+) \(goal <= 1.2"),
            ("second night to first, %", "<= 5", r"ratio ([\d.]+)% \(goal <= 5"),
        ),
    ),
    Bench(
        "search",
        "bench_search",
        4,
        quick_sizes={"BENCH_MEMORIES": "1000"},
        goals=(
            ("recall@10 of the index", ">= 0.98", r"vector index\s+([\d.]+) \(goal"),
            ("p95 to a bare query, 100,000, ADMIN", "<= 3", _P95.format("ADMIN")),
            ("p95 to a bare query, 100,000, ADVISOR", "<= 3", _P95.format("ADVISOR")),
        ),
    ),
    Bench(
        "year",
        "bench_year",
        8,
        quick_arguments=("--nights", "20"),
        goals=(("reads after a year to a fresh home", "<= 1.5", r" ms = ([\d.]+)$"),),
    ),
    Bench(
        "start",
        "bench_start",
        1,
        goals=(
            ("CPU s to load over dagster alone", "<= 3", r"over `import dagster`\s+([\d.]+)"),
            ("CPU s of --help", "<= 0.5", r"--help\s+([\d.]+)"),
            ("idle night over an empty job", "<= 1.5", r"empty job, ratio\s+([\d.]+)"),
        ),
    ),
    Bench(
        "merge",
        "bench_merge",
        4,
        sizes={**_MERGE, "BENCH_MERGE_ROWS": "10000,50000,100000"},
        quick_sizes={**_MERGE, "BENCH_MERGE_ROWS": "5000,10000"},
        goals=(
            ("exact to a bare GEMM", "<= 1.6", r"s \(\s*([\d.]+)\)\s+[\d,]+\s"),
            ("new x existing to a bare GEMM", "<= 1.6", r"CPU s, ([\d.]+) of a bare GEMM"),
            ("by cells to exact", "<= 1", r"[5-9]\d,\d{3}.*s \(\s*([\d.]+)\)\s+[\d.]+\s+\d+$"),
            ("recall by cells", ">= 0.99", r"s \(\s*[\d.]+\)\s+([\d.]+)\s+\d+$"),
        ),
    ),
    Bench(
        "embedding",
        "bench_embedding",
        13,
        quick_arguments=("--texts", "200", "--rounds", "1"),
        goals=_EMBEDDING_GOALS,
    ),
    Bench(
        "embedding-minilm",
        "bench_embedding",
        7,
        arguments=("--model", MINILM),
        quick_arguments=("--model", MINILM, "--texts", "200", "--rounds", "1"),
        goals=_EMBEDDING_GOALS,
    ),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One ratio with its goal; None when the bench did not print it."""

    bench: str
    what: str
    goal: str
    worst: float | None

    @property
    def met(self) -> bool:
        """Whether the worst value keeps the goal."""
        sign, limit = self.goal.split()
        if self.worst is None:
            return False
        return self.worst <= float(limit) if sign == "<=" else self.worst >= float(limit)


def main(arguments: Sequence[str]) -> int:
    """Runs the benches that were asked for; 1 when one of them could not end."""
    names = [b.name for b in BENCHES]
    parser = argparse.ArgumentParser(prog="python -m tests.benches", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, no proof")
    parser.add_argument("--list", action="store_true", help="names and minutes; runs nothing")
    asked = parser.parse_args(arguments)
    chosen = [b for b in BENCHES if not asked.only or b.name in asked.only]
    for bench in chosen if asked.list else ():
        print(f"{bench.name:18} about {bench.minutes:g} min")
    if asked.list:
        return 0
    whole = "three minutes" if asked.quick else f"{sum(b.minutes for b in chosen):g} min"
    print(f"{len(chosen)} benches, about {whole} with real vectors cached in {CACHE}", flush=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    figures: list[Figure] = []
    failed = []
    for number, bench in enumerate(chosen, 1):
        print(f"\n[{number}/{len(chosen)}] {bench.name}", flush=True)
        began = time.perf_counter()
        said, code = run(bench, quick=asked.quick)
        print(f"({time.perf_counter() - began:.0f} s)", flush=True)
        figures += read_figures(bench, said)
        failed += [bench.name] if code else []
    print("\n" + "\n".join(table(figures)))
    if failed:
        print(f"could not end: {', '.join(failed)}")
    return int(bool(failed))


def run(bench: Bench, *, quick: bool) -> tuple[str, int]:
    """What the bench said, which is shown as it comes, and its exit code."""
    sizes = bench.quick_sizes if quick else bench.sizes
    arguments = bench.quick_arguments if quick else bench.arguments
    command = [sys.executable, "-u", "-m", f"tests.benches.{bench.module}", *arguments]
    said = []
    with subprocess.Popen(
        command, cwd=ROOT, env={**sizes, **os.environ}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print("  " + line, end="", flush=True)
            said.append(line)
    return "".join(said), process.returncode


def read_figures(bench: Bench, said: str) -> Iterator[Figure]:
    """The bench's goals with the worst figure that it printed for each."""
    for what, goal, pattern in bench.goals:
        found = [float(x) for x in re.findall(pattern, said, re.MULTILINE)]
        worst = (max if goal.startswith("<=") else min)(found, default=None)
        yield Figure(bench.name, what, goal, worst)


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """The figures as lines."""
    yield f"{'bench':18} {'figure':38} {'worst':>9}  {'goal':8}"
    for f in figures:
        value = "-" if f.worst is None else f"{f.worst:g}"
        verdict = "not measured" if f.worst is None else "met" if f.met else "missed"
        yield f"{f.bench:18} {f.what:38} {value:>9}  {f.goal:8} {verdict}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
