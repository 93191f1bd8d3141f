"""Parsing against ``json.loads``; the second night against the first; throughput and memory."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from memory_assets.domain.parsing import parse_ledger
from tests.benches.generate import grow, write_ledgers

SESSIONS = int(os.environ.get("BENCH_SESSIONS", "20000"))
EMBEDDING = os.environ.get("BENCH_EMBEDDING", "hashed:256")


def run() -> None:
    """Prints both benchmarks."""
    with tempfile.TemporaryDirectory() as folder:
        ledgers = Path(folder) / "ledgers"
        write_ledgers(ledgers, SESSIONS)
        parsing(ledgers)
        nights(ledgers, Path(folder))


def parsing(ledgers: Path) -> None:
    """Strict parsing with all checks against a bare loop that keeps its rows; alternating."""
    files = [(p.parent.name, p.stem, p.read_bytes()) for p in sorted(ledgers.glob("*/*.jsonl"))]
    files = files[:5000]
    rows = sum(data.count(b"\n") for _, _, data in files)
    bare, strict = [], []
    for _ in range(5):
        began = time.process_time()
        kept = [[json.loads(x) for x in data.split(b"\n") if x] for _, _, data in files]
        bare.append(time.process_time() - began)
        assert sum(map(len, kept)) == rows
        del kept
        began = time.process_time()
        parsed = [parse_ledger(data, tenant_id=t, session_id=s) for t, s, data in files]
        strict.append(time.process_time() - began)
        assert sum(len(p.events) for p in parsed) == rows
        del parsed
    ratios = [a / b for a, b in zip(strict, bare, strict=True)]
    print(
        f"parsing {rows:,} rows: json.loads {statistics.median(bare) / rows * 1e6:.2f} us/row, "
        f"strict {statistics.median(strict) / rows * 1e6:.2f} us/row, "
        f"ratio {statistics.median(ratios):.2f} (goal <= 1.2)"
    )


def nights(ledgers: Path, folder: Path) -> None:
    """The second night, 1 % of the sessions changed, against the first; cache warm in both."""
    home, cached = folder / "home", folder / "warm"
    _night(ledgers, cached)  # fills the vector cache
    for companion in ledgers.glob("*/*.markers.jsonl"):
        companion.unlink()
    (home / "cache").mkdir(parents=True)
    shutil.copytree(cached / "cache", home / "cache", dirs_exist_ok=True)
    shutil.rmtree(cached)
    first = _night(ledgers, home)
    grown = grow(ledgers, 100, sessions=SESSIONS)
    second = _night(ledgers, home)
    third = _night(ledgers, home)
    print(
        f"first night: {first['sessions']:,} sessions, {first['memories']:,} memories in "
        f"{first['all']:.1f} s = {first['memories'] / first['all']:.0f} memories/s; "
        f"peak memory {first['peak_mb']:.0f} MB"
    )
    print(
        f"second night, {grown} sessions grown: {second['all']:.2f} s, "
        f"ratio {second['all'] / first['all']:.1%} (goal <= 5 %); peak {second['peak_mb']:.0f} MB"
    )
    print(f"third night, nothing new: {third['all']:.2f} s, {third['all'] / first['all']:.1%}")
    print("  first  " + _steps(first))
    print("  second " + _steps(second))


def _steps(figures: dict[str, float]) -> str:
    steps = {k: v for k, v in figures.items() if k.startswith("s_")}
    return ", ".join(f"{k[2:]} {v:.2f}" for k, v in steps.items())


def _night(ledgers: Path, home: Path) -> dict[str, float]:
    """One night in a process of its own: what the pipeline takes, imports left out."""
    command = [sys.executable, "-m", "tests.benches.bench_nightly", str(ledgers), str(home)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _child(ledgers: str, home: str) -> None:
    from datetime import UTC, datetime

    import duckdb  # noqa: F401
    import lance  # noqa: F401
    import lancedb  # noqa: F401  imports are not what is compared

    from memory_assets.pipeline.workspace import Workspace

    os.environ["MEMORY_ASSETS_EMBEDDING"] = EMBEDDING
    workspace = Workspace.load(home=home, ledgers=ledgers)
    workspace.home.ensure()
    now = datetime.now(UTC)
    marks = [("begin", time.perf_counter())]

    def mark(name: str) -> None:
        marks.append((name, time.perf_counter()))

    ingested = workspace.ingest()
    mark("ingest")
    workspace.decide()
    mark("decide")
    workspace.derive_candidates(now=now)
    mark("candidates")
    published = workspace.publish(run_id="bench", now=now)
    mark("publish")
    workspace.mark(now=now)
    mark("markers")
    workspace.write_views()
    mark("views")
    figures = {
        "sessions": ingested.sessions,
        "memories": published.memories,
        "all": marks[-1][1] - marks[0][1],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    for (_, before), (name, after) in pairwise(marks):
        figures[f"s_{name}"] = after - before
    for name, seconds in published.seconds.items():
        figures[f"s_publish.{name}"] = seconds
    print(json.dumps(figures))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        _child(sys.argv[1], sys.argv[2])
    else:
        run()
