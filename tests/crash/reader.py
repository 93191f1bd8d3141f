"""What a reader sees of a home, and whether it can be true."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.errors import StoreError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.index.rows import IndexRows
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.generations import Snapshot

MARKERS = ("memory_promoted", "memory_promotion_declined")


def look(home: Path, ledgers: Path) -> tuple[int, list[str]]:
    """The generation that is served, and everything that is wrong with it.

    Registry rows must be index rows of the pinned version, each once; no key twice; no marker
    twice.
    """
    workspace = Workspace.load(home=str(home), ledgers=str(ledgers))
    store = workspace.generations
    try:
        generation, tag = store.current(verify=True)
        found = _generation_problems(workspace, Snapshot(store, generation))
    except StoreError as error:
        again = store.pointer.read()
        if again is not None and again[1] != tag:
            return look(home, ledgers)  # what readers do: the state was replaced under our eyes
        return -1, [str(error)]
    return generation.number, found + doubled_markers(ledgers)


def _generation_problems(workspace: Workspace, snapshot: Snapshot) -> list[str]:
    if not snapshot.number:
        return []
    view = RegistryView.of(snapshot)
    active = view.active()
    languages = {t: workspace.settings.tenant(t).language for t in active["tenant_id"].unique()}
    wanted = sorted(IndexRows(active, languages).keys().select("row_key", "index_sha256").rows())
    index = snapshot.index()
    held = sorted(index.keys().select("row_key", "index_sha256").rows()) if index else []
    problems = [] if wanted == held else [f"registry {len(wanted)} rows, index {len(held)} differ"]
    for name, keys in (
        ("memory ids", view.memories.select("tenant_id", "memory_id")),
        ("promotion keys", view.settled_keys().select(PROMOTION_KEY)),
    ):
        if keys.is_duplicated().any():
            problems.append(f"{name} occur twice")
    return problems


def doubled_markers(ledgers: Path) -> list[str]:
    """Markers that say again what the companion file said before."""
    problems = []
    for path in sorted(ledgers.glob("*/*.markers.jsonl")):
        whole = path.read_bytes().rpartition(b"\n")[0]
        rows = [json.loads(line) for line in whole.split(b"\n") if line.strip()]
        seen = Counter((r["type"], r["detail"]) for r in rows if r["type"] in MARKERS)
        problems += [f"{path.name}: {k} {n} times" for k, n in seen.items() if n > 1]
    return problems


def watch(home: Path, ledgers: Path, stop: Path, report: Path) -> None:
    """Looks again and again until ``stop`` exists; counts and problems go to ``report``.

    It also ends when its parent does, so that a driver which failed leaves nothing behind.
    """
    parent = os.getppid()
    result: dict[str, Any] = {"looks": 0, "generations": 0, "problems": []}
    last = -1
    while not stop.exists() and os.getppid() == parent:
        number, problems = look(home, ledgers)
        result["looks"] += 1
        result["generations"] += number != last
        if number < last:
            problems.append(f"generation {last} was followed by {number}")
        last = number
        result["problems"] += problems[: max(0, 20 - len(result["problems"]))]
        time.sleep(0.02)
    report.write_text(json.dumps(result))
