"""Records of another registry (``registry.jsonl``) → intents that bring them in under their ids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_assets.domain.candidates import SchemaNames, scope_of, scope_text
from memory_assets.domain.events import REUSABLE_TYPES, TABLE_TYPES
from memory_assets.domain.intents import ImportMemory
from memory_assets.domain.keys import MEMORY_ID
from memory_assets.errors import ImportRefused
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.promotion.publish import PublishResult
from memory_assets.storage.intents import append_intents

_ALIASES: Final = {
    "memory_id": ("id", "memory_id"),
    "record_decided_at": ("ts", "timestamp", "decided_at", "created_at"),
    "session_id": ("session_id", "session"),
    "decision_seq": ("decision_seq", "sequence", "seq"),
}
_TEXTS: Final = ("type", "subject", "detail", "rationale", "question_context")
_LISTS: Final = ("tables", "concepts")
_OWNER: Final = ("user_id", "client_id", "audience", "source")
_KNOWN: Final = frozenset(a for names in _ALIASES.values() for a in names) | frozenset(
    (*_TEXTS, *_LISTS, *_OWNER, "metadata", "fact_no")
)
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would bring in."""

    tenant_id: str
    records: tuple[ImportMemory, ...]
    known: int
    """Records that are in the registry already, with the same content."""
    buried: int
    """Records that were removed for good and stay away."""

    @property
    def retired(self) -> dict[str, int]:
        """Records that come in without ever being found, by reason."""
        counted: dict[str, int] = {}
        for record in self.records:
            if record.retired:
                counted[record.retired] = counted.get(record.retired, 0) + 1
        return counted

    def to_dict(self) -> dict[str, Any]:
        """The plan as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "records": len(self.records),
            "searchable": sum(not r.retired for r in self.records),
            "retired": self.retired,
            "known_already": self.known,
            "buried": self.buried,
        }


def plan_import(
    workspace: Workspace, path: Path, *, tenant_id: str, by: str, now: datetime
) -> ImportPlan:
    """The records of the file, in its order, as intents; nothing is changed.

    Ids, times and promotion keys are kept. Records of schema choices come in too, retired from the
    start: they are on record for ``legacy-cleanup``, and no search finds them.

    Raises:
        ImportRefused: the file has faults (all are named), or the tenant has memories of its own.
    """
    rows = list(_rows(path))
    tables = {r["subject"] for _, r in rows if r.get("type") in TABLE_TYPES}
    rules = workspace.tenant_rules(tenant_id)
    view = workspace.registry().of_tenant(tenant_id)
    held = dict(view.memories.select("memory_id", "content_sha256").rows())
    own = view.memories.filter(pl.col("origin") != "imported").height
    gone = set(view.tombstones["memory_id"].drop_nulls().to_list())
    problems: list[str] = []
    records: list[ImportMemory] = []
    seen: dict[str, int] = {}
    known = buried = 0
    for number, row in rows:
        try:
            record = _record(
                row, SchemaNames(rules.patterns, frozenset(tables)), tenant_id, by, now
            )
        except (ValueError, TypeError) as error:
            problems.append(f"line {number}: {error}")
            continue
        first = seen.setdefault(record.memory_id, number)
        if first != number:
            problems.append(f"line {number}: {record.memory_id} is taken by line {first}")
        elif record.memory_id in gone:
            buried += 1
        elif record.memory_id in held:
            known += 1
        else:
            records.append(record)
    if problems:
        raise ImportRefused(
            f"The file has {len(problems)} fault(s): {'; '.join(problems[:_SHOWN])}.",
            where=str(path),
            remedy="mend every line named and import again; nothing was changed.",
        )
    if own and records:
        raise ImportRefused(
            f"{tenant_id!r} has {own} memories of its own, and their ids may mean others there.",
            where=str(path),
            remedy="import before the tenant's first promotion, or under another tenant.",
        )
    return ImportPlan(tenant_id, tuple(records), known, buried)


def import_registry(workspace: Workspace, plan: ImportPlan, *, now: datetime) -> PublishResult:
    """The publication that brought the planned records in.

    Raises:
        PublisherBusy, ChecksFailed, StoreError: see ``Publisher.publish``.
    """
    current, _ = workspace.generations.current()
    append_intents(workspace.home.ensure(), plan.records, after=current.intents_through)
    return workspace.publish(run_id="import", now=now)


def exported_rows(workspace: Workspace, tenant_id: str) -> list[dict[str, Any]]:
    """The tenant's active memories in the form of ``registry.jsonl``, in the order of their ids."""
    return registry_rows(workspace.registry().of_tenant(tenant_id).active())


def registry_rows(active: pl.DataFrame) -> list[dict[str, Any]]:
    """Active memories in the form of ``registry.jsonl``; read again, they give the same lines."""
    return [
        {
            "id": row["memory_id"],
            "ts": row["decided_at"].isoformat(),
            "session_id": row["session_id"],
            "decision_seq": row["decision_seq"],
            **{name: row[name] for name in (*_TEXTS, *_LISTS)},
            **{name: row[name] for name in _OWNER if row[name]},
            **({"fact_no": row["fact_no"]} if row["fact_no"] else {}),
            **({"metadata": found} if (found := json.loads(row["metadata"])) else {}),
        }
        for row in active.iter_rows(named=True)
    ]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ImportRefused(
            f"The file cannot be read: {error.strerror}.", where=str(path), remedy="name another."
        ) from error
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            row = json.loads(raw)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise ImportRefused(
                f"Line {number} is no JSON object.",
                where=str(path),
                remedy="mend the line and import again; nothing was changed.",
            )
        yield number, row


def _record(
    row: Mapping[str, Any], names: SchemaNames, tenant_id: str, by: str, now: datetime
) -> ImportMemory:
    memory_id = str(_first(row, "memory_id") or "")
    found = MEMORY_ID.fullmatch(memory_id)
    if found is None:
        raise ValueError(f"id {memory_id!r} is not of the form mem-0001")
    texts = {name: _text(row, name) for name in _TEXTS}
    if not texts["type"]:
        raise ValueError("type is missing")
    session, seq = _first(row, "session_id"), _first(row, "decision_seq")
    if not session or not isinstance(seq, int) or isinstance(seq, bool):
        # Records that were entered by hand have no decision; their number stands for one.
        session, seq = "imported", int(found.group(1))
    owner = {name: row.get(name) or None for name in _OWNER}
    extra = {k: v for k, v in row.items() if k not in _KNOWN}
    metadata = {**(row.get("metadata") or {}), **extra}
    own_tables = frozenset(_list(row, "tables"))
    copied: dict[str, Any] = {
        **texts,
        **{name: tuple(_list(row, name)) for name in _LISTS},
        **owner,
    }
    return ImportMemory(
        tenant_id=tenant_id,
        decided_by=by,
        decided_at=now,
        reason="import",
        memory_id=memory_id,
        session_id=str(session),
        decision_seq=seq,
        fact_no=_fact_no(row),
        record_decided_at=_time(_first(row, "record_decided_at"), now),
        **copied,
        metadata=json.dumps(metadata, sort_keys=True, ensure_ascii=False),
        scope=scope_text(scope_of(owner["user_id"], owner["client_id"], owner["audience"])),
        retired=_retired(texts, SchemaNames(names.patterns, names.tables | own_tables)),
    )


def _fact_no(row: Mapping[str, Any]) -> int:
    value = row.get("fact_no", 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("fact_no is no number from 0")
    return value


def _retired(texts: Mapping[str, str], names: SchemaNames) -> str:
    if texts["type"] not in REUSABLE_TYPES:
        return f"{texts['type']} is local to its question, never memory"
    return names.refusal(texts["subject"]) or ""


def _first(row: Mapping[str, Any], field: str) -> Any:
    return next((row[a] for a in _ALIASES[field] if row.get(a) is not None), None)


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return value or ""


def _list(row: Mapping[str, Any], name: str) -> list[str]:
    value = row.get(name) or []
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ValueError(f"{name} is no list of texts")
    return value


def _time(value: object, now: datetime) -> datetime:
    if value is None:
        return now
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"time {value!r} cannot be read") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
