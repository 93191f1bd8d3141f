"""Immutable Parquet parts, addressed by content, and small heads that list them.

A part never changes after its rename; whoever lists a part also records its hash. Readers open
parts by name, so a table is exactly what its list says, whatever else lies in the folder.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from memory_assets.domain.schemas import TABLES, TableSpec
from memory_assets.errors import CorruptStore
from memory_assets.storage.files import write_atomically


@dataclass(frozen=True, slots=True)
class Part:
    """One Parquet file of a table, as a head or manifest lists it."""

    path: str
    sha256: str
    rows: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The part as JSON lists it."""
        return asdict(self)


class PartStore:
    """Writes and reads the parts below one folder.

    With ``checked`` no row is read from a part that differs from its hash: many a flipped bit
    still decodes, to other words.
    """

    def __init__(self, root: Path, *, remedy: str, checked: bool = False) -> None:
        self.root = root
        self._remedy = remedy
        self._is_checked = checked

    def write(self, spec: TableSpec, frame: pl.DataFrame, label: str) -> Part | None:
        """The durable part that holds the frame; None for a frame without rows.

        The name carries the label and the hash of the bytes: writing the same rows twice under one
        label gives the same file.
        """
        if frame.is_empty():
            return None
        checked = frame.select(spec.names()).cast(spec.schema)
        buffer = io.BytesIO()
        checked.write_parquet(buffer, compression="zstd", compression_level=3)
        data = buffer.getvalue()
        digest = hashlib.sha256(data).hexdigest()
        name = f"part-{label}-{digest[:16]}.parquet"
        part = Part(f"{spec.name}/{name}", digest, checked.height, len(data))
        self._put(part, data)
        return part

    def read(
        self,
        spec: TableSpec,
        parts: Sequence[Part],
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
    ) -> pl.DataFrame:
        """All rows of the parts, in the order of the list, with the declared schema.

        A nullable column that a part of an earlier version does not have is null in its rows.
        ``where`` is pushed down: row groups whose statistics exclude it are not even decoded.

        Raises:
            CorruptStore: a part is missing or not readable, or differs from its hash (``checked``).
        """
        names = list(columns) if columns is not None else spec.names()
        if not parts:
            return spec.empty().select(names)
        if where is None and len(parts) > 1:
            together = self._read_all(parts, names)
            if together is not None:
                return together
        frames = [self._read_one(spec, part, names, where) for part in parts]
        return pl.concat(frames) if len(frames) > 1 else frames[0]

    def verify(self, parts: Sequence[Part]) -> None:
        """Compares every part's bytes with the recorded hash.

        Raises:
            CorruptStore: one differs or is missing; the message names it.
        """
        for part in parts:
            self._as_listed(part)

    def _as_listed(self, part: Part) -> bytes:
        try:
            data = self._bytes(part)
        except OSError as error:
            raise self._unreadable(part, error.strerror or str(error)) from error
        if hashlib.sha256(data).hexdigest() != part.sha256:
            raise CorruptStore(
                "A part differs from its recorded hash.",
                where=self._where(part),
                remedy=self._remedy,
            )
        return data

    def _read_all(self, parts: Sequence[Part], columns: list[str]) -> pl.DataFrame | None:
        """All parts in one call, which is three times faster; None if one cannot be read.

        Reading them one by one then finds out which.
        """
        try:
            if self._is_checked:
                data: list[IO[bytes]] = [io.BytesIO(self._as_listed(part)) for part in parts]
                return pl.read_parquet(data, columns=columns, glob=False)
            files = [self.root / part.path for part in parts]
            return pl.read_parquet(files, columns=columns, glob=False)
        except (OSError, pl.exceptions.PolarsError):
            return None

    def _read_one(
        self, spec: TableSpec, part: Part, columns: list[str], where: pl.Expr | None
    ) -> pl.DataFrame:
        try:
            source = self._source(part)
            if where is None:
                return pl.read_parquet(source, columns=columns, glob=False)
            return pl.scan_parquet(source, glob=False).filter(where).select(columns).collect()
        except pl.exceptions.ColumnNotFoundError as error:
            return self._read_older(spec, part, columns, where, error)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise self._unreadable(part, type(error).__name__) from error

    def _read_older(
        self,
        spec: TableSpec,
        part: Part,
        columns: list[str],
        where: pl.Expr | None,
        error: Exception,
    ) -> pl.DataFrame:
        """The rows of a part that has fewer columns; only nullable ones may be missing."""
        found = pl.read_parquet(self._source(part), glob=False)
        added = [c for c in spec.columns if c.name not in found.columns]
        if not all(c.nullable for c in added):
            raise self._unreadable(part, type(error).__name__) from error
        whole = found.with_columns(pl.lit(None, c.dtype).alias(c.name) for c in added)
        return (whole if where is None else whole.filter(where)).select(columns)

    def _unreadable(self, part: Part, why: str) -> CorruptStore:
        return CorruptStore(
            f"A listed part cannot be read: {why}.", where=self._where(part), remedy=self._remedy
        )

    def _put(self, part: Part, data: bytes) -> None:
        target = self.root / part.path
        # A file of that name is normally whole; comparing costs little and forgives damage.
        if not target.exists() or target.read_bytes() != data:
            write_atomically(target, data)

    def _source(self, part: Part) -> Path | io.BytesIO:
        return io.BytesIO(self._as_listed(part)) if self._is_checked else self.root / part.path

    def _bytes(self, part: Part) -> bytes:
        return (self.root / part.path).read_bytes()

    def _where(self, part: Part) -> str:
        return str(self.root / part.path)


Head = dict[str, list[Part]]


class DerivedTables:
    """Tables that can be rebuilt, each group committed by replacing one small head file.

    A group is what must change together (events, quarantine and watermarks, say). A crash leaves
    the old head, and parts that nobody lists; the next commit removes what no head of the last two
    lists any more.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.parts = PartStore(
            root,
            remedy=f"these tables hold nothing of their own: delete the folder {root} and run the "
            "night again.",
        )

    def head(self, group: str) -> Head:
        """The parts of each table of a group; empty before the first commit."""
        tables = self._load(group).get("tables", {})
        try:
            return {name: [Part(**p) for p in found] for name, found in tables.items()}
        except (AttributeError, TypeError) as error:
            raise self._unreadable(group, error) from error

    def info(self, group: str) -> dict[str, Any]:
        """What the last commit noted beside its parts."""
        found = self._load(group).get("info", {})
        return dict(found)

    def read(
        self,
        group: str,
        spec: TableSpec,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
    ) -> pl.DataFrame:
        """One table of a group; see ``PartStore.read``."""
        return self.parts.read(spec, self.head(group).get(spec.name, []), columns, where)

    def commit(
        self, group: str, head: Mapping[str, Sequence[Part]], info: Mapping[str, Any] | None = None
    ) -> None:
        """Makes a new head the group's state, in one step."""
        before = self.head(group)
        body = {
            "tables": {n: [p.to_dict() for p in parts] for n, parts in sorted(head.items())},
            "info": dict(info or {}),
            "previous": sorted(p.path for parts in before.values() for p in parts),
        }
        old = self._load(group)
        write_atomically(self._path(group), json.dumps(body, indent=1, sort_keys=True).encode())
        listed = {p.path for parts in head.values() for p in parts} | set(body["previous"])
        for path in set(old.get("previous", ())) - listed:
            (self.root / path).unlink(missing_ok=True)

    def groups(self) -> list[str]:
        """Names of the groups that have a head."""
        return sorted(p.stem for p in self.root.glob("*.json"))

    def rewrite(self, change: Callable[[TableSpec, pl.DataFrame], pl.DataFrame]) -> int:
        """Count of tables that ``change`` changed; what they were is gone from the disk.

        Parts that no head lists any more are removed at once, those of earlier crashes included,
        so nobody else may write here meanwhile.
        """
        changed = 0
        listed: set[str] = set()
        for group in self.groups():
            head, new = self.head(group), {}
            for name, parts in head.items():
                found = self.parts.read(TABLES[name], parts)
                frame = change(TABLES[name], found)
                new[name] = parts
                if not frame.equals(found):
                    part = self.parts.write(TABLES[name], frame, "redacted")
                    new[name] = [part] if part else []
                    changed += 1
            if new != head:
                self.commit(group, new, self.info(group))
                self.commit(group, new, self.info(group))  # so that no earlier part is listed
            listed |= {p.path for parts in new.values() for p in parts}
        for path in self.root.glob("*/*"):
            if path.relative_to(self.root).as_posix() not in listed:
                path.unlink(missing_ok=True)
        return changed

    def _path(self, group: str) -> Path:
        return self.root / f"{group}.json"

    def _load(self, group: str) -> dict[str, Any]:
        try:
            found = json.loads(self._path(group).read_bytes())
            if not isinstance(found, dict):
                raise ValueError("it is no JSON object")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._unreadable(group, error) from error
        return found

    def _unreadable(self, group: str, error: Exception) -> CorruptStore:
        return CorruptStore(
            f"A head of derived tables cannot be read: {error}.",
            where=str(self._path(group)),
            remedy=f"these tables hold nothing of their own: delete the folder {self.root} and run "
            "the night again.",
        )
