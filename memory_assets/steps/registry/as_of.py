"""Older states of the registry, by number or time, and what changed between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_assets.errors import UnknownGeneration, UsageError
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.generations import Generation, GenerationStore, Snapshot

_ID: Final = ["tenant_id", "memory_id"]


def parse_as_of(text: str) -> int | datetime:
    """The generation's number, or the time with zone, that ``--as-of`` names.

    Raises:
        UnknownGeneration: it is neither.
    """
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise UnknownGeneration(
            f"{text!r} is neither a generation nor a time with a zone.",
            remedy="write 12, or 2026-01-31T03:30:00+01:00.",
        )
    return moment


def generation_at(store: GenerationStore, as_of: int | datetime | None) -> Generation:
    """The generation of that number, or the one that was published at that time; else the newest.

    Raises:
        UnknownGeneration: it was not published yet, was collected since, or was destroyed by a
            removal, or the time has no zone; the message says which, and what is kept.
    """
    current, _ = store.current()
    if as_of is None:
        return current
    if isinstance(as_of, datetime) and as_of.tzinfo is None:
        raise UnknownGeneration(
            f"The time {as_of} has no zone, so it is no moment.",
            remedy="add one, such as tzinfo=datetime.UTC.",
        )
    kept = store.kept(current)
    if isinstance(as_of, int):
        if as_of == current.number:
            return current
        fitting = [n for n in kept if n == as_of]
    else:
        fitting = [n for n in kept if _published(store, n) <= as_of]
    if not fitting:
        raise _unknown(current, kept, as_of)
    return current if fitting[-1] == current.number else store.load(fitting[-1])


def _published(store: GenerationStore, number: int) -> datetime:
    return datetime.fromisoformat(store.load(number).published_at)


def _unknown(current: Generation, kept: list[int], as_of: int | datetime) -> UnknownGeneration:
    if isinstance(as_of, int) and as_of > current.number:
        why = "it was not published yet"
    elif kept and current.floor > 1 and kept[0] == current.floor:
        why = f"generations before {current.floor} were destroyed by an erasure or a cleanup"
    else:
        why = "it is older than what is kept"
    shown = f"{kept[0]} to {kept[-1]}" if kept else "none"
    return UnknownGeneration(
        f"There is no generation {as_of} to read: {why}.",
        remedy=f"kept are {shown}; `memory-assets generations` lists them with their times.",
    )


@dataclass(frozen=True, slots=True)
class GenerationDiff:
    """What changed from one generation to another: row keys, with what there is to say."""

    older: int
    newer: int
    added: tuple[dict[str, Any], ...]
    superseded: tuple[dict[str, Any], ...]
    restored: tuple[dict[str, Any], ...]
    """Active again: a supersession was retracted."""
    retired: tuple[dict[str, Any], ...]
    retiered: tuple[dict[str, Any], ...]
    corroborated: tuple[dict[str, Any], ...]
    removed: int
    """Memories that are gone for good; what they were is not on record."""

    @property
    def empty(self) -> bool:
        """Whether both generations say the same."""
        return not self.removed and not any(rows for _, rows in self.sections())

    def sections(self) -> list[tuple[str, tuple[dict[str, Any], ...]]]:
        """Each kind of change with its rows."""
        names = ("added", "superseded", "restored", "retired", "retiered", "corroborated")
        return [(name, getattr(self, name)) for name in names]

    def to_dict(self) -> dict[str, Any]:
        """The difference as ``--json`` prints it."""
        return {
            "older": self.older,
            "newer": self.newer,
            **{name: list(rows) for name, rows in self.sections()},
            "removed": self.removed,
        }


def compare(
    store: GenerationStore, older: Generation, newer: Generation, *, tenant_id: str
) -> GenerationDiff:
    """What the newer generation says of one tenant that the older one did not.

    Raises:
        UsageError: they are named the other way round; what was added would look removed for good.
    """
    if older.number > newer.number:
        raise UsageError(
            f"Generation {older.number} is later than generation {newer.number}.",
            remedy="name the earlier one first.",
        )
    old, new = (_of_tenant(store, g, tenant_id) for g in (older, newer))
    before, after = old.status(), new.status()
    both = before.select(*_ID, "status", "tier").join(
        after, on=_ID, how="inner", suffix="_now", maintain_order="right"
    )
    changed = both.filter(pl.col("status") != pl.col("status_now"))
    seen = new.corroborations.join(
        old.corroborations, on=["session_id", "decision_seq", "fact_no"], how="anti"
    )
    return GenerationDiff(
        older.number,
        newer.number,
        _rows(after.join(before, on=_ID, how="anti"), "subject", "detail", "status", "tier"),
        _rows(changed.filter(pl.col("status_now") == "superseded"), "subject", "superseded_by"),
        _rows(changed.filter(pl.col("status_now") == "active"), "subject"),
        _rows(changed.filter(pl.col("status_now") == "retired"), "subject"),
        _rows(
            both.filter(pl.col("tier") != pl.col("tier_now")).rename(
                {"tier": "from_tier", "tier_now": "to_tier"}
            ),
            "subject",
            "from_tier",
            "to_tier",
        ),
        _rows(seen, "session_id", "decision_seq", "kind"),
        before.join(after, on=_ID, how="anti").height,
    )


def _of_tenant(store: GenerationStore, generation: Generation, tenant_id: str) -> RegistryView:
    return RegistryView.of(Snapshot(store, generation)).of_tenant(tenant_id)


def _rows(frame: pl.DataFrame, *columns: str) -> tuple[dict[str, Any], ...]:
    return tuple(frame.select("memory_id", *columns).to_dicts())
