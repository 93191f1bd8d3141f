"""Free-text events → facts, for the sessions whose events changed; one pass, answers kept."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
import polars as pl

from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.events import format_ref
from memory_assets.domain.extraction import (
    BadAnswer,
    Fact,
    answer_key,
    extractor_version,
    read_answer,
    verbatim,
)
from memory_assets.domain.keys import cited_memories, content_sha256, duplicate_key
from memory_assets.domain.personal import personal_text
from memory_assets.domain.schemas import (
    DECISIONS,
    EXTRACTED,
    FACTS,
    REFUSED_ANSWERS,
    SESSIONS,
    TableSpec,
)
from memory_assets.domain.tenants import VERBATIM
from memory_assets.embedding.http import RequestRefused
from memory_assets.errors import EmbeddingError
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.ledgers.decide import TenantRules, current_decisions
from memory_assets.steps.promotion.consolidate import is_finished
from memory_assets.steps.promotion.review_filter import NamesReader
from memory_assets.steps.tables.compaction import compacted
from memory_assets.steps.tables.frames import frame_of
from memory_assets.steps.tables.readings import READING, newest_rows
from memory_assets.storage.answers import AnswerStore
from memory_assets.storage.parts import DerivedTables

GROUP: Final = "extracted_facts"
EVENT_TYPE: Final = "memory_event"
RULES_VERSION: Final = "3"
"""Raised when the rules of extraction change, so that all sessions are looked at anew."""
_FACT: Final = "concept_clarified"
_REFUSALS: Final = 20
"""So many requests refused one after the other are no longer a matter of single texts."""
Row = dict[str, Any]
Ask = Callable[[str, str], str]
"""(model, text) → the model's answer; raises EmbeddingError when there is none."""


@dataclass(frozen=True, slots=True)
class ExtractRules:
    """What extraction has to know of the settings."""

    extractor: Callable[[str], str] = lambda _: VERBATIM
    rules_for: Callable[[str], TenantRules] = lambda _: TenantRules()
    idle_close: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ExtractResult:
    """What became of the free-text events; facts and refused answers of all sessions."""

    sessions: int
    """Sessions looked at in this run."""
    events: int
    """Their events."""
    facts: int
    refused_answers: int
    asked: int
    """Questions that a model was asked in this run; the other answers were there already."""
    pending: int
    """Events without an answer yet: the next run asks."""
    problems: tuple[str, ...] = ()
    """Why there is no answer."""

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        return {
            "sessions_looked_at": self.sessions,
            "events_looked_at": self.events,
            "facts": self.facts,
            "refused_answers": self.refused_answers,
            "questions_asked": self.asked,
            "events_pending": self.pending,
        }


@dataclass(slots=True)
class _Work:
    """Rows gathered while sessions are looked at."""

    answers: AnswerStore
    ask: Ask | None
    facts: list[tuple[object, ...]] = field(default_factory=list)
    refused: list[tuple[object, ...]] = field(default_factory=list)
    unanswered: set[tuple[str, str, int]] = field(default_factory=set)
    asked: int = 0
    pending: int = 0
    silent: dict[str, str] = field(default_factory=dict)
    """Models that do not answer, and why: asked once, then left alone until the next run."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Requests that each model refused since its last answer."""
    problems: dict[str, str] = field(default_factory=dict)
    """By model, the last of what kept events without an answer."""


def extract(
    derived: DerivedTables,
    answers: AnswerStore,
    rules: ExtractRules,
    *,
    now: datetime,
    ask: Ask | None = None,
) -> ExtractResult:
    """The facts brought up to date with the free-text events of finished sessions.

    ``ask`` puts a question to a model; without it only answers that are kept already count. An
    event that is no longer in force is never asked about. A model that fails leaves its events
    pending, and never stops the others.
    """
    sessions = derived.read(ingest.GROUP, SESSIONS)
    events = current_decisions(derived, sessions, where=pl.col("type") == EVENT_TYPE)
    stamp = _stamp(sessions["tenant_id"].unique().sort().to_list(), rules)
    same = derived.info(GROUP).get("rules") == stamp
    head = derived.head(GROUP) if same else {}
    done = derived.read(GROUP, EXTRACTED) if same else EXTRACTED.empty()
    finished = sessions.filter(pl.col("status") == "ok", is_finished(now, rules.idle_close)).select(
        READING
    )
    todo = events.join(finished, on=READING, how="semi").join(done, on=READING, how="anti")
    work = _Work(answers, ask)
    if todo.height or not same:
        names = NamesReader(derived, sessions, rules.rules_for)
        _look(todo, names(set(todo.select(READING[:2]).unique().rows())), rules, work)
        _commit(derived, head, todo, done, work, sessions, stamp)
    facts = current_facts(derived, sessions, ["fact_no"]).height
    bad = derived.read(GROUP, REFUSED_ANSWERS, READING)
    return ExtractResult(
        sessions=todo.select(READING).unique().height,
        events=todo.height,
        facts=facts,
        refused_answers=bad.join(sessions, on=READING, how="semi").height,
        asked=work.asked,
        pending=work.pending,
        problems=tuple(f"{model}: {why}" for model, why in sorted(work.problems.items())),
    )


def current_facts(
    derived: DerivedTables,
    sessions: pl.DataFrame,
    columns: Sequence[str] | None = None,
    where: pl.Expr | None = None,
) -> pl.DataFrame:
    """The facts of the newest reading of each session, by default in the columns of decisions."""
    wanted = DECISIONS.names() if columns is None else columns
    return newest_rows(derived, GROUP, FACTS, sessions, wanted, where)


def refused_answers(derived: DerivedTables) -> pl.DataFrame:
    """The answers in quarantine, those of each session's newest reading."""
    sessions = derived.read(ingest.GROUP, SESSIONS, READING)
    found = derived.read(GROUP, REFUSED_ANSWERS)
    return found.join(sessions, on=READING, how="semi")


def ask_again(derived: DerivedTables, answers: AnswerStore, keys: Sequence[str]) -> int:
    """Count of refused answers that are forgotten, so that the next run asks anew.

    All sessions are looked at again; the answers that are kept cost nothing.
    """
    gone = answers.forget(keys)
    if gone:
        derived.commit(GROUP, derived.head(GROUP), {**derived.info(GROUP), "rules": ""})
    return gone


def _look(
    events: pl.DataFrame,
    names: Mapping[tuple[str, str], SchemaNames],
    rules: ExtractRules,
    work: _Work,
) -> None:
    ordered = events.sort("tenant_id", "session_id", pl.col("decision_seq").abs())
    for row in ordered.iter_rows(named=True):
        session = (row["tenant_id"], row["session_id"])
        extractor = rules.extractor(row["tenant_id"])
        for number, fact in enumerate(_facts(row, extractor, work), 1):
            known = names.get(session) or SchemaNames()
            clients = rules.rules_for(row["tenant_id"]).client_names
            work.facts.append(_fact_row(row, number, fact, extractor, known, clients))


def _facts(row: Row, extractor: str, work: _Work) -> Sequence[Fact]:
    text = row["detail"]
    if extractor == VERBATIM:
        return verbatim(text, subject=row["subject"], concepts=row["concepts"])
    model = extractor.partition(":")[2]
    if not text.strip():
        return ()
    key = answer_key(row["tenant_id"], model, text)
    answer = work.answers.get(key)
    if answer is None and row["in_force"]:
        answer = _asked(row, model, key, extractor, work)
    if answer is None:
        return ()
    found = read_answer(answer, text)
    if isinstance(found, BadAnswer):
        place = (row["tenant_id"], row["session_id"], row["decision_seq"], 0, row["ingest_no"])
        version = extractor_version(extractor)
        work.refused.append((*place, version, key, found.code, found.reason, answer))
        return ()
    return found


def _asked(row: Row, model: str, key: str, extractor: str, work: _Work) -> str | None:
    source = (row["tenant_id"], row["session_id"], row["decision_seq"])
    if work.ask is not None and model not in work.silent:
        try:
            answer = work.ask(model, row["detail"])
        except EmbeddingError as error:
            _note_failure(error, model, work)
        else:
            work.asked += 1
            work.refusals[model] = 0
            work.answers.put(key, answer, source=source, extractor=extractor_version(extractor))
            return answer
    work.pending += 1
    work.unanswered.add((row["tenant_id"], row["session_id"], row["ingest_no"]))
    return None


def _note_failure(error: EmbeddingError, model: str, work: _Work) -> None:
    """Leaves the model alone for this run, unless this one text alone may be at fault.

    A text that is too long, or that a policy of the service refuses, must not keep the others from
    being asked about, tonight and every night after.
    """
    why = f"{error.what} {error.remedy}".strip()
    work.problems[model] = why
    work.refusals[model] += 1
    if not isinstance(error, RequestRefused) or work.refusals[model] >= _REFUSALS:
        work.silent[model] = why


def _fact_row(
    row: Row,
    number: int,
    fact: Fact,
    extractor: str,
    names: SchemaNames,
    client_names: Sequence[str],
) -> tuple[object, ...]:
    """All but subject and detail come from the event's own row, whatever the text or model says."""
    why = _refusal(row, fact, names)
    reusable = why is None
    version = extractor_version(extractor)
    content: Row = {
        "type": _FACT,
        "subject": fact.subject,
        "detail": fact.detail,
        "rationale": row["rationale"],
        "question_context": row["question_context"],
        "tables": (),
        "concepts": row["concepts"],
    }
    made = {
        **row,
        **content,
        "fact_no": number,
        "metadata": _provenance(row, fact, version),
        "verdict": None,
        "verdict_by": None,
        "refusal_code": why[0] if why else None,
        "refusal_reason": why[1] if why else None,
        "duplicate_key": duplicate_key(fact.subject, fact.detail) if reusable else "",
        "content_sha256": content_sha256(**content) if reusable else "",
        "cites": cited_memories(row["rationale"]) if reusable else (),
        "span_start": fact.start,
        "span_end": fact.end,
        "extractor": version,
    }
    made["personal"] = personal_text(made, client_names) if reusable else None
    return tuple(made[name] for name in FACTS.names())


def _refusal(row: Row, fact: Fact, names: SchemaNames) -> tuple[str, str] | None:
    if not row["in_force"]:
        by = format_ref(row["ended_by"] or 0)
        return "not-in-force", f"no longer in force: {row['ended_reason']} by {by}"
    why = names.refusal(fact.subject)
    return ("schema-name", why) if why is not None else None


def _provenance(row: Row, fact: Fact, version: str) -> str:
    source = {
        "ref": format_ref(row["decision_seq"]),
        "span": [fact.start, fact.end],
        "extractor": version,
    }
    own = msgspec.json.decode(row["metadata"])
    return msgspec.json.encode({**own, "extracted": source}, order="deterministic").decode()


def _commit(
    derived: DerivedTables,
    head: Mapping[str, Sequence[Any]],
    todo: pl.DataFrame,
    done: pl.DataFrame,
    work: _Work,
    sessions: pl.DataFrame,
    stamp: str,
) -> None:
    number = int(derived.info(GROUP).get("run_no", 0)) + 1
    label = f"{number:08d}"
    live = sessions.select(READING)

    def settled(reading: Iterator[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        # A session with a question open is looked at whole again, once there is an answer.
        return [r for r in reading if r[:3] not in work.unanswered]

    ingest_at = FACTS.names().index("ingest_no")
    fresh: dict[TableSpec, list[tuple[object, ...]]] = {
        FACTS: [r for r in work.facts if (r[0], r[1], r[ingest_at]) not in work.unanswered],
        REFUSED_ANSWERS: [r for r in work.refused if (r[0], r[1], r[4]) not in work.unanswered],
    }
    listed = {}
    for spec, rows in fresh.items():
        part = derived.parts.write(spec, frame_of(spec, rows), label)
        parts = [*head.get(spec.name, []), *([part] if part else [])]
        listed[spec.name] = compacted(derived.parts, spec, parts, live=live, label=label)
    looked = settled(todo.select(READING).unique(maintain_order=True).iter_rows())
    whole = pl.concat([done, frame_of(EXTRACTED, looked)])
    whole = whole.join(live, on=READING, how="semi").sort(READING)
    part = derived.parts.write(EXTRACTED, whole, label)
    listed[EXTRACTED.name] = [part] if part else []
    derived.commit(GROUP, listed, {"rules": stamp, "run_no": number})


def _stamp(tenants: Sequence[str], rules: ExtractRules) -> str:
    """Changes when an extractor, its version or a tenant's schema names do."""
    usual = (extractor_version(VERBATIM), astuple(TenantRules()))
    each = {
        t: (extractor_version(rules.extractor(t)), astuple(rules.rules_for(t))) for t in tenants
    }
    special = sorted((t, made) for t, made in each.items() if made != usual)
    whole = [RULES_VERSION, usual, special]
    return hashlib.sha256(msgspec.json.encode(whole)).hexdigest()[:16]
