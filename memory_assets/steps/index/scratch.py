"""A registry made from given rows in a folder of its own: for measuring with outside data.

It goes through the same index, files and pointer as a real night, so searching it is searching the
real thing; only ledgers and review are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_assets.domain.candidates import scope_of, scope_text
from memory_assets.domain.keys import content_sha256, duplicate_key, memory_id
from memory_assets.domain.ports import Embedder, Progress, VectorCache
from memory_assets.domain.schemas import MEMORIES, TABLES
from memory_assets.domain.spaces import SEARCH_RECIPE
from memory_assets.steps.index.calibrate import calibrate
from memory_assets.steps.index.rows import IndexRows
from memory_assets.steps.index.stage import IndexStage
from memory_assets.steps.registry.view import RegistryView
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.generations import EMPTY, Generation, GenerationStore, Snapshot
from memory_assets.storage.home import Home

_DEFAULTS: Final[Mapping[str, Any]] = {
    "session_id": "outside",
    "fact_no": 0,
    "promoted_generation": 1,
    "type": "concept_clarified",
    "subject": "",
    "detail": "",
    "rationale": "",
    "question_context": "",
    "tables": (),
    "concepts": (),
    "user_id": None,
    "client_id": None,
    "audience": None,
    "source": None,
    "metadata": "{}",
    "origin": "imported",
    "edited_from": None,
    "verdict_by": "outside data",
}


def memory_rows(rows: Sequence[Mapping[str, Any]], *, decided_at: datetime) -> pl.DataFrame:
    """A frame of ``memories``: ids by position per tenant, everything not given by default.

    Each row names its ``tenant_id``, and may name any column.
    """
    numbers: dict[str, int] = {}
    found = []
    for row in rows:
        number = numbers[row["tenant_id"]] = numbers.get(row["tenant_id"], 0) + 1
        full = {**_DEFAULTS, "decided_at": decided_at, "decision_seq": number, **row}
        content = ("type", "subject", "detail", "rationale", "question_context", "concepts")
        full |= {
            "memory_id": row.get("memory_id", memory_id(number)),
            "content_sha256": content_sha256(**{k: full[k] for k in content}, tables=()),
            "duplicate_key": duplicate_key(full["subject"], full["detail"]),
            "scope": scope_text(scope_of(full["user_id"], full["client_id"], full["audience"])),
        }
        found.append(tuple(full[name] for name in MEMORIES.names()))
    return frame_of(MEMORIES, found)


def publish_rows(
    root: Path,
    tables: Mapping[str, pl.DataFrame],
    embedder: Embedder,
    cache: VectorCache,
    *,
    now: datetime,
    languages: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> GenerationStore:
    """The next generation below ``root``: the registry tables as given, and their index.

    No check refuses anything here: that is what lets a measurement hold whatever it wants to see.
    """
    store = GenerationStore(Home(root))
    current, tag = store.current()
    number = current.number + 1
    view = RegistryView.of(Snapshot(store, EMPTY)).with_rows(tables)
    parts = {
        name: (part,)
        for name, frame in view.tables().items()
        if (part := store.parts.write(TABLES[name], frame, f"{number:08d}")) is not None
    }
    active = view.active()
    space = embedder.space(SEARCH_RECIPE)
    stage = IndexStage.open(store, current, IndexRows(active, languages or {}), space, anew=False)
    stage.embed(embedder, cache, progress)
    done = stage.write(number)
    pinned = stage.pin(done)
    ranking = calibrate(stage.index.pin(done.version), active, embedder, cache)
    generation = Generation(
        number=number,
        parent=current.number or None,
        published_at=now.isoformat(),
        run_id="scratch",
        tables=parts,
        spaces=(pinned,),
        counts={"memories": view.memories.height, "active": active.height},
        ranking={pinned.space.space_id: ranking.to_dict()},
    )
    store.pointer.replace(store.stage_manifest(generation), expected_tag=tag)
    return store
