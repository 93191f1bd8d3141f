"""Keeps the number of parts per table small without changing what the table says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from memory_assets.domain.schemas import TableSpec
from memory_assets.steps.tables.readings import READING
from memory_assets.storage.parts import Part, PartStore

MAX_PARTS: Final = 16


def compacted(
    store: PartStore,
    spec: TableSpec,
    parts: Sequence[Part],
    *,
    live: pl.DataFrame | None = None,
    label: str,
    max_parts: int = MAX_PARTS,
) -> list[Part]:
    """The same table in fewer parts, without the rows of readings that a newer one replaced.

    ``live`` holds the readings that count (tenant_id, session_id, ingest_no); without it every row
    does, and rows and their order stay as they are. Nothing happens until there are more than
    ``max_parts`` parts; then all but a large first one are folded together, so that the cost of
    folding stays proportional to what was added.
    """
    if len(parts) <= max_parts:
        return list(parts)
    tail_bytes = sum(p.bytes for p in parts[1:])
    keep_first = parts[0].bytes > 4 * tail_bytes
    folded = store.read(spec, parts[1:] if keep_first else parts)
    if live is not None:
        folded = folded.join(live, on=READING, how="semi")
    part = store.write(spec, folded, label + "c")
    return [*([parts[0]] if keep_first else []), *([part] if part else [])]
