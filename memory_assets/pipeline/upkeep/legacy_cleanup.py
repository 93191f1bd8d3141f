"""Records that should never have been memory: found wherever they lie, and removed for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from memory_assets.domain.boundaries import listing_refusal
from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.events import TABLE_TYPES
from memory_assets.domain.intents import Remove
from memory_assets.errors import StoreError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.registry.receipts import Receipt, write_receipt
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.generations import Generation, Snapshot
from memory_assets.storage.index_files import manifests
from memory_assets.storage.index_pinned import PinnedIndex, table_path
from memory_assets.storage.intents import append_intents

_ID = ["tenant_id", "memory_id"]


@dataclass(frozen=True, slots=True)
class LegacyRecord:
    """One record that is no memory, and why."""

    tenant_id: str
    memory_id: str
    type: str
    subject: str
    code: str
    reason: str
    status: str

    def to_dict(self) -> dict[str, Any]:
        """The record as ``--json`` prints it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class CleanupPlan:
    """What is to be removed, and everywhere it lies now."""

    records: tuple[LegacyRecord, ...]
    index_rows: int
    """Rows of served indexes that show one of them."""
    generations: tuple[int, ...]
    """Earlier generations that still hold some; all earlier ones are destroyed with them."""
    index_versions: int
    """Versions of index tables that hold some, served or not."""

    @property
    def empty(self) -> bool:
        """Whether nothing of the kind is left anywhere."""
        return not (self.records or self.index_rows or self.generations or self.index_versions)

    @property
    def reasons(self) -> dict[str, int]:
        """Records by reason code and type."""
        return dict(sorted(Counter(f"{r.code}: {r.type}" for r in self.records).items()))

    def to_dict(self) -> dict[str, Any]:
        """The plan as ``--json`` prints it."""
        return {
            "records": [r.to_dict() for r in self.records],
            "count": len(self.records),
            "reasons": self.reasons,
            "index_rows": self.index_rows,
            "generations": list(self.generations),
            "index_versions": self.index_versions,
        }

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        return {
            "records": len(self.records),
            **{f"records {reason}": count for reason, count in self.reasons.items()},
            "index_rows": self.index_rows,
            "earlier_generations": len(self.generations),
            "index_versions": self.index_versions,
        }


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """What was removed; the receipts are on disk, one per tenant."""

    plan: CleanupPlan
    generation: int
    receipts: tuple[Path, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            **self.plan.to_dict(),
            "generation": self.generation,
            "receipts": [str(p) for p in self.receipts],
        }


def plan_cleanup(workspace: Workspace) -> CleanupPlan:
    """What the registry, its indexes, old generations and index versions hold of it."""
    store = workspace.generations
    current, _ = store.current()
    records = tuple(_records(workspace, RegistryView.of(Snapshot(store, current))))
    older = []
    for number in store.kept(current):
        generation = store.find(number)
        if number != current.number and generation is not None:
            view = RegistryView.of(Snapshot(store, generation))
            if any(True for _ in _records(workspace, view)):
                older.append(number)
    served, versions = _in_indexes(workspace, current)
    return CleanupPlan(records, served, tuple(older), versions)


def clean_up(workspace: Workspace, plan: CleanupPlan, *, now: datetime, by: str) -> CleanupResult:
    """What was removed: a generation without it is published, and all earlier ones are destroyed.

    Raises:
        PublisherBusy, ChecksFailed, StoreError: see ``Publisher.publish``.
    """
    by_tenant: dict[str, list[LegacyRecord]] = {}
    for record in plan.records:
        by_tenant.setdefault(record.tenant_id, []).append(record)
    wishes = [
        Remove(
            tenant_id=tenant,
            decided_by=by,
            decided_at=now,
            memory_ids=tuple(r.memory_id for r in records),
            removal="legacy cleanup",
        )
        for tenant, records in sorted(by_tenant.items())
    ]
    hashes = {
        (t, m): h
        for t, m, h in workspace.registry().memories.select(*_ID, "content_sha256").iter_rows()
    }
    current, _ = workspace.generations.current()
    append_intents(workspace.home, wishes, after=current.intents_through)
    result = workspace.publish(run_id="legacy-cleanup", now=now)
    workspace.write_views()
    receipts = []
    for tenant, records in sorted(by_tenant.items()):
        receipt = Receipt(
            kind="legacy cleanup",
            tenant_id=tenant,
            at=now,
            by=by,
            generation=result.generation,
            counts={"memories": len(records), **Counter(r.code for r in records)},
            digests=[f"{r.memory_id}\x1f{hashes[tenant, r.memory_id]}" for r in records],
        )
        receipts.append(write_receipt(workspace.home, receipt))
    return CleanupResult(plan, result.generation, tuple(receipts))


def _records(workspace: Workspace, view: RegistryView) -> Iterator[LegacyRecord]:
    rows = view.status()
    tables = rows.filter(pl.col("type").is_in(sorted(TABLE_TYPES))).select("tenant_id", "subject")
    named = set(tables.rows())
    for row in rows.iter_rows(named=True):
        tenant = row["tenant_id"]
        own = {row["subject"]} if (tenant, row["subject"]) in named else set()
        patterns = workspace.tenant_rules(tenant).patterns
        names = SchemaNames(patterns, frozenset(row["tables"]) | own)
        why = listing_refusal(row["type"], row["subject"], names)
        if why is not None:
            code, reason = why
            yield LegacyRecord(
                tenant, row["memory_id"], row["type"], row["subject"], code, reason, row["status"]
            )


def _in_indexes(workspace: Workspace, current: Generation) -> tuple[int, int]:
    """Rows in the served versions, and the count of all versions on disk that hold some."""
    served = versions = 0
    for space in current.spaces:
        for number in manifests(table_path(workspace.home.index, space.table)):
            try:
                index = PinnedIndex(workspace.home.index, space.table, number)
                rows = index.rows(["tenant_id", "type", "subject", "tables"])
            except StoreError:
                continue  # a version without its files shows nothing to anybody
            found = sum(_is_legacy(workspace, row) for row in rows.iter_rows(named=True))
            versions += found > 0
            served += found if number == space.version else 0
    return served, versions


def _is_legacy(workspace: Workspace, row: Mapping[str, Any]) -> bool:
    patterns = workspace.tenant_rules(row["tenant_id"]).patterns
    names = SchemaNames(patterns, frozenset(row["tables"] or ()))
    return listing_refusal(row["type"], row["subject"], names) is not None
