"""Using a memory in a session: an agent proposes, a reviewer applies, and nothing else happens.

Both write to the session's companion file, never to the ledger, which belongs to its agent. A
memory that is not chosen leaves no row at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_assets.domain.events import LedgerEvent, format_ref
from memory_assets.domain.parsing import ParsedLedger
from memory_assets.domain.review import reviewer_refusal
from memory_assets.domain.said import LONGEST_NAME, LONGEST_REASON, checked
from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, StoreError, UsageError
from memory_assets.steps.search.lookup import Found, find_memory
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.session_use import LiveSession, decided_memories, read_session
from memory_assets.storage.access_log import UseEvent, append_uses
from memory_assets.storage.companion import append_missing
from memory_assets.storage.ledgers import companion_path

PHASE: Final = "F2"
_APPLIED: Final = "applied"


@dataclass(frozen=True, slots=True)
class UseResult:
    """What came of a proposal or an application."""

    tenant_id: str
    session_id: str
    memory_id: str
    written: bool
    """Whether a row was added; false when there was nothing to add."""
    ref: str | None
    """The companion row that holds it, ``m:N``."""
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "session_id": self.session_id,
            "memory_id": self.memory_id,
            "written": self.written,
            "ref": self.ref,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class _Use:
    """A memory that may be used, and the session that would use it."""

    found: Found
    session: LiveSession
    ledgers: Path

    @property
    def memory_id(self) -> str:
        return str(self.found.row["memory_id"])

    def decided(self) -> str | None:
        """Why the session needs this memory no more; None while it is open."""
        row, served = self.found.row, self.found.served
        replaced = served.replaced.filter(pl.col("tenant_id") == row["tenant_id"])
        rows = served.tenant(row["tenant_id"])
        why = decided_memories(self.session, rows.frame, replaced).get(self.memory_id)
        return None if why is None else why[1]

    def result(self, *, written: bool, ref: int | None, why: str) -> UseResult:
        return UseResult(
            self.session.tenant_id,
            self.session.session_id,
            self.memory_id,
            written,
            format_ref(ref) if ref is not None else None,
            why,
        )

    def append(self, row: Mapping[str, Any], is_same: Any) -> tuple[bool, int]:
        """Adds the row unless one that is the same came in since the session was read."""
        session = self.session
        known = {e.ref for e in session.events}
        path = companion_path(self.ledgers, session.tenant_id, session.session_id)

        def missing(parsed: ParsedLedger) -> list[Mapping[str, Any]]:
            fresh = [e for e in parsed.events if e.ref not in known and is_same(e)]
            after = max([session.last_seq, *(e.after_seq for e in parsed.events)])
            return [] if fresh else [{"after_seq": after, **row}]

        count = append_missing(
            path, tenant_id=session.tenant_id, session_id=session.session_id, missing=missing
        )
        again = read_session(self.ledgers, session.tenant_id, session.session_id)
        refs = [e.ref for e in again.events if e.ref < 0 and e.ref not in known and is_same(e)]
        if not refs:
            raise StoreError("The row was written but is not there.", where=str(path))
        return count > 0, max(refs)


def propose_use(
    searcher: Searcher,
    principal: Principal,
    memory_id: str,
    *,
    tenant_id: str | None,
    session_id: str,
    proposed_by: str,
    now: datetime,
) -> UseResult:
    """Records that an agent proposes a memory: decides nothing, and counts no use.

    A proposal that is on record already (with no ledger row since) is not repeated, and what the
    session decided is not proposed again.

    Raises:
        UnknownMemoryError, UnknownSessionError, UnknownTenantError, AccessDenied: there is nothing
            to propose, or not for this principal.
        UsageError: the name cannot be written down.
    """
    proposed_by = checked("name", proposed_by, longest=LONGEST_NAME, remedy="say who proposes it.")
    use = _open(searcher, principal, memory_id, tenant_id, session_id, path="search")
    why = use.decided()
    if why is not None:
        return use.result(written=False, ref=None, why=why)

    def is_same(event: LedgerEvent) -> bool:
        return event.type == "memory_proposed" and event.detail.strip() == memory_id

    for event in use.session.events:
        if is_same(event) and event.ref < 0 and event.after_seq >= use.session.last_seq:
            return use.result(written=False, ref=event.ref, why="proposed already")
    row = {
        "ts": now.isoformat(),
        "phase": PHASE,
        "type": "memory_proposed",
        "subject": use.found.row["subject"],
        "detail": memory_id,
        "metadata": {"by": proposed_by},
    }
    written, ref = use.append(row, is_same)
    return use.result(written=written, ref=ref, why="waits for a reviewer's choice")


def apply_memory(
    searcher: Searcher,
    principal: Principal,
    memory_id: str,
    *,
    tenant_id: str | None,
    session_id: str,
    reviewer: str,
    now: datetime,
    access_log: Path,
    reason: str = "",
) -> UseResult:
    """A reviewer's choice: the memory becomes a clarification of the session, and one use is kept.

    The clarification carries the memory's words and cites its id, so its later acceptance is a
    reuse and not a second memory. The use is logged under the row's own key: applying twice, or
    accepting the row afterwards, counts once. Run again after a crash, it logs what is missing.

    Raises:
        AccessDenied: the persona does not review, or the reviewer is an agent.
        UnknownMemoryError, UnknownSessionError, UnknownTenantError: there is nothing to apply.
        UsageError: the reason or the name cannot be written down.
    """
    name = reviewer.strip()
    refusal = reviewer_refusal(name)
    if refusal is not None:
        raise AccessDenied(
            f"Agents propose, they never apply: {refusal[1]}.",
            remedy="name the person who chose it with --reviewer.",
        )
    who = "name the person who chose it with --reviewer."
    checked("reviewer's name", name, longest=LONGEST_NAME, remedy=who)
    reason = checked("reason", reason, longest=LONGEST_REASON, remedy="", blank=True)
    use = _open(searcher, principal, memory_id, tenant_id, session_id, path="review")

    def is_same(event: LedgerEvent) -> bool:
        ours = event.type == "concept_clarified" and event.ref < 0
        return ours and (event.row.metadata or {}).get(_APPLIED) == memory_id

    held = [d.event for d in use.session.effective.clarifications() if d.in_force]
    applied = [e.ref for e in held if is_same(e)]
    if applied:
        ref, written = applied[0], False
    else:
        why = use.decided()
        if why is not None:
            return use.result(written=False, ref=None, why=why)
        written, ref = use.append(_clarification(use, name, reason, now), is_same)
    event = UseEvent(
        tenant_id=use.session.tenant_id,
        session_id=session_id,
        decision_seq=ref,
        memory_id=memory_id,
        used_at=now,
        used_by=name,
    )
    append_uses(access_log, [event])
    why = "applied in this session" if written else "applied already; its use counts once"
    return use.result(written=written, ref=ref, why=why)


def _open(
    searcher: Searcher,
    principal: Principal,
    memory_id: str,
    tenant_id: str | None,
    session_id: str,
    *,
    path: str,
) -> _Use:
    found = find_memory(searcher, principal, memory_id, tenant_id=tenant_id, path=path)
    if not found.active:
        survivor = found.row["superseded_by"]
        raise UsageError(
            f"{memory_id} is {found.row['status']}.",
            remedy=f"use {survivor}, which replaced it." if survivor else "search for another one.",
        )
    ledgers = searcher.ledgers()
    session = read_session(ledgers, str(found.row["tenant_id"]), session_id, principal)
    return _Use(found, session, ledgers)


def _clarification(use: _Use, reviewer: str, reason: str, now: datetime) -> dict[str, Any]:
    row = use.found.row
    asked = [e.question_context for e in use.session.events if e.question_context.strip()]
    fields = {
        "ts": now.isoformat(),
        "phase": PHASE,
        "type": "concept_clarified",
        "subject": row["subject"],
        "detail": row["detail"],
        "rationale": f"Reuses {use.memory_id}. {reason.strip()}".strip(),
        "question_context": asked[-1] if asked else "",
        "concepts": row["concepts"],
        # The scope of the memory: with another one its acceptance would be a second memory.
        "user_id": row["user_id"],
        "client_id": row["client_id"],
        "audience": row["audience"],
        "metadata": {_APPLIED: use.memory_id, "by": f"reviewer {reviewer}"},
    }
    return {k: v for k, v in fields.items() if v is not None}
