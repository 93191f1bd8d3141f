"""Memories of other systems → a ledger of free-text events: candidates like any other, reviewed.

Nothing goes around the queue: an import writes one finished session of its own, and the next night
makes facts, candidates and (by the tenant's policy) memories of it. The session is named by the
content of the file, so importing a file twice changes nothing.

One place to extend: a system is one entry of :data:`SYSTEMS`, a reader of its export that also
notes what it leaves out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memory_assets.domain.parsing import parse_ledger
from memory_assets.errors import ImportRefused
from memory_assets.storage.files import write_atomically
from memory_assets.storage.ledgers import ledger_path

Row = dict[str, Any]
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class OutsidePlan:
    """The session that an import would write."""

    tenant_id: str
    session_id: str
    events: int
    ledger: bytes
    there: bool
    """The very same file was imported before."""
    left_out: tuple[str, ...] = ()
    """What of the file says nothing that could become a candidate."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "session_id": self.session_id,
            "events": self.events,
            "imported_before": self.there,
            "left_out": list(self.left_out),
        }


def mem0_events(data: bytes, left_out: list[str]) -> Iterator[Row]:
    """The memories of a mem0 ``get_all`` export, in its order: one event each.

    ``{"results": [...]}`` or the bare list; ``memory`` is the text, ``user_id`` its owner.
    """
    found = _json(data)
    results = found.get("results") if isinstance(found, dict) else found
    if not isinstance(results, list):
        raise ValueError("it holds no list of results")
    for number, item in enumerate(results, 1):
        text = item.get("memory") if isinstance(item, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"result {number} has no text in memory")
        kept = item.get("metadata")
        event: Row = {
            "detail": text,
            "metadata": {
                **(kept if isinstance(kept, dict) else {}),
                "imported": {
                    "system": "mem0",
                    **{k: item[k] for k in ("id", "agent_id", "run_id") if item.get(k)},
                },
            },
        }
        categories = item.get("categories")
        if isinstance(categories, list):
            event["concepts"] = [str(c) for c in categories]
        if item.get("user_id"):
            event["user_id"] = str(item["user_id"])
        when = _time(item.get("updated_at") or item.get("created_at"), number)
        if when is not None:
            event["ts"] = when
        yield event
    graph = found.get("relations") if isinstance(found, dict) else None
    if graph:
        left_out.append(f"{len(graph)} relation(s) of the graph: each repeats a memory's words")


def mcp_events(data: bytes, left_out: list[str]) -> Iterator[Row]:
    """The knowledge graph of an MCP memory server: one event per observation and per relation.

    JSON lines of ``entity`` (name, entityType, observations) and ``relation`` (from, to,
    relationType), in their order.
    """
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            item = _json(line)
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON") from error
        kind = item.get("type") if isinstance(item, dict) else None
        if kind == "entity":
            if not item.get("observations"):
                left_out.append(f"line {number}: the entity has no observation")
            yield from _entity(item, number)
        elif kind == "relation":
            yield _relation(item, number)
        else:
            raise ValueError(f"line {number} is neither an entity nor a relation")


SYSTEMS: Final[Mapping[str, Callable[[bytes, list[str]], Iterator[Row]]]] = {
    "mem0": mem0_events,
    "mcp": mcp_events,
}


def plan_outside(
    ledgers: Path, path: Path, system: str, *, tenant_id: str, now: datetime
) -> OutsidePlan:
    """The session that the file becomes; nothing is written.

    An event without a time of its own gets ``now``; the row's number keeps the file's order.

    Raises:
        ImportRefused: the file is not such an export, or one of its texts cannot be a ledger row.
    """
    left_out: list[str] = []
    try:
        data = path.read_bytes()
        events = list(SYSTEMS[system](data, left_out))
    except OSError as error:
        raise _refused(f"The file cannot be read: {error.strerror}", path) from error
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(f"The file is no export of {system}: {error}", path) from error
    session = f"import-{system}-{hashlib.sha256(data).hexdigest()[:12]}"
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    rows = [
        {"seq": n, "ts": stamp, "type": "memory_event", "source": "OBSERVATION", **event}
        for n, event in enumerate(events, 1)
    ]
    rows.append({"seq": len(rows) + 1, "ts": stamp, "type": "session_closed"})
    try:
        ledger = b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in rows)
    except ValueError as error:
        raise _refused(f"A text cannot be written: {error}", path) from error
    parsed = parse_ledger(ledger, tenant_id=tenant_id, session_id=session, origin="ledger")
    if parsed.quarantined:
        faults = "; ".join(f"{q.line}: {q.reason}" for q in parsed.quarantined[:_SHOWN])
        raise _refused(f"{len(parsed.quarantined)} memories cannot be ledger rows: {faults}", path)
    there = ledger_path(ledgers, tenant_id, session).exists()
    return OutsidePlan(tenant_id, session, len(events), ledger, there, tuple(left_out))


def write_outside(ledgers: Path, plan: OutsidePlan) -> Path:
    """The new session's ledger; one that is there already stays as it is.

    Raises:
        StoreWriteFailed: it cannot be written.
    """
    path = ledger_path(ledgers, plan.tenant_id, plan.session_id)
    if not path.exists():
        write_atomically(path, plan.ledger)
    return path


def _entity(item: Row, number: int) -> Iterator[Row]:
    name, observations = item.get("name"), item.get("observations", [])
    if not isinstance(name, str) or not isinstance(observations, list):
        raise ValueError(f"line {number} has no name or no list of observations")
    for observation in observations:
        yield {
            "subject": name,
            "detail": str(observation),
            "concepts": [str(item["entityType"])] if item.get("entityType") else [],
            "metadata": {"imported": {"system": "mcp", "line": number}},
        }


def _relation(item: Row, number: int) -> Row:
    ends = [item.get(k) for k in ("from", "relationType", "to")]
    if not all(isinstance(e, str) and e for e in ends):
        raise ValueError(f"line {number} lacks from, relationType or to")
    return {
        "subject": str(ends[0]),
        "detail": " ".join(str(e) for e in ends),
        "metadata": {"imported": {"system": "mcp", "line": number}},
    }


def _json(data: bytes) -> Any:
    return json.loads(data.decode("utf-8-sig"))


def _time(value: object, number: int) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError as error:
        raise ValueError(f"result {number} has a time that cannot be read") from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _refused(what: str, path: Path) -> ImportRefused:
    return ImportRefused(
        f"{what}.", where=str(path), remedy="mend the file and import again; nothing was changed."
    )
