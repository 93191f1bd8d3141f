"""The command as a whole: it answers at once, and the night runs in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.nights import tree

HEAVY = ("dagster", "duckdb", "lance", "lancedb", "polars", "torch", "numpy", "rich.table")


def test_help_imports_nothing_heavy() -> None:
    """Building the application and printing its help touches no store, model or orchestrator."""
    code = (
        "import sys; from memory_assets.cli.app import build\n"
        "sys.argv = ['memory-assets', '--help']\n"
        "try: build()()\n"
        "except SystemExit: pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.e2e
def test_help_answers_at_once() -> None:
    """Less than half a second of processor time, the interpreter's own start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "memory_assets", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "nightly" in done.stdout
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 0.5


@pytest.mark.e2e
def test_the_whole_way_in_processes_of_their_own(fresh: Cli, tmp_path: Path) -> None:
    """Dry run, night, second night and reads, as a newcomer would run them one after the other."""
    before = tree(fresh.home)
    dry = fresh.process("nightly", "--dry-run", "--json")
    assert (dry.code, dry.err, tree(fresh.home)) == (0, "", before)

    night = fresh.process("nightly", "--json")
    assert night.code == 0, night.err
    found = night.json()
    assert found["generation"] == 1
    for name in ("sessions", "events", "effective", "candidates", "promoted", "memories"):
        assert found[name] == dry.json()[name], name
    assert set(found["steps"]) >= {"ingest", "decide", "publish", "markers"}

    again = fresh.process("nightly")
    assert again.code == 0, again.err
    assert "generation 1 stands: nothing had changed" in again.out
    assert "\x1b" not in again.out


@pytest.mark.e2e
@pytest.mark.real_model
@pytest.mark.slow
def test_the_night_runs_with_the_packaged_model(tmp_path: Path) -> None:
    """No setting at all: the model that the package brings makes the vectors, without a network."""
    from memory_assets.pipeline.nightly.samples import copy_samples

    copy = copy_samples(tmp_path / "home")
    one = copy.ledgers / "clinica" / "2026-01-12-ablazioni.jsonl"
    for ledger in copy.ledgers.glob("*/*.jsonl"):
        if ledger != one:
            ledger.unlink()
    cli = Cli(copy.home, copy.ledgers)
    night = cli.process("nightly", "--json", MEMORY_ASSETS_EMBEDDING="", HF_HUB_OFFLINE="1")
    assert night.code == 0, night.err
    found = night.json()
    assert found["embedded"] == found["memories"] > 0
    assert found["pending_vectors"] == 0
