"""Snapshots out of a home and into another one: the same bytes again after the round trip."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, get_args

import polars as pl

from memory_assets.domain.candidates import SchemaNames, scope_of, scope_text
from memory_assets.domain.events import REUSABLE_TYPES
from memory_assets.domain.intents import AssignTier, ImportMemory, Tier
from memory_assets.domain.keys import content_sha256
from memory_assets.domain.visibility import Principal, rule_for
from memory_assets.errors import ImportRefused
from memory_assets.pipeline.exchange.formats import FORMATS, SNAPSHOT, read_snapshot
from memory_assets.pipeline.exchange.legacy_import import ImportPlan, import_registry, registry_rows
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.promotion.publish import PublishResult
from memory_assets.steps.registry.as_of import generation_at
from memory_assets.steps.registry.view import DEFAULT_TIER, RegistryView
from memory_assets.storage.generations import Snapshot
from memory_assets.storage.intents import append_intents

REGISTRY: Final = "registry"
"""The form of ``registry.jsonl``, beside those of the snapshots."""
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Export:
    """The bytes of one state of a tenant."""

    data: bytes
    memories: int
    generation: int
    format: str


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """What an import of a snapshot would bring in."""

    records: ImportPlan
    tiers: tuple[AssignTier, ...]
    """Changes that put memories back where they lay."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as ``--json`` prints it."""
        return {**self.records.to_dict(), "tiers": len(self.tiers)}


def export_tenant(
    workspace: Workspace,
    principal: Principal,
    tenant_id: str,
    format_name: str,
    *,
    as_of: int | datetime | None = None,
) -> Export:
    """The active memories of a tenant that the principal may export, at one generation.

    Raises:
        UnknownTenantError, AccessDenied: the principal may not.
        UnknownGeneration: ``as_of`` names none that is kept.
    """
    rule = rule_for(principal, tenant_id, "export")
    generation = generation_at(workspace.generations, as_of)
    view = RegistryView.of(Snapshot(workspace.generations, generation)).of_tenant(tenant_id)
    rows = view.active().filter(rule.expr())
    if format_name == REGISTRY:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in registry_rows(rows))
        data = "".join(lines).encode("utf-8")
    else:
        data = FORMATS[format_name].write(rows.select(SNAPSHOT.names()))
    return Export(data, rows.height, generation.number, format_name)


def plan_snapshot(
    workspace: Workspace, path: Path, *, tenant_id: str, by: str, now: datetime
) -> SnapshotPlan:
    """The memories of a snapshot file as intents; nothing is changed.

    Ids, keys, owners, times and metadata are kept, and the tier is put back. Content that does not
    match its own hash is refused.

    Raises:
        ImportRefused: the file has faults (the first ones are named), or the tenant has memories
            of its own.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ImportRefused(
            f"The file cannot be read: {error.strerror}.", where=str(path), remedy="name another."
        ) from error
    rows = read_snapshot(path.name, data)
    view = workspace.registry().of_tenant(tenant_id)
    held = set(view.memories["memory_id"])
    gone = set(view.tombstones["memory_id"].drop_nulls())
    names = SchemaNames(workspace.tenant_rules(tenant_id).patterns)
    records, tiers, problems = [], [], []
    known = buried = 0
    seen: set[str] = set()
    for number, row in enumerate(rows, 1):
        try:
            record, tier = _record(row, names, tenant_id, by, now)
        except (ValueError, TypeError) as error:
            problems.append(f"memory {number}: {error}")
            continue
        if record.memory_id in seen:
            problems.append(f"memory {number}: {record.memory_id} is there twice")
        seen.add(record.memory_id)
        known += record.memory_id in held
        buried += record.memory_id in gone
        if record.memory_id not in held | gone:
            records.append(record)
            tiers += [tier] if tier is not None else []
    if problems:
        raise ImportRefused(
            f"The file has {len(problems)} fault(s): {'; '.join(problems[:_SHOWN])}.",
            where=str(path),
            remedy="export it again; nothing was changed.",
        )
    if records and view.memories.filter(pl.col("origin") != "imported").height:
        raise ImportRefused(
            f"{tenant_id!r} has memories of its own, and their ids may mean others there.",
            where=str(path),
            remedy="import before the tenant's first promotion, or under another tenant.",
        )
    return SnapshotPlan(ImportPlan(tenant_id, tuple(records), known, buried), tuple(tiers))


def import_snapshot(workspace: Workspace, plan: SnapshotPlan, *, now: datetime) -> PublishResult:
    """The publication that brought the memories in, each in its tier.

    Raises:
        PublisherBusy, ChecksFailed, StoreError: see ``Publisher.publish``.
    """
    result = import_registry(workspace, plan.records, now=now)
    if not plan.tiers:
        return result
    current, _ = workspace.generations.current()
    append_intents(workspace.home, plan.tiers, after=current.intents_through)
    again = workspace.publish(run_id="import-tiers", now=now)
    return replace(again, new_memories=result.new_memories)


def _record(
    row: Mapping[str, Any], names: SchemaNames, tenant_id: str, by: str, now: datetime
) -> tuple[ImportMemory, AssignTier | None]:
    content: dict[str, Any] = {
        **{k: _text(row, k) for k in _TEXTS},
        **{k: tuple(_texts(row, k)) for k in ("tables", "concepts")},
    }
    if content_sha256(**content) != row["content_sha256"]:
        raise ValueError("its content does not match its hash")
    if row["tier"] not in get_args(Tier):
        raise ValueError(f"{row['tier']!r} is no tier")
    owner: dict[str, Any] = {k: row[k] or None for k in ("user_id", "client_id", "audience")}
    decided = datetime.fromisoformat(_text(row, "decided_at"))
    if decided.tzinfo is None:
        raise ValueError("its time has no zone")
    kind, subject = content["type"], content["subject"]
    alien = None if kind in REUSABLE_TYPES else f"{kind} is local to its question, never memory"
    common: dict[str, Any] = {"tenant_id": tenant_id, "decided_by": by, "decided_at": now}
    record = ImportMemory(
        **common,
        reason="import of a snapshot",
        memory_id=_text(row, "memory_id"),
        session_id=_text(row, "session_id"),
        decision_seq=int(row["decision_seq"]),
        fact_no=int(row["fact_no"]),
        record_decided_at=decided.astimezone(UTC),
        **content,
        **owner,
        source=row["source"] or None,
        metadata=_text(row, "metadata"),
        scope=scope_text(scope_of(owner["user_id"], owner["client_id"], owner["audience"])),
        retired=alien or names.refusal(subject) or "",
    )
    if row["tier"] == DEFAULT_TIER:
        return record, None
    tier = AssignTier(
        **common,
        memory_id=record.memory_id,
        tier=row["tier"],
        reason="import of a snapshot",
    )
    return record, tier


_TEXTS: Final = ("type", "subject", "detail", "rationale", "question_context")


def _text(row: Mapping[str, Any], name: str) -> str:
    if not isinstance(row[name], str):
        raise ValueError(f"{name} is no text")
    return str(row[name])


def _texts(row: Mapping[str, Any], name: str) -> Sequence[str]:
    value = row[name]
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ValueError(f"{name} is no list of texts")
    return value
