"""Ledgers → events: reads what changed since the last night, quarantines what it must refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_assets.domain.effective import effective_decisions
from memory_assets.domain.events import LedgerEvent
from memory_assets.domain.parsing import ParsedLedger, QuarantinedLine
from memory_assets.domain.ports import Progress
from memory_assets.domain.schemas import EVENTS, QUARANTINE, SESSIONS
from memory_assets.domain.watermarks import compare_rows, digests_without
from memory_assets.errors import LedgerUnreadable
from memory_assets.steps.tables.blanking import blanked
from memory_assets.steps.tables.compaction import compacted
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.ledgers import ScanProblem, SessionFiles, read_ledger, scan_ledgers
from memory_assets.storage.parts import DerivedTables

GROUP = "ledger_events"
Row = dict[str, Any]
Key = tuple[str, str]
Signature = tuple[str, str, str]
_KEY: Final = ["tenant_id", "session_id"]


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What one reading of the ledgers found."""

    sessions: int
    read: int
    """Sessions that were opened because a file's signature changed."""
    changed: int
    """Sessions whose accepted or refused rows differ from the last reading."""
    new_events: int
    """Rows that no earlier reading had, however many were read again with them."""
    events: int
    quarantined: int
    open_sessions: int
    fail_closed: int
    problems: tuple[tuple[str, str, str, str], ...] = ()
    """(tenant_id, session_id, status, message) of every session that is blocked."""
    unknown_tenants: dict[str, int] = field(default_factory=dict)
    """Sessions by folder without an entry in tenants.toml: reported, not consolidated."""
    switched_off: dict[str, int] = field(default_factory=dict)
    """Sessions by tenant whose entry says so: not consolidated, and nobody need be told."""
    not_chosen: int = 0
    """Sessions that may have changed and that the run's selection leaves for later."""
    companion_events: int = 0
    """How many of ``events`` lie in companion files: verdicts, mostly this project's own."""

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        return {
            "sessions": self.sessions,
            "sessions_read": self.read,
            "sessions_changed": self.changed,
            "new_events": self.new_events,
            "events": self.events,
            "companion_events": self.companion_events,
            "quarantined_lines": self.quarantined,
            "open_sessions": self.open_sessions,
            "fail_closed_sessions": self.fail_closed,
            "blocked_sessions": len(self.problems),
            "unknown_tenants": len(self.unknown_tenants),
            "tenants_switched_off": len(self.switched_off),
            "sessions_not_chosen": self.not_chosen,
        }


@dataclass(slots=True)
class _Reading:
    """Rows gathered while the changed sessions are read."""

    ingest_no: int
    ledgers: Path
    events: list[tuple[object, ...]] = field(default_factory=list)
    refused: list[tuple[object, ...]] = field(default_factory=list)
    changed: int = 0
    new_rows: int = 0


def ingest(
    ledgers: Path,
    derived: DerivedTables,
    *,
    is_known_tenant: Callable[[str], bool] = lambda _: True,
    is_switched_off: Callable[[str], bool] = lambda _: False,
    buried: pl.DataFrame | None = None,
    chosen: Callable[[SessionFiles], bool] = lambda _: True,
    progress: Progress | None = None,
) -> IngestResult:
    """Events, quarantine and watermarks brought up to date with the ledgers; one commit.

    A session is opened only when the signature of one of its files changed, and counts as changed
    only when its rows did. A session that broke the append-only rule, vanished or cannot be read
    keeps its earlier rows, is blocked from promotion, and never stops the others. Rows under a
    ``buried`` promotion key are kept without their content, whatever the ledger still says. A
    session that is not ``chosen`` is not opened and keeps its watermark: it waits.

    Raises:
        UsageError: the ledgers folder does not exist.
        StoreWriteFailed: the derived tables cannot be written.
    """
    noted: list[ScanProblem] = []
    found = scan_ledgers(ledgers, noted)
    unlisted = {p.tenant_id for p in noted if p.name == "*"}
    counted = Counter(f.tenant_id for f in found)
    unknown = {tenant: n for tenant, n in counted.items() if not is_known_tenant(tenant)}
    files_by_key = {f.key: f for f in found if f.tenant_id not in unknown}
    before = derived.read(GROUP, SESSIONS)
    seen = _signatures(before)
    reading = _Reading(int(derived.info(GROUP).get("ingest_no", 0)) + 1, ledgers)
    waiting = [f for k, f in files_by_key.items() if _may_have_changed(seen.get(k), f)]
    to_read = [f for f in waiting if chosen(f)]
    known = _rows_of(before, [f.key for f in to_read])
    touched: dict[Key, Row] = {}
    for done, files in enumerate(to_read, 1):
        row = _read_session(files, known.get(files.key), reading)
        if row != known.get(files.key):
            touched[files.key] = row
        if progress is not None and (done % 200 == 0 or done == len(to_read)):
            progress(done, len(to_read))
    for key, row in _rows_of(before, list(seen.keys() - files_by_key.keys())).items():
        state = _UNKNOWN if not is_known_tenant(key[0]) else _MISSING
        if row["status"] != state["status"] and key[0] not in unlisted:
            touched[key] = {**row, **state}
    sessions = _replaced(before, touched)
    if touched:
        _commit(derived, sessions, reading, buried)
    result = _result(sessions, reading, len(files_by_key), len(to_read))
    also = tuple((p.tenant_id, p.name, "unreadable", p.message) for p in noted)
    left = len(waiting) - len(to_read)
    off = {tenant: n for tenant, n in unknown.items() if is_switched_off(tenant)}
    return replace(
        result,
        problems=(*result.problems, *also),
        not_chosen=left,
        unknown_tenants={tenant: n for tenant, n in unknown.items() if tenant not in off},
        switched_off=off,
    )


def current_events(derived: DerivedTables, sessions: pl.DataFrame) -> pl.DataFrame:
    """The events of the newest reading of the given sessions (tenant_id, session_id, ingest_no)."""
    keys = sessions.select("tenant_id", "session_id", "ingest_no")
    numbers = keys["ingest_no"].unique().to_list()
    # A reading's number is in the statistics of its row groups: older parts are not decoded.
    events = derived.read(GROUP, EVENTS, where=pl.col("ingest_no").is_in(numbers))
    return events.join(keys, on=["tenant_id", "session_id", "ingest_no"], how="semi")


_MISSING: Final = {
    "status": "missing",
    "message": "the ledger is gone; restore the file. Its published memories stay; nothing new is "
    "published from it.",
    "ledger_stat": "",
}
_UNKNOWN: Final = {
    "status": "unknown-tenant",
    "message": "the tenant has no entry in tenants.toml any more, or is switched off there; mend "
    "that, and the session is read again. Its published memories stay; nothing new is published "
    "from it.",
    "ledger_stat": "",
}


def _signatures(sessions: pl.DataFrame) -> dict[Key, Signature]:
    """(status, ledger_stat, companion_stat) of every session that was read before."""
    columns = ("tenant_id", "session_id", "status", "ledger_stat", "companion_stat")
    return {(t, s): (status, a, b) for t, s, status, a, b in sessions.select(columns).iter_rows()}


def _rows_of(sessions: pl.DataFrame, keys: Sequence[Key]) -> dict[Key, Row]:
    if not keys:
        return {}
    wanted = pl.DataFrame(keys, schema=dict.fromkeys(_KEY, pl.String), orient="row")
    rows = sessions.join(wanted, on=_KEY, how="semi").to_dicts()
    return {(r["tenant_id"], r["session_id"]): r for r in rows}


def _replaced(before: pl.DataFrame, touched: dict[Key, Row]) -> pl.DataFrame:
    """The sessions table after these rows, sorted by tenant and session."""
    if not touched:
        return before
    new = pl.DataFrame(list(touched.values()), schema=SESSIONS.schema, infer_schema_length=None)
    return pl.concat([before.join(new, on=_KEY, how="anti"), new]).sort(_KEY)


def _may_have_changed(seen: Signature | None, files: SessionFiles) -> bool:
    return (
        seen is None
        or seen[0] == "unreadable"
        or seen[1] != files.ledger_stat
        or seen[2] != files.companion_stat
    )


def _read_session(files: SessionFiles, before: Row | None, reading: _Reading) -> Row:
    names = {"tenant_id": files.tenant_id, "session_id": files.session_id}
    try:
        ledger = read_ledger(files.ledger, **names, origin="ledger")
        companion = read_ledger(files.companion, **names, origin="companion")
    except LedgerUnreadable as error:
        return {**(before or _blank(files)), "status": "unreadable", "message": str(error)}
    stats = {"ledger_stat": files.ledger_stat, "companion_stat": files.companion_stat}
    same = False
    if before is not None:
        if _says_the_same(before, ledger, companion):
            return {**before, **stats, "ledger_sha256": ledger.sha256}
        growth = compare_rows(
            before["ledger_digests"], ledger, had_refused_lines=before["ledger_refused"] > 0
        )
        if growth.change == "violated":
            return {
                **before,
                **stats,
                "status": "append-only-violation",
                "message": f"accepted row number {growth.lost_row} of {files.ledger.name} was lost "
                "or changed; ledgers are append-only. Restore the file from a copy: nothing is "
                "published from this session until its earlier rows are back.",
            }
        same = growth.change == "none" and before["status"] == "ok"
    row = {**_gather(files, ledger, companion, reading), **stats}
    if before is not None:
        same &= all(before[name] == row[name] for name in ("quarantined", "torn"))
    reading.changed += not same
    reading.new_rows += max(0, _row_count(row) - (_row_count(before) if before else 0))
    return row


def _row_count(session: Row) -> int:
    return int(session["rows"]) + int(session["companion_rows"])


def _says_the_same(before: Row, ledger: ParsedLedger, companion: ParsedLedger) -> bool:
    """Whether nothing but white space, key order, line ends or a byte order mark changed."""
    if before["status"] != "ok" or before["companion_sha256"] != companion.sha256:
        return False
    if before["ledger_sha256"] == ledger.sha256:
        return True
    refused = before["quarantined"] or before["torn"] or ledger.quarantined or ledger.torn_tail
    return not refused and bool(before["ledger_digests"] == ledger.digests)


def _gather(
    files: SessionFiles, ledger: ParsedLedger, companion: ParsedLedger, reading: _Reading
) -> Row:
    """Adds a session's rows to the reading; its new watermark."""
    events = [*ledger.events, *companion.events]
    session = effective_decisions(events)
    dangling = {d.event.ref: d for d in session.dangling}
    sound = [e for e in events if e.ref not in dangling]
    no = reading.ingest_no
    reading.events.extend(_event_row(e, no) for e in sound)
    refused: list[tuple[str, QuarantinedLine]] = [
        *(("ledger", q) for q in ledger.quarantined),
        *(("companion", q) for q in companion.quarantined),
    ]
    torn_companion = companion.torn_tail
    if torn_companion is not None:
        # A write of ours was cut short; whoever writes next completes it, so it hides nothing.
        refused.append(("companion", torn_companion))
    for ref, item in dangling.items():
        parsed = ledger if ref > 0 else companion
        line = parsed.refuse(item.event.line, item.code, item.reason)
        refused.append((parsed.origin, line))
    for origin, bad in refused:
        path = files.ledger if origin == "ledger" else files.companion
        name = path.relative_to(reading.ledgers).as_posix()
        reading.refused.append(
            (*files.key, no, name, origin, bad.line, bad.offset, bad.code, bad.reason, bad.raw)
        )
    last = ledger.events[-1] if ledger.events else None
    return {
        "tenant_id": files.tenant_id,
        "session_id": files.session_id,
        "ingest_no": no,
        "status": "ok",
        "message": "",
        "closed": session.finished and ledger.torn_tail is None,
        "torn": ledger.torn_tail is not None,
        "fail_closed": len(refused) > (torn_companion is not None),
        "rows": sum(e.ref > 0 for e in sound),
        "companion_rows": sum(e.ref < 0 for e in sound),
        "quarantined": len(refused),
        "ledger_refused": sum(origin == "ledger" for origin, _ in refused),
        "last_seq": last.ref if last else 0,
        "last_ts": last.ts if last else None,
        "ledger_sha256": ledger.sha256,
        # A row refused by the replay may be repaired like any other refused line.
        "ledger_digests": digests_without(ledger, dangling.keys()),
        "companion_sha256": companion.sha256,
    }


def _event_row(e: LedgerEvent, ingest_no: int) -> tuple[object, ...]:
    row = e.row
    return (
        e.tenant_id,
        e.session_id,
        ingest_no,
        e.ref,
        e.after_seq,
        e.ts,
        e.ts_note,
        e.phase,
        row.type,
        e.subject,
        e.detail,
        e.rationale,
        e.question_context,
        e.tables,
        e.concepts,
        row.user_id or None,
        row.client_id or None,
        row.audience or None,
        row.source or None,
        e.metadata,
        e.extra,
        e.line,
        e.target,
    )


def _blank(files: SessionFiles) -> Row:
    row: Row = dict.fromkeys(SESSIONS.names(), 0)
    row.update(
        tenant_id=files.tenant_id,
        session_id=files.session_id,
        closed=False,
        torn=False,
        fail_closed=False,
        last_ts=None,
        ledger_stat="",
        ledger_sha256="",
        ledger_digests=b"",
        companion_stat="",
        companion_sha256="",
    )
    return row


def _commit(
    derived: DerivedTables,
    sessions: pl.DataFrame,
    reading: _Reading,
    buried: pl.DataFrame | None,
) -> None:
    label = f"{reading.ingest_no:08d}"
    head = derived.head(GROUP)
    new = dict(head)
    for spec, fresh in ((EVENTS, reading.events), (QUARANTINE, reading.refused)):
        frame = frame_of(spec, fresh)
        if buried is not None and buried.height:
            frame = blanked(spec, frame, buried)
        part = derived.parts.write(spec, frame, label)
        listed = [*head.get(spec.name, []), *([part] if part else [])]
        live = sessions.select(*_KEY, "ingest_no")
        new[spec.name] = compacted(derived.parts, spec, listed, live=live, label=label)
    part = derived.parts.write(SESSIONS, sessions, label)
    new[SESSIONS.name] = [part] if part else []
    derived.commit(GROUP, new, {"ingest_no": reading.ingest_no})


def _result(sessions: pl.DataFrame, reading: _Reading, count: int, read: int) -> IngestResult:
    known = sessions.filter(pl.col("status") != _UNKNOWN["status"])
    blocked = known.filter(pl.col("status") != "ok")
    return IngestResult(
        sessions=count,
        read=read,
        changed=reading.changed,
        new_events=reading.new_rows,
        events=int(known["rows"].sum()) + int(known["companion_rows"].sum()),
        quarantined=int(known["quarantined"].sum()),
        open_sessions=known.filter(~pl.col("closed")).height,
        fail_closed=known.filter("fail_closed").height,
        problems=tuple(blocked.select(*_KEY, "status", "message").rows()),
        companion_events=int(known["companion_rows"].sum()),
    )
