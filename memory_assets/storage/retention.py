"""Which generations stay readable, and the removal of all that no kept one names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from memory_assets.storage.files import write_errors
from memory_assets.storage.generations import Generation, GenerationStore
from memory_assets.storage.index import SpaceIndex
from memory_assets.storage.recovery import pinned_versions, remove_generation

TAG: Final = "gen-"
_LOOSE_VERSIONS: Final = 2
"""Index versions beyond the tagged ones that a clean-up leaves, for readers under way."""


@dataclass(frozen=True, slots=True)
class Retention:
    """A generation stays if it is among the newest ``count``, or younger than ``age``."""

    count: int = 7
    age: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class GcPlan:
    """What garbage collection removes (or, in a dry run, would)."""

    generations: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    """Files below the registry folder that no kept generation lists."""
    part_bytes: int = 0
    kept: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.generations or self.parts)

    def to_dict(self) -> dict[str, Any]:
        """The plan as ``--json`` prints it."""
        return {
            "generations": list(self.generations),
            "parts": list(self.parts),
            "part_bytes": self.part_bytes,
            "kept": list(self.kept),
        }


def plan_gc(
    store: GenerationStore, current: Generation, rule: Retention, *, now: datetime
) -> GcPlan:
    """What may go by the rule; the current generation never does."""
    numbers = store.kept(current)
    newest = set(numbers[-max(1, rule.count) :]) | {current.number}
    old = [n for n in numbers if n not in newest and not _is_young(store, n, rule.age, now)]
    kept = [n for n in numbers if n not in old]
    listed = _listed_parts(store, current, kept)
    loose = [p for p in _parts(store.home.registry) if _relative(store, p) not in listed]
    return GcPlan(
        tuple(old),
        tuple(_relative(store, p) for p in loose),
        sum(p.stat().st_size for p in loose),
        tuple(kept),
    )


def apply_gc(store: GenerationStore, current: Generation, plan: GcPlan) -> None:
    """Removes what the plan names: manifests first, then what only they named.

    Whatever a kill leaves is found by the next plan, since it goes by what manifests list.

    Raises:
        StoreWriteFailed: something cannot be removed.
    """
    for number in plan.generations:
        remove_generation(store, number)
    for name in plan.parts:
        path = store.home.registry / name
        with write_errors(path):
            path.unlink(missing_ok=True)
    if plan.generations:
        pinned = pinned_versions(store, current)
        for space in current.spaces:
            index = SpaceIndex.open(store.home.index, space.space, table=space.table)
            for name, version in index.tags().items():
                if name.startswith(TAG) and version not in pinned[space.table]:
                    index.untag(name)
            index.cleanup(_LOOSE_VERSIONS, unreferenced_too=True)


def generation_tag(number: int) -> str:
    """The tag that protects a generation's index version from any clean-up."""
    return f"{TAG}{number:08d}"


def _is_young(store: GenerationStore, number: int, age: timedelta, now: datetime) -> bool:
    if not age:
        return False
    generation = store.find(number)
    return generation is not None and datetime.fromisoformat(generation.published_at) > now - age


def _listed_parts(store: GenerationStore, current: Generation, kept: Iterable[int]) -> set[str]:
    generations = [current, *(store.find(n) for n in kept if n != current.number)]
    return {p.path for g in generations if g for parts in g.tables.values() for p in parts}


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.parquet"))


def _relative(store: GenerationStore, path: Path) -> str:
    return path.relative_to(store.home.registry).as_posix()
