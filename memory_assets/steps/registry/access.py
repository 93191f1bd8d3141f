"""The access log → the registry's ``uses``: what was recorded and is not yet on record."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from memory_assets.domain.schemas import PROMOTION_KEY, USES
from memory_assets.steps.registry.view import RegistryView
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.access_log import read_uses

_ID = ["tenant_id", "memory_id"]


def new_uses(root: Path, registry: RegistryView, *, generation: int, now: datetime) -> pl.DataFrame:
    """Rows of ``uses`` that the generation adds, sorted by key: each event once and for ever.

    Left out are events that are on record, that lie in the future (a wrong clock would keep a
    memory fresh for ever), and that name no memory of the registry. Searches, evaluations and
    maintenance write no events, so they can never count.
    """
    events = read_uses(root).events
    if not events:
        return USES.empty()
    frame = frame_of(
        USES,
        [
            (*e.event_id, e.memory_id, e.used_at.astimezone(UTC), e.used_by, generation)
            for e in events
            if e.used_at <= now
        ],
    )
    return (
        frame.join(registry.uses, on=PROMOTION_KEY, how="anti")
        .join(registry.memories.select(_ID), on=_ID, how="semi")
        .sort(PROMOTION_KEY)
    )
