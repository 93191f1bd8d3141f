"""Refused lines: which they are, why they were refused, and their bytes for the repair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from memory_assets.domain.schemas import QUARANTINE, SESSIONS
from memory_assets.errors import UsageError
from memory_assets.pipeline.inspect.tenants import require_tenant
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers import ingest
from memory_assets.storage.parts import DerivedTables

_READING: Final = ["tenant_id", "session_id", "ingest_no"]
_REPAIR: Final = (
    "Refused lines were never accepted, so they may be repaired in place; the next night reads "
    "that session again, and no other."
)


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """One line of the quarantine, without its bytes."""

    tenant_id: str
    session_id: str
    file: str
    """Path below the ledgers folder."""
    line: int
    code: str
    reason: str

    @property
    def place(self) -> str:
        """``file:line``, as ``quarantine show`` takes it."""
        return f"{self.file}:{self.line}"

    def to_dict(self) -> dict[str, Any]:
        """The line as ``--json`` prints it."""
        return {name: getattr(self, name) for name in self.__slots__} | {"place": self.place}


@dataclass(frozen=True, slots=True)
class RefusedBytes:
    """One line of the quarantine with all that is needed to repair it."""

    refused: RefusedLine
    offset: int
    raw: bytes
    remedy: str = _REPAIR

    def to_dict(self) -> dict[str, Any]:
        """The line as ``--json`` prints it; bytes that are not UTF-8 are written as escapes."""
        return self.refused.to_dict() | {
            "offset": self.offset,
            "bytes": len(self.raw),
            "raw": self.raw.decode("utf-8", "backslashreplace"),
            "remedy": self.remedy,
        }


def refused_lines(
    workspace: Workspace, *, tenant_id: str | None = None, limit: int | None = None
) -> tuple[RefusedLine, ...]:
    """The refused lines of the newest reading of every session, by file and line.

    Without a tenant those of all tenants: codes and places are for whoever runs the night, and
    the bytes themselves are shown for a named tenant only.

    Raises:
        UnknownTenantError: nothing is known of the tenant that was named.
    """
    if tenant_id is not None:
        require_tenant(workspace, tenant_id)
    found = refused_lines_of(workspace.derived, tenant_id=tenant_id)
    return found[:limit] if limit is not None else found


def refused_lines_of(
    derived: DerivedTables, *, tenant_id: str | None = None
) -> tuple[RefusedLine, ...]:
    """The refused lines that some derived tables hold, of one tenant or of all."""
    frame = _current(derived)
    if tenant_id is not None:
        frame = frame.filter(pl.col("tenant_id") == tenant_id)
    return tuple(_line(row) for row in frame.sort("file", "line").to_dicts())


def show_refused(workspace: Workspace, place: str, *, tenant_id: str | None) -> RefusedBytes:
    """One refused line with its bytes.

    ``place`` is ``file:line`` as the list prints it.

    Raises:
        UnknownTenantError: no tenant was named, or nothing is known of it.
        UsageError: that tenant has no such line in quarantine.
    """
    tenant = require_tenant(workspace, tenant_id)
    file, _, number = place.rpartition(":")
    found = _current(workspace.derived).filter(
        pl.col("tenant_id") == tenant,
        pl.col("file") == file,
        pl.col("line") == (int(number) if number.isascii() and number.isdigit() else -1),
    )
    if found.is_empty():
        raise UsageError(
            f"No refused line of tenant {tenant!r} is at {place!r}.",
            where=str(workspace.home.derived),
            remedy=f"choose a FILE:LINE of `memory-assets quarantine list --tenant {tenant}`.",
        )
    row = found.row(0, named=True)
    return RefusedBytes(_line(row), row["offset"], row["raw"])


def _current(derived: DerivedTables) -> pl.DataFrame:
    sessions = derived.read(ingest.GROUP, SESSIONS, _READING)
    lines = derived.read(ingest.GROUP, QUARANTINE)
    return lines.join(sessions, on=_READING, how="semi")


def _line(row: Mapping[str, Any]) -> RefusedLine:
    return RefusedLine(**{name: row[name] for name in RefusedLine.__slots__})
