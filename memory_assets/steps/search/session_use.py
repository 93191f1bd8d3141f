"""What one session decided already: what a search on its behalf leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os.path import exists
from pathlib import Path

import polars as pl

from memory_assets.domain.candidates import scope_of, scope_text
from memory_assets.domain.effective import EffectiveSession, effective_decisions
from memory_assets.domain.events import LedgerEvent
from memory_assets.domain.keys import cited_memories, duplicate_key
from memory_assets.domain.visibility import PERSONAS, Principal
from memory_assets.errors import UnknownSessionError
from memory_assets.storage.ledgers import (
    COMPANION_SUFFIX,
    LEDGER_SUFFIX,
    companion_path,
    ledger_path,
    read_ledger,
)

Exclusions = Mapping[str, tuple[str, str]]
"""memory_id → (code, reason)."""


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A session as its files stand now: ledger and companion read as one."""

    tenant_id: str
    session_id: str
    events: tuple[LedgerEvent, ...]
    effective: EffectiveSession

    @property
    def last_seq(self) -> int:
        """The last ledger row; 0 in an empty ledger."""
        return max((e.ref for e in self.events), default=0)


def read_session(
    ledgers: Path, tenant_id: str, session_id: str, principal: Principal | None = None
) -> LiveSession:
    """The session's rows and what they amount to, read from its files.

    A principal who does not see the whole tenant has the own sessions only; one whose rows name no
    user belongs to nobody in particular.

    Raises:
        UnknownSessionError: the tenant has no such session, or it is another user's.
        LedgerUnreadable: a file is there but cannot be read.
    """
    unknown = UnknownSessionError(
        f"The tenant {tenant_id!r} has no session {session_id!r}.",
        where=str(ledgers),
        remedy="name a session by its file's name, without .jsonl.",
    )
    path = ledger_path(ledgers, tenant_id, session_id)
    # Unlike the method of a path, this one is false for names that no file can have.
    if not _is_plain(tenant_id) or not _is_session(session_id) or not exists(path):
        raise unknown
    own = read_ledger(path, tenant_id=tenant_id, session_id=session_id, origin="ledger")
    ours = read_ledger(
        companion_path(ledgers, tenant_id, session_id),
        tenant_id=tenant_id,
        session_id=session_id,
        origin="companion",
    )
    users = {e.row.user_id for e in own.events if e.row.user_id}
    if principal is not None and not _may_work_in(principal, users):
        raise unknown
    events = (*own.events, *ours.events)
    return LiveSession(tenant_id, session_id, events, effective_decisions(events))


def _may_work_in(principal: Principal, users: set[str]) -> bool:
    sees_all = PERSONAS[principal.persona].crosses_tenants
    return sees_all or not users or principal.user in users


def decided_memories(
    session: LiveSession, active: pl.DataFrame, replaced: pl.DataFrame
) -> Exclusions:
    """Active memories that the session's decisions in force settle, each with the row that does.

    A memory is settled when a clarification in force cites it, says the same, or is where the
    memory came from, and when a legacy rejection hides it. Decisions that were withdrawn or left
    behind by a reopening settle nothing: what they had chosen may be proposed again.
    """
    found: dict[str, tuple[str, str]] = {}
    survivors = dict(replaced.select("memory_id", "superseded_by").rows())
    for hidden in sorted(session.effective.hidden_memories):
        found[survivors.get(hidden, hidden)] = ("hidden", "rejected in this session")
    held = [d.event for d in session.effective.clarifications() if d.in_force]
    for event in held:
        for cited in cited_memories(event.rationale):
            why = f"this session decided on {cited}"
            found.setdefault(survivors.get(cited, cited), ("decided-in-session", why))
    contents = {(duplicate_key(e.subject, e.detail), _scope(e)) for e in held}
    equal = pl.DataFrame(
        sorted(contents), schema={"duplicate_key": pl.String, "scope": pl.String}, orient="row"
    )
    for memory in active.join(equal, on=["duplicate_key", "scope"], how="semi")["memory_id"]:
        found.setdefault(memory, ("decided-in-session", "this session decided the same"))
    own = active.filter(
        pl.col("session_id") == session.session_id,
        pl.col("decision_seq").is_in([e.ref for e in held]),
    )
    for memory in own["memory_id"]:
        found.setdefault(memory, ("decided-in-session", "it came from this session"))
    return found


def _scope(event: LedgerEvent) -> str:
    row = event.row
    return scope_text(scope_of(row.user_id or None, row.client_id or None, row.audience or None))


def _is_session(name: str) -> bool:
    """Whether a ledger may have the name; the file beside it is no ledger."""
    return _is_plain(name) and not f"{name}{LEDGER_SUFFIX}".endswith(COMPANION_SUFFIX)


def _is_plain(name: str) -> bool:
    return bool(name) and "/" not in name and "\0" not in name and not name.startswith(".")
