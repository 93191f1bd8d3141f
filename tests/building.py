"""Ledgers and events for tests, built from the few fields that a test is about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_assets.domain.effective import EffectiveSession, effective_decisions
from memory_assets.domain.events import EVENT_TYPES, LedgerEvent
from memory_assets.domain.parsing import Origin, ParsedLedger, parse_ledger

TENANT = "clinic"
SESSION = "s1"
WHEN = "2026-01-31T10:00:00Z"
Row = dict[str, Any]


def row(seq: int, type: str = "concept_clarified", **fields: Any) -> Row:
    """A sound row: what its type needs is filled in."""
    base: Row = {"seq": seq, "ts": WHEN, "type": type}
    known = EVENT_TYPES.get(type)
    if known is not None and known.phase_required:
        base["phase"] = "F1"
    if type == "concept_clarified":
        base |= {"subject": f"concept {seq}", "detail": f"definition {seq}"}
    return base | fields


def close(seq: int) -> Row:
    """The row that ends a session."""
    return row(seq, "session_closed", phase="F8")


def note(seq: int, type: str, target: str, *, after_seq: int | None = None, **fields: Any) -> Row:
    """A row that refers to another one; with ``after_seq`` a row of the companion file."""
    place = {} if after_seq is None else {"after_seq": after_seq}
    return row(seq, type, detail=target, **place, **fields)


def jsonl(rows: Iterable[Mapping[str, Any] | bytes]) -> bytes:
    """One line per row; bytes stand for a line as it is."""
    lines = [
        r if isinstance(r, bytes) else json.dumps(r, ensure_ascii=False).encode() for r in rows
    ]
    return b"".join(line + b"\n" for line in lines)


def parse(data: bytes, *, origin: Origin = "ledger") -> ParsedLedger:
    """The bytes parsed as the test session's file."""
    return parse_ledger(data, tenant_id=TENANT, session_id=SESSION, origin=origin)


def events(
    ledger: Sequence[Mapping[str, Any]], companion: Sequence[Mapping[str, Any]] = ()
) -> list[LedgerEvent]:
    """The events of both files; every row must be acceptable by itself."""
    found = [parse(jsonl(ledger)), parse(jsonl(companion), origin="companion")]
    assert [q for p in found for q in p.quarantined] == []
    return [e for p in found for e in p.events]


def replay(
    ledger: Sequence[Mapping[str, Any]], companion: Sequence[Mapping[str, Any]] = ()
) -> EffectiveSession:
    """The outcome of a session made of these rows."""
    return effective_decisions(events(ledger, companion))


def in_force(session: EffectiveSession) -> list[int]:
    """Refs of the decisions that hold."""
    return [d.event.ref for d in session.decisions if d.in_force]


def verdicts(session: EffectiveSession) -> dict[int, tuple[str, int | None]]:
    """Ref → verdict and the marker that gave it."""
    return {d.event.ref: (d.verdict, d.verdict_by) for d in session.decisions if d.verdict}


def write_session(
    root: Path,
    tenant: str,
    session: str,
    ledger: Iterable[Mapping[str, Any] | bytes],
    companion: Iterable[Mapping[str, Any] | bytes] = (),
) -> Path:
    """The session's files below a ledgers folder; no companion file without rows."""
    folder = root / tenant
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    path.write_bytes(jsonl(ledger))
    rows = list(companion)
    if rows:
        (folder / f"{session}.markers.jsonl").write_bytes(jsonl(rows))
    return path
