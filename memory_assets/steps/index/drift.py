"""Where a search index has moved away from the registry, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from memory_assets.errors import StoreError
from memory_assets.steps.index.rows import COPIED, IndexRows
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.generations import GenerationStore, PinnedSpace, Snapshot
from memory_assets.storage.index_diff import difference
from memory_assets.storage.index_files import manifests
from memory_assets.storage.index_pinned import PinnedIndex, table_path

MEND: Final = "memory-assets repair-index"
REBUILD: Final = "memory-assets reindex --space {space}"


@dataclass(frozen=True, slots=True)
class SpaceDrift:
    """One version of one space's index compared with the active memories."""

    space_id: str
    version: int
    served: bool
    """Whether searches read this version; if not it is newer, and nobody published it."""
    rows: int = 0
    missing: tuple[str, ...] = ()
    """Row keys of active memories that it lacks."""
    orphans: tuple[str, ...] = ()
    """Row keys that are no active memory."""
    stale: tuple[str, ...] = ()
    """Row keys whose content or metadata differ."""
    doubled: tuple[str, ...] = ()
    pending: int = 0
    """Rows without a vector: no drift, but not searchable by vector."""
    damage: str = ""
    """Why the version cannot be read, or cannot be believed."""

    @property
    def clean(self) -> bool:
        """Whether registry and index say the same."""
        return not (self.missing or self.orphans or self.stale or self.doubled or self.damage)

    @property
    def mend(self) -> str:
        """The command that mends it; empty when nothing has to be mended."""
        if self.clean:
            return ""
        return REBUILD.format(space=self.space_id) if self.damage else MEND

    def to_dict(self) -> dict[str, Any]:
        """The comparison as ``--json`` prints it."""
        return {
            "space_id": self.space_id,
            "version": self.version,
            "served": self.served,
            "clean": self.clean,
            "rows": self.rows,
            "missing": list(self.missing),
            "orphans": list(self.orphans),
            "stale": list(self.stale),
            "doubled": list(self.doubled),
            "pending_vectors": self.pending,
            "damage": self.damage,
            "mend": self.mend,
        }


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Every index of the published generation, as it is served and as it lies on disk."""

    generation: int
    memories: int
    """Active memories."""
    spaces: tuple[SpaceDrift, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing has drifted."""
        return all(s.clean for s in self.spaces)

    def to_dict(self) -> dict[str, Any]:
        """The report as ``--json`` prints it."""
        return {
            "generation": self.generation,
            "memories": self.memories,
            "clean": self.clean,
            "spaces": [s.to_dict() for s in self.spaces],
        }

    def to_metadata(self) -> dict[str, Any]:
        """Counts for a check's metadata; no content."""
        return {
            "generation": self.generation,
            "memories": self.memories,
            "missing": sum(len(s.missing) for s in self.spaces),
            "orphans": sum(len(s.orphans) for s in self.spaces),
            "stale": sum(len(s.stale) for s in self.spaces),
            "doubled": sum(len(s.doubled) for s in self.spaces),
            "damaged": sum(bool(s.damage) for s in self.spaces),
        }


def find_drift(store: GenerationStore, languages: Mapping[str, str]) -> DriftReport:
    """The published registry compared with every index of its generation; nothing is changed.

    Two versions of each table are looked at: the one that searches read, and the newest on disk if
    it is another one (somebody wrote to the table by hand, or a publication was cut short).
    ``languages`` are per tenant: they decide how a row is folded.

    Raises:
        CorruptStore: CURRENT or a part of the registry cannot be read.
    """
    current, _ = store.current()
    active = RegistryView.of(Snapshot(store, current)).active()
    wanted = IndexRows(active, languages)
    spaces = [drift for pinned in current.spaces for drift in _of_space(store, pinned, wanted)]
    return DriftReport(current.number, active.height, tuple(spaces))


def _of_space(
    store: GenerationStore, pinned: PinnedSpace, wanted: IndexRows
) -> Iterator[SpaceDrift]:
    yield _of_version(store, pinned, pinned.version, wanted)
    newest = max(manifests(table_path(store.home.index, pinned.table)), default=pinned.version)
    if newest > pinned.version:
        yield _of_version(store, pinned, newest, wanted)


def _of_version(
    store: GenerationStore, pinned: PinnedSpace, version: int, wanted: IndexRows
) -> SpaceDrift:
    about = (pinned.space.space_id, version, version == pinned.version)
    try:
        index = PinnedIndex(store.home.index, pinned.table, version)
        held, altered = index.keys(), _altered(index, wanted)
    except StoreError as error:
        return SpaceDrift(*about, damage=error.what)
    # Whether a vector can be had is no matter of drift: pending ones are counted by themselves.
    change = difference(held, wanted.keys().with_columns(has_vector=pl.lit(False)))
    stale = set(change.updates) - set(change.duplicated)
    quiet = sorted(altered - set(change.updates))
    damage = ""
    if quiet and version == pinned.version:  # its hashes agree, so no publication would write it
        damage = f"{len(quiet)} row(s) are not what their hashes say, such as {quiet[0]}"
    return SpaceDrift(
        *about,
        rows=held.height,
        missing=tuple(change.inserts),
        orphans=tuple(change.orphans),
        stale=tuple(sorted(stale.union(quiet))),
        doubled=tuple(change.duplicated),
        pending=held.filter(~pl.col("has_vector")).height,
        damage=damage,
    )


def _altered(index: PinnedIndex, wanted: IndexRows) -> set[str]:
    """Keys of rows in which a column differs from its memory, whatever the row's hash says."""
    both = index.rows(("row_key", *COPIED)).join(
        wanted.copied(), on="row_key", how="inner", suffix="_wanted"
    )
    differs = [_flat(both, name).ne_missing(_flat(both, f"{name}_wanted")) for name in COPIED]
    return set(both.filter(pl.any_horizontal(differs))["row_key"].to_list())


def _flat(frame: pl.DataFrame, name: str) -> pl.Expr:
    is_list = isinstance(frame.schema[name], pl.List)
    return pl.col(name).list.join("\x1f") if is_list else pl.col(name)
