"""Events → effective decisions, for the sessions whose events changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from typing import Any, Final

import msgspec
import polars as pl

from memory_assets.domain.candidates import (
    DEFAULT_SCHEMA_PATTERNS,
    SchemaNames,
    refuse,
    scope_of,
    scope_text,
    session_schema_names,
)
from memory_assets.domain.effective import DecisionState, EffectiveSession, effective_decisions
from memory_assets.domain.events import LedgerEvent, RawRow
from memory_assets.domain.keys import cited_memories, content_sha256, duplicate_key
from memory_assets.domain.personal import personal_text
from memory_assets.domain.schemas import DECIDED, DECISIONS, EVENTS, SESSIONS
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.tables.compaction import compacted
from memory_assets.steps.tables.frames import frame_of
from memory_assets.steps.tables.readings import READING, newest_rows
from memory_assets.storage.parts import DerivedTables

GROUP: Final = "effective_decisions"
RULES_VERSION: Final = "3"
"""Raised when the rules of replay, refusal or personal data change: all is judged anew."""


@dataclass(frozen=True, slots=True)
class TenantRules:
    """What of a tenant's settings shapes its decisions; a change has all worked out anew."""

    patterns: tuple[str, ...] = DEFAULT_SCHEMA_PATTERNS
    with_columns: bool = False
    user_owns: bool = False
    """A row that names a user and no audience belongs to that user alone."""
    client_names: tuple[str, ...] = ()
    """Names that count as personal data."""


@dataclass(frozen=True, slots=True)
class DecideResult:
    """What the replay found."""

    sessions: int
    decided: int
    """Sessions replayed in this run."""
    decisions: int
    in_force: int
    clarifications_in_force: int

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        return {
            "sessions": self.sessions,
            "sessions_replayed": self.decided,
            "decisions": self.decisions,
            "effective_decisions": self.in_force,
            "effective_clarifications": self.clarifications_in_force,
        }


def decide(
    derived: DerivedTables, *, rules_for: Callable[[str], TenantRules] = lambda _: TenantRules()
) -> DecideResult:
    """The decisions table brought up to date: sessions with new events are replayed whole."""
    sessions = derived.read(ingest.GROUP, SESSIONS)
    readings = sessions.filter(pl.col("ingest_no") > 0).select(READING)
    rules = _rules_hash(sessions["tenant_id"].unique().sort().to_list(), rules_for)
    head = derived.head(GROUP)
    same_rules = derived.info(GROUP).get("rules") == rules
    done = derived.read(GROUP, DECIDED) if same_rules else DECIDED.empty()
    todo = readings.join(done, on=READING, how="anti")
    if todo.height or not same_rules:
        rows = [row for s in _replayed(derived, todo) for row in _rows(s, rules_for)]
        number = int(derived.info(GROUP).get("run_no", 0)) + 1
        label = f"{number:08d}"
        part = derived.parts.write(DECISIONS, frame_of(DECISIONS, rows), label)
        kept = head.get(DECISIONS.name, []) if same_rules else []
        listed = compacted(
            derived.parts, DECISIONS, [*kept, *([part] if part else [])], live=readings, label=label
        )
        decided = derived.parts.write(DECIDED, readings.sort(READING), label)
        derived.commit(
            GROUP,
            {DECISIONS.name: listed, DECIDED.name: [decided] if decided else []},
            {"rules": rules, "run_no": number},
        )
    current = current_decisions(derived, sessions, ["type", "in_force"])
    in_force = current.filter("in_force")
    return DecideResult(
        sessions=readings.height,
        decided=todo.height,
        decisions=current.height,
        in_force=in_force.height,
        clarifications_in_force=in_force.filter(pl.col("type") == "concept_clarified").height,
    )


def current_decisions(
    derived: DerivedTables,
    sessions: pl.DataFrame,
    columns: Sequence[str] | None = None,
    where: pl.Expr | None = None,
) -> pl.DataFrame:
    """The decisions of the newest reading of each session; only what is asked for is decoded."""
    wanted = DECISIONS.names() if columns is None else columns
    return newest_rows(derived, GROUP, DECISIONS, sessions, wanted, where)


def replay_events(events: pl.DataFrame) -> Iterator[tuple[str, str, int, EffectiveSession]]:
    """(tenant_id, session_id, ingest_no, outcome) per session of an events frame."""
    ordered = events.select(EVENTS.names()).sort(READING)
    for key, rows in groupby(ordered.iter_rows(), key=lambda r: r[:3]):
        yield (*key, effective_decisions([_event(r) for r in rows]))


def _replayed(
    derived: DerivedTables, todo: pl.DataFrame
) -> Iterator[tuple[str, str, int, EffectiveSession]]:
    if todo.is_empty():
        return iter(())
    return replay_events(ingest.current_events(derived, todo))


def _event(r: tuple[Any, ...]) -> LedgerEvent:
    row = RawRow(
        abs(r[3]),
        "",
        r[8],
        phase=r[7],
        subject=r[9],
        detail=r[10],
        rationale=r[11],
        question_context=r[12],
        tables=tuple(r[13]),
        concepts=tuple(r[14]),
        user_id=r[15],
        client_id=r[16],
        audience=r[17],
        source=r[18],
        metadata=msgspec.json.decode(r[19]) if r[19] != "{}" else {},
    )
    return LedgerEvent(row, r[0], r[1], r[3], r[4], r[5], r[6], r[22], r[21], r[20])


def _rows(
    replayed: tuple[str, str, int, EffectiveSession], rules_for: Callable[[str], TenantRules]
) -> Iterator[tuple[object, ...]]:
    tenant, _, ingest_no, session = replayed
    rules = rules_for(tenant)
    names = session_schema_names(session, patterns=rules.patterns, with_columns=rules.with_columns)
    for decision in session.decisions:
        yield _row(decision, names, ingest_no, rules)


def _row(
    decision: DecisionState, names: SchemaNames, ingest_no: int, rules: TenantRules
) -> tuple[object, ...]:
    e = decision.event
    row = e.row
    why = refuse(decision, names)
    user, client, audience = row.user_id or None, row.client_id or None, row.audience or None
    if audience is None and user is not None and rules.user_owns:
        audience = "user"
    reusable = why is None
    return (
        e.tenant_id,
        e.session_id,
        e.ref,
        0,
        ingest_no,
        e.ts,
        e.phase,
        e.type,
        e.subject,
        e.detail,
        e.rationale,
        e.question_context,
        e.tables,
        e.concepts,
        user,
        client,
        audience,
        row.source or None,
        e.metadata,
        decision.in_force,
        decision.ended_by,
        decision.ended_reason,
        decision.verdict,
        decision.verdict_by,
        why[0] if why else None,
        why[1] if why else None,
        duplicate_key(e.subject, e.detail) if reusable else "",
        content_hash(e) if reusable else "",
        scope_text(scope_of(user, client, audience)),
        cited_memories(e.rationale) if reusable else (),
        personal_text(_published(e), rules.client_names) if reusable else None,
    )


def _published(e: LedgerEvent) -> dict[str, Any]:
    return {
        "subject": e.subject,
        "detail": e.detail,
        "rationale": e.rationale,
        "question_context": e.question_context,
        "concepts": e.concepts,
        "metadata": e.metadata,
    }


def content_hash(e: LedgerEvent) -> str:
    """Hash of the content columns as the registry stores them (tables empty)."""
    return content_sha256(
        type=e.type,
        subject=e.subject,
        detail=e.detail,
        rationale=e.rationale,
        question_context=e.question_context,
        tables=(),
        concepts=e.concepts,
    )


def _rules_hash(tenants: Iterable[str], rules_for: Callable[[str], TenantRules]) -> str:
    # Tenants with the usual rules do not count: a new one must not make all the others be redone.
    usual = TenantRules()
    special = {t: astuple(rules_for(t)) for t in tenants if rules_for(t) != usual}
    used = [RULES_VERSION, astuple(usual), sorted(special.items())]
    return hashlib.sha256(msgspec.json.encode(used)).hexdigest()[:16]
