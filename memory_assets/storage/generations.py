"""Generations: consistent published states, each described by one manifest.

CURRENT names the manifest with its hash, the manifest names every part with its hash and the pinned
version of every index table. So whoever has read CURRENT once holds one state in full, whatever a
publisher does meanwhile.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_assets.domain.schemas import TableSpec
from memory_assets.domain.spaces import EmbeddingSpace
from memory_assets.errors import CorruptStore, CurrentMissing, SchemaTooNew
from memory_assets.storage.files import write_atomically
from memory_assets.storage.home import Home
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.parts import Part, PartStore
from memory_assets.storage.pointer import LocalPointer, Pointer

SCHEMA_VERSION: Final = 1
RESTORE: Final = (
    "restore the home folder from a backup (`memory-assets restore`), or make it again from the "
    "ledgers (`memory-assets rebuild`)."
)


@dataclass(frozen=True, slots=True)
class PinnedSpace:
    """One embedding space's index as a generation serves it."""

    space: EmbeddingSpace
    version: int
    rows: int
    pending: int
    """Rows whose vector is missing; they are found by their words only."""
    rebuild: int = 0
    """Generation that built the table anew; 0 for the space's first table."""
    until: str = ""
    """Time until which a space that serves nobody is kept, for a rollback; empty: it serves."""

    @property
    def table(self) -> str:
        """The name of the Lance table: a rebuild gets one of its own, so it is swapped in whole."""
        return table_name(self.space, self.rebuild)

    def to_dict(self) -> dict[str, Any]:
        """The pinned space as the manifest stores it."""
        return {
            **self.space.to_dict(),
            "version": self.version,
            "rows": self.rows,
            "pending": self.pending,
            "rebuild": self.rebuild,
            **({"until": self.until} if self.until else {}),
        }


@dataclass(frozen=True, slots=True)
class MigrationNote:
    """A migration in force: the model that serves, instead of the one that the settings name."""

    chosen: str
    instead_of: str


def table_name(space: EmbeddingSpace, rebuild: int) -> str:
    """The name of a space's table, or of its rebuild for a generation."""
    return f"{space.space_id}.{rebuild:08d}" if rebuild else space.space_id


@dataclass(frozen=True, slots=True)
class Generation:
    """One published state: its parts, its index versions, its counters."""

    number: int
    parent: int | None
    published_at: str
    run_id: str
    tables: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    spaces: tuple[PinnedSpace, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)
    """The last memory number allocated per tenant."""
    counts: Mapping[str, int] = field(default_factory=dict)
    ranking: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Per space: what turns raw search figures of this generation into terms of the score."""
    intents_through: int = 0
    """Number of the last intent that was looked at, applied or refused."""
    floor: int = 1
    """The oldest generation that may still exist: a removal destroys the ones before."""
    building: str = ""
    """The configured space while it is incomplete: its vectors gather in the cache, and the one
    before it serves."""
    migration: MigrationNote | None = None

    @property
    def serving(self) -> PinnedSpace | None:
        """The space that answers queries: the first one."""
        return self.spaces[0] if self.spaces else None

    def to_bytes(self) -> bytes:
        """The manifest."""
        body = {
            "schema_version": SCHEMA_VERSION,
            "generation": self.number,
            "parent": self.parent,
            "published_at": self.published_at,
            "run_id": self.run_id,
            "tables": {n: [p.to_dict() for p in ps] for n, ps in sorted(self.tables.items())},
            "spaces": [s.to_dict() for s in self.spaces],
            "counters": dict(sorted(self.counters.items())),
            "counts": dict(sorted(self.counts.items())),
            "ranking": {s: dict(sorted(r.items())) for s, r in sorted(self.ranking.items())},
            "intents_through": self.intents_through,
            "floor": self.floor,
            **({"building": self.building} if self.building else {}),
            **({"migration": asdict(self.migration)} if self.migration else {}),
        }
        return json.dumps(body, indent=1, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Generation:
        """The generation that a manifest describes."""
        body = json.loads(data)
        return cls(
            number=body["generation"],
            parent=body["parent"],
            published_at=body["published_at"],
            run_id=body["run_id"],
            tables={n: tuple(Part(**p) for p in ps) for n, ps in body["tables"].items()},
            spaces=tuple(_pinned(s) for s in body["spaces"]),
            counters=body["counters"],
            counts=body["counts"],
            ranking=body.get("ranking", {}),
            intents_through=body.get("intents_through", 0),
            floor=body.get("floor", 1),
            building=body.get("building", ""),
            migration=MigrationNote(**body["migration"]) if "migration" in body else None,
        )


EMPTY: Final = Generation(number=0, parent=None, published_at="", run_id="")
"""The state of a home in which nothing was published yet."""


class Snapshot:
    """One generation pinned for reading."""

    def __init__(self, store: GenerationStore, generation: Generation) -> None:
        self._store = store
        self.generation = generation

    @property
    def number(self) -> int:
        """The generation's number."""
        return self.generation.number

    def table(self, spec: TableSpec) -> pl.DataFrame:
        """A registry table as this generation holds it.

        Raises:
            CorruptStore: a part is missing, or is not what was published.
        """
        return self._store.parts.read(spec, self.generation.tables.get(spec.name, ()))

    def index(self, space: PinnedSpace | None = None) -> PinnedIndex | None:
        """The index of one space (the serving one by default) at this generation's version.

        Raises:
            IndexMismatch, CorruptStore: that version is gone or damaged.
        """
        chosen = space or self.generation.serving
        if chosen is None:
            return None
        return PinnedIndex(self._store.home.index, chosen.table, chosen.version)


class GenerationStore:
    """Reads and commits generations below one home."""

    def __init__(self, home: Home, pointer: Pointer | None = None) -> None:
        self.home = home
        self.parts = PartStore(home.registry, remedy=RESTORE, checked=True)
        self.pointer: Pointer = pointer or LocalPointer(home.current)

    def current(self, *, verify: bool = False) -> tuple[Generation, str | None]:
        """The published generation and the pointer's tag; the empty one before the first.

        ``verify`` also compares every listed part with its hash.

        Raises:
            CurrentMissing: generations exist but CURRENT does not.
            CorruptStore: CURRENT, the manifest or a part is not what was published.
            SchemaTooNew: a newer version of this package wrote it.
        """
        found = self.pointer.read()
        if found is None:
            if any(self.home.generations.glob("*/manifest.json")):
                raise CurrentMissing(
                    "Generations exist, but CURRENT does not.",
                    where=str(self.home.current),
                    remedy=f"nothing is guessed: {RESTORE}",
                )
            return EMPTY, None
        value, tag = found
        generation = self._load(value)
        if verify:
            for parts in generation.tables.values():
                self.parts.verify(parts)
        return generation, tag

    def begin(self) -> tuple[Generation, str | None]:
        """``current(verify=True)`` for a publisher, after CURRENT of a new home was written.

        From the first publication on CURRENT exists, naming generation 0 until there is another
        one; so a missing CURRENT beside generations always means that it was taken away, and never
        that the first publication was cut short.

        Raises:
            CurrentMissing, CorruptStore, SchemaTooNew: as for ``current``.
        """
        found = self.current(verify=True)
        if found[1] is not None:
            return found
        body = {"schema_version": SCHEMA_VERSION, "generation": 0}
        self.pointer.replace(json.dumps(body, indent=1).encode(), expected_tag=None)
        return self.current()

    def snapshot(self) -> Snapshot:
        """The published generation, pinned for reading."""
        return Snapshot(self, self.current()[0])

    def stage_manifest(self, generation: Generation) -> bytes:
        """Writes the manifest durably; the bytes that CURRENT must hold to publish it."""
        data = generation.to_bytes()
        write_atomically(self.manifest_path(generation.number), data)
        body = {
            "schema_version": SCHEMA_VERSION,
            "generation": generation.number,
            "manifest": f"generations/{generation.number:08d}/manifest.json",
            "manifest_sha256": hashlib.sha256(data).hexdigest(),
            "counters": dict(sorted(generation.counters.items())),
        }
        return json.dumps(body, indent=1, ensure_ascii=False).encode()

    def load(self, number: int) -> Generation:
        """An older generation that was kept.

        Raises:
            CorruptStore: there is no readable manifest of that number.
        """
        path = self.manifest_path(number)
        try:
            return Generation.from_bytes(path.read_bytes())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CorruptStore(
                f"Generation {number} cannot be read: {type(error).__name__}.",
                where=str(path),
                remedy="choose one that `memory-assets generations` lists.",
            ) from error

    def find(self, number: int) -> Generation | None:
        """The generation of that number, or None when it cannot be read any more."""
        try:
            return self.load(number)
        except CorruptStore:
            return None

    def kept(self, current: Generation) -> list[int]:
        """Numbers of the published generations that can still be read, oldest first."""
        return [n for n in self.with_manifest() if current.floor <= n <= current.number]

    def with_manifest(self) -> list[int]:
        """Numbers of all generations with a manifest, oldest first; unpublished leftovers too."""
        found = self.home.generations.glob("*/manifest.json")
        return sorted(int(p.parent.name) for p in found if p.parent.name.isdigit())

    def manifest_path(self, number: int) -> Path:
        """Where the manifest of a generation lies."""
        return self.home.generations / f"{number:08d}" / "manifest.json"

    def _load(self, value: bytes) -> Generation:
        where = str(self.home.current)
        try:
            body = json.loads(value)
            version, number = int(body["schema_version"]), int(body["generation"])
            name = str(body["manifest"]) if number else ""
            digest = str(body["manifest_sha256"]) if number else ""
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptStore("CURRENT is not readable.", where=where, remedy=RESTORE) from error
        if version > SCHEMA_VERSION:
            raise SchemaTooNew(
                f"This home has schema version {version}; this package knows {SCHEMA_VERSION}.",
                where=where,
                remedy="upgrade memory-assets.",
            )
        if not number:
            return EMPTY
        path = self.home.root / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CorruptStore(
                f"The manifest cannot be read: {error.strerror}.", where=str(path), remedy=RESTORE
            ) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise CorruptStore(
                "The manifest differs from the hash in CURRENT.", where=str(path), remedy=RESTORE
            )
        generation = Generation.from_bytes(data)
        if generation.number != number:
            raise CorruptStore(
                f"CURRENT says generation {number}, its manifest says {generation.number}.",
                where=where,
                remedy=RESTORE,
            )
        return generation


def _pinned(found: Mapping[str, Any]) -> PinnedSpace:
    space = EmbeddingSpace(
        provider=found["provider"],
        model=found["model"],
        dimension=found["dimension"],
        fingerprint=found["fingerprint"],
        recipe=found["recipe"],
    )
    return PinnedSpace(
        space,
        found["version"],
        found["rows"],
        found["pending"],
        found.get("rebuild", 0),
        found.get("until", ""),
    )
