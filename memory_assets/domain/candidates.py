"""Which decisions may become memory: the deterministic preview, every refusal with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Final

from memory_assets.domain.effective import DecisionState, EffectiveSession
from memory_assets.domain.events import COLUMN_TYPES, REUSABLE_TYPES, TABLE_TYPES, format_ref
from memory_assets.domain.keys import duplicate_key

DEFAULT_SCHEMA_PATTERNS: Final = ("fact_*", "dim_*")
Scope = tuple[str, str, str]
"""Privacy scope inside a tenant: (user_id, client_id, audience); nothing merges across scopes."""


@dataclass(frozen=True, slots=True)
class SchemaNames:
    """What counts as a bare schema name in one session."""

    patterns: Sequence[str] = DEFAULT_SCHEMA_PATTERNS
    tables: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()

    def refusal(self, subject: str) -> str | None:
        """Why this subject is schema linking in disguise, or None when it is a concept."""
        name = subject.strip()
        if name in self.tables:
            return f"the subject {name!r} is a table of this session"
        if name in self.columns:
            return f"the subject {name!r} is a column of this session"
        bare = name.strip("`\"'").casefold()
        if not _any_of(tuple(self.patterns)).match(bare) or any(c.isspace() for c in bare):
            return None
        pattern = next(p for p in self.patterns if fnmatchcase(bare, p.casefold()))
        return f"the subject {name!r} has the shape of a schema name ({pattern})"


@lru_cache(maxsize=256)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all patterns: nearly no subject matches any, and every one is asked."""
    return re.compile("|".join(translate(p.casefold()) for p in patterns) or r"(?!)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An effective clarification without a verdict, offered to the reviewer."""

    decision: DecisionState
    duplicate_key: str
    scope: Scope
    equal_refs: tuple[int, ...] = ()
    """Later decisions of the session with equal content: they share this one's verdict."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A decision that is no candidate, and why."""

    decision: DecisionState
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Preview:
    """What one session offers to the reviewer; there is no cap on the number of candidates."""

    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    finished: bool = True
    needs_review: tuple[str, ...] = field(default=())
    """Reasons why nothing of this session may be promoted without a reviewer (fail closed)."""


def session_schema_names(
    session: EffectiveSession,
    *,
    patterns: Sequence[str] = DEFAULT_SCHEMA_PATTERNS,
    with_columns: bool = False,
) -> SchemaNames:
    """The tables (and, if asked for, columns) that the session's rows name, stale ones included."""
    tables: set[str] = set()
    columns: set[str] = set()
    for decision in session.decisions:
        event = decision.event
        tables.update(event.tables)
        if event.type in TABLE_TYPES:
            tables.add(event.subject.strip())
        elif with_columns and event.type in COLUMN_TYPES:
            columns.add(event.subject.strip())
    return SchemaNames(patterns, frozenset(tables) - {""}, frozenset(columns) - {""})


def scope_of(user_id: str | None, client_id: str | None, audience: str | None) -> Scope:
    """The privacy scope of a row: its owner columns and whom it is meant for.

    Without a stated audience a row belongs to its client, else to its user, else to the tenant:
    sharing more widely is something that somebody must say.
    """
    meant = audience or ("client" if client_id else "user" if user_id else "tenant")
    user = user_id or ""
    client = client_id or ""
    if meant == "tenant":
        user = client = ""
    elif meant in ("client", "profile"):
        user = ""
    return (user, client, meant)


def scope_text(scope: Scope) -> str:
    """The scope as one column holds it; distinct scopes give distinct texts, whatever the ids."""
    return "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in scope)


def refuse(decision: DecisionState, names: SchemaNames) -> tuple[str, str] | None:
    """(code, reason) why a decision can never be promoted, whatever its verdict; None if it can.

    The same rule guards preview, review, the applier of decisions and promotion.
    """
    event = decision.event
    if event.type not in REUSABLE_TYPES:
        return "not-reusable", f"{event.type} is local to its question, never memory"
    if not decision.in_force:
        by = format_ref(decision.ended_by or 0)
        return "not-in-force", f"no longer in force: {decision.ended_reason} by {by}"
    if not event.subject.strip() or not event.detail.strip():
        return "empty", "subject or detail is empty"
    why = names.refusal(event.subject)
    if why is not None:
        return "schema-name", why
    return None


def preview(session: EffectiveSession, names: SchemaNames) -> Preview:
    """The candidates of one session in ledger order, and everything refused with its reason.

    Effective → reusable type → not schema linking in disguise → no verdict yet → equal content
    once (the first one stands for the others).
    """
    candidates: dict[tuple[str, Scope], Candidate] = {}
    refused: list[Refusal] = []
    for decision in session.decisions:
        why = refuse(decision, names)
        if why is not None:
            refused.append(Refusal(decision, *why))
            continue
        if decision.verdict is not None:
            by = format_ref(decision.verdict_by or 0)
            refused.append(
                Refusal(decision, decision.verdict, f"already {decision.verdict} by {by}")
            )
            continue
        event = decision.event
        scope = scope_of(
            event.row.user_id or None, event.row.client_id or None, event.row.audience or None
        )
        key = (duplicate_key(event.subject, event.detail), scope)
        first = candidates.get(key)
        if first is None:
            candidates[key] = Candidate(decision, key[0], scope)
            continue
        candidates[key] = Candidate(
            first.decision, first.duplicate_key, scope, (*first.equal_refs, event.ref)
        )
        same_as = format_ref(first.decision.event.ref)
        refused.append(Refusal(decision, "equal-content", f"equal content to {same_as}"))
    return Preview(tuple(candidates.values()), tuple(refused), finished=session.finished)


def pending_refs(candidates: Iterable[Candidate]) -> tuple[int, ...]:
    """Refs of all decisions that wait for a verdict, those with equal content included."""
    return tuple(sorted(r for c in candidates for r in (c.decision.event.ref, *c.equal_refs)))
