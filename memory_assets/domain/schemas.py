"""Declared schemas of every table: column names, types and what they mean.

One place: the frames that stages exchange, the Parquet parts, the column schemas in the Dagster UI
and the data dictionary in the docs all derive from these declarations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import polars as pl

UTC_TIME: Final = pl.Datetime("us", "UTC")
TEXTS: Final = pl.List(pl.String)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    meaning: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table: what one row stands for, and its columns in order."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pl.Schema:
        """Column names and Polars types, in order."""
        return pl.Schema({c.name: c.dtype for c in self.columns})

    def empty(self) -> pl.DataFrame:
        """A frame of this schema without rows."""
        return pl.DataFrame(schema=self.schema)

    def frame(self, rows: Iterable[tuple[object, ...]]) -> pl.DataFrame:
        """A frame of this schema from tuples in column order."""
        return pl.DataFrame(list(rows), schema=self.schema, orient="row")

    def names(self) -> list[str]:
        """Column names in order."""
        return [c.name for c in self.columns]


_SESSION = (
    Column("tenant_id", pl.String, "Tenant: the folder that holds the ledger."),
    Column("session_id", pl.String, "Session: the ledger's file name."),
)
_CONTENT = (
    Column("type", pl.String, "Event type of the row."),
    Column("subject", pl.String, "What is defined or decided."),
    Column("detail", pl.String, "The definition, formula or choice, or the reference of a marker."),
    Column("rationale", pl.String, "Why; cites memories that were reused."),
    Column("question_context", pl.String, "The question under work."),
    Column("tables", TEXTS, "Tables named by the row; empty for new memories."),
    Column("concepts", TEXTS, "Concepts named by the row."),
)
_OWNER = (
    Column("user_id", pl.String, "User of the session, if the row is bound to one.", True),
    Column("client_id", pl.String, "Client that the row is about, if any.", True),
    Column("audience", pl.String, "tenant, client, user or profile.", True),
)
_ORIGIN = (
    Column("source", pl.String, "CHAT, TOOL_OUT, OBSERVATION or DECISION.", True),
    Column("metadata", pl.String, "JSON object with sorted keys, as the writer gave it."),
)
_INGEST = Column("ingest_no", pl.Int64, "Which reading of the session; the newest one counts.")
_PROMOTION_KEY = (
    *_SESSION,
    Column(
        "decision_seq", pl.Int64, "N for seq:N in the ledger, -N for m:N in the companion file."
    ),
    Column("fact_no", pl.Int64, "0 for a decision; 1, 2 … for facts extracted from one row."),
)

EVENTS: Final = TableSpec(
    "events",
    "One accepted ledger or companion row of one reading of a session.",
    (
        *_SESSION,
        _INGEST,
        Column("ref", pl.Int64, "N for seq:N in the ledger, -N for m:N in the companion file."),
        Column("after_seq", pl.Int64, "Ledger row that this one follows in the replay."),
        Column("ts", UTC_TIME, "When the row was written, UTC."),
        Column("ts_note", pl.String, "naive or epoch_ms when ts was no RFC 3339 time with offset."),
        Column("phase", pl.String, "Phase F1 to F8.", True),
        *_CONTENT,
        *_OWNER,
        *_ORIGIN,
        Column("extra", pl.String, "JSON object of fields that this version does not know."),
        Column("line", pl.Int64, "Line number in its file."),
        Column("target", pl.Int64, "The row that detail refers to.", True),
    ),
)

QUARANTINE: Final = TableSpec(
    "quarantine",
    "One refused line, with what is needed to repair it.",
    (
        *_SESSION,
        _INGEST,
        Column("file", pl.String, "Path of the file below the ledgers folder."),
        Column("origin", pl.String, "ledger or companion."),
        Column("line", pl.Int64, "Line number."),
        Column("offset", pl.Int64, "Byte offset of the line."),
        Column("code", pl.String, "Stable reason code."),
        Column("reason", pl.String, "What is wrong, in words."),
        Column("raw", pl.Binary, "The bytes of the line, unchanged."),
    ),
)

SESSIONS: Final = TableSpec(
    "sessions",
    "One session: its watermark, and whether it may be consolidated.",
    (
        *_SESSION,
        _INGEST,
        Column(
            "status", pl.String, "ok, append-only-violation, missing, unreadable, unknown-tenant."
        ),
        Column("message", pl.String, "What is wrong and what to do, when status is not ok."),
        Column("closed", pl.Boolean, "The last ledger row is a close in force."),
        Column("torn", pl.Boolean, "The last line is still being written."),
        Column("fail_closed", pl.Boolean, "A refused line may hide a withdrawal: review only."),
        Column("rows", pl.Int64, "Accepted ledger rows."),
        Column("companion_rows", pl.Int64, "Accepted companion rows."),
        Column("quarantined", pl.Int64, "Refused lines of both files."),
        Column("ledger_refused", pl.Int64, "Refused lines of the ledger alone: may be repaired."),
        Column("last_seq", pl.Int64, "seq of the last accepted ledger row; 0 without rows."),
        Column("last_ts", UTC_TIME, "Time of the last accepted ledger row.", True),
        Column("ledger_stat", pl.String, "Size, times and inode when last read."),
        Column("ledger_sha256", pl.String, "Hash of the ledger's bytes when last read."),
        Column("ledger_digests", pl.Binary, "8 bytes per accepted row: its canonical content."),
        Column("companion_stat", pl.String, "The same for the companion file; empty without one."),
        Column("companion_sha256", pl.String, "Hash of the companion file's bytes."),
    ),
)

DECISIONS: Final = TableSpec(
    "decisions",
    "One decision of a session after the replay: in force, or what ended it.",
    (
        *_PROMOTION_KEY,
        _INGEST,
        Column("decided_at", UTC_TIME, "Time of the deciding row."),
        Column("phase", pl.String, "Phase of the decision.", True),
        *_CONTENT,
        *_OWNER,
        *_ORIGIN,
        Column("in_force", pl.Boolean, "Whether the decision still holds."),
        Column("ended_by", pl.Int64, "The row that ended it.", True),
        Column("ended_reason", pl.String, "withdrawn, phase_reopened or phase_rolled_back.", True),
        Column("verdict", pl.String, "promoted or declined, from a marker in force.", True),
        Column("verdict_by", pl.Int64, "The marker row.", True),
        Column("refusal_code", pl.String, "Why it can never be promoted; null if it can.", True),
        Column("refusal_reason", pl.String, "The same in words.", True),
        Column("duplicate_key", pl.String, "Key of equal content."),
        Column("content_sha256", pl.String, "Hash of the content columns."),
        Column("scope", pl.String, "Privacy scope: user, client and audience."),
        Column("cites", TEXTS, "Memory ids that the rationale cites."),
        Column("personal", pl.String, "Kinds of personal data that it holds, if any.", True),
    ),
)

DECIDED: Final = TableSpec(
    "decided",
    "One reading of a session whose decisions have been worked out.",
    (*_SESSION, _INGEST),
)

FACTS: Final = TableSpec(
    "facts",
    "One fact made of a free-text event: a row of the shape of a decision, with fact_no above 0.",
    (
        *DECISIONS.columns,
        Column("span_start", pl.Int64, "First character of the text that it stands on."),
        Column("span_end", pl.Int64, "Character behind the last one."),
        Column("extractor", pl.String, "Extractor with the version of its rule or prompt."),
    ),
)

REFUSED_ANSWERS: Final = TableSpec(
    "refused_answers",
    "A model's answer about one event that is not what was asked for, kept as it came.",
    (
        *_PROMOTION_KEY,
        _INGEST,
        Column("extractor", pl.String, "Extractor with the version of its prompt."),
        Column("answer_key", pl.String, "Key of the answer in the store of answers."),
        Column("code", pl.String, "Stable reason code."),
        Column("reason", pl.String, "What is wrong, in words; quotes nothing."),
        Column("answer", pl.String, "The answer, unchanged."),
    ),
)

EXTRACTED: Final = TableSpec(
    "extracted",
    "One reading of a session whose events have been made into facts.",
    (*_SESSION, _INGEST),
)

NEAR_DUPLICATES: Final = TableSpec(
    "near_duplicates",
    "How a decision that the automatic policy would accept stands to the memory nearest to it.",
    (
        *_PROMOTION_KEY,
        Column("content_sha256", pl.String, "Hash of the content that was judged."),
        Column("outcome", pl.String, "corroborate, or review."),
        Column("memory_id", pl.String, "The memory."),
        Column("cosine", pl.Float64, "Raw cosine to the memory, when one was computed.", True),
        Column("space_id", pl.String, "Embedding space of the cosine.", True),
        Column("guards", pl.String, "JSON of guard verdicts, when guards ran.", True),
        Column("rule_version", pl.String, "Version of the rule that settled it."),
    ),
)

CANDIDATES: Final = TableSpec(
    "candidates",
    "An effective clarification that waits for a reviewer.",
    (
        *_PROMOTION_KEY,
        Column("decided_at", UTC_TIME, "Time of the deciding row."),
        *_CONTENT,
        *_OWNER,
        Column("content_sha256", pl.String, "Hash of the content a reviewer sees."),
        Column("scope", pl.String, "Privacy scope: user, client and audience."),
        Column("label", pl.String, "new, duplicate of mem-…, or refines mem-…."),
        Column("fail_closed", pl.Boolean, "The session has refused lines: a person must decide."),
        Column("personal", pl.String, "Kinds of personal data that it holds, if any.", True),
        Column("route", pl.String, "review or deferred."),
    ),
)

REVIEW_QUEUE: Final = TableSpec(
    "review_queue",
    "One item that waits for a reviewer: a candidate, or a proposal about a published memory.",
    (
        *_PROMOTION_KEY,
        Column("item_id", pl.String, "The item's name, as reviewers type it."),
        Column("kind", pl.String, "candidate, or the kind of proposal: retire, merge and so on."),
        Column("memory_ids", TEXTS, "Of a proposal: the memories; the first one would change."),
        Column(
            "label", pl.String, "new, duplicate of, refines, conflicts with or contained in mem-…."
        ),
        Column("why", pl.String, "What gave rise to a proposal; of feedback, what was said."),
        Column("state", pl.String, "waiting or deferred."),
        Column("waits_since", UTC_TIME, "Time of the deciding row, or of the cause.", True),
        *_CONTENT,
        *_OWNER,
        Column("content_sha256", pl.String, "Hash of what a reviewer sees."),
        Column("scope", pl.String, "Privacy scope: user, client and audience."),
        Column("fail_closed", pl.Boolean, "The session has refused lines: a person must decide."),
        Column("personal", pl.String, "Kinds of personal data that it holds, if any.", True),
        Column("neighbours", pl.String, "JSON: nearest memories, cosines, guards that object."),
    ),
)

MEMORIES: Final = TableSpec(
    "memories",
    "One published memory; its content never changes.",
    (
        Column("tenant_id", pl.String, "Tenant that owns the memory."),
        Column("memory_id", pl.String, "mem-0001 …; unique per tenant, never reused."),
        Column("session_id", pl.String, "Session that decided it."),
        *_PROMOTION_KEY[2:],
        Column("decided_at", UTC_TIME, "Time of the deciding row."),
        Column("promoted_generation", pl.Int64, "Generation that published it."),
        *_CONTENT,
        *_OWNER,
        *_ORIGIN,
        Column("content_sha256", pl.String, "Hash of the content columns: never changes."),
        Column("duplicate_key", pl.String, "Key of equal content."),
        Column("scope", pl.String, "Privacy scope: user, client and audience."),
        Column("origin", pl.String, "reviewed, edited, automatic, extracted, manual or imported."),
        Column("edited_from", pl.String, "JSON of the text before a reviewer's edit.", True),
        Column("verdict_by", pl.String, "Who accepted it: a marker, a reviewer, or the policy."),
    ),
)

CORROBORATIONS: Final = TableSpec(
    "corroborations",
    "A decision that restates an existing memory: counted once, its own words kept.",
    (
        Column("tenant_id", pl.String, "Tenant that owns the memory."),
        Column("memory_id", pl.String, "The memory that was seen again."),
        Column("session_id", pl.String, "Session of the incoming decision."),
        *_PROMOTION_KEY[2:],
        Column("kind", pl.String, "equal, reuse or duplicate."),
        Column("decided_at", UTC_TIME, "Time of the incoming row."),
        Column("generation", pl.Int64, "Generation that recorded it."),
        *_CONTENT,
        Column("content_sha256", pl.String, "Hash of the incoming content."),
        Column("cosine", pl.Float64, "Raw cosine to the memory, when one was computed.", True),
        Column("space_id", pl.String, "Embedding space of the cosine.", True),
        Column("guards", pl.String, "JSON of guard verdicts, when guards ran.", True),
        Column("rule_version", pl.String, "Version of the rule that settled it."),
        Column("verdict_by", pl.String, "Who accepted it: a marker, a reviewer, or the policy."),
        *_OWNER,
        Column("source", pl.String, "CHAT, TOOL_OUT, OBSERVATION or DECISION.", True),
        Column("metadata", pl.String, "JSON object; null in rows of earlier versions.", True),
    ),
)

USES: Final = TableSpec(
    "uses",
    "A recorded use of a memory: a reviewer applied it in a session. Counted once per row applied.",
    (
        *_PROMOTION_KEY,
        Column("memory_id", pl.String, "The memory that was used."),
        Column("used_at", UTC_TIME, "When it was applied."),
        Column("used_by", pl.String, "Who applied it."),
        Column("generation", pl.Int64, "Generation that recorded it."),
    ),
)

DETACHMENTS: Final = TableSpec(
    "detachments",
    "A corroboration that was no duplicate: its words are a memory of its own now.",
    (
        *_PROMOTION_KEY,
        Column("memory_id", pl.String, "The memory that it had corroborated."),
        Column("detached_as", pl.String, "The memory that it became."),
        Column("generation", pl.Int64, "Generation that recorded it."),
        Column("decided_by", pl.String, "Reviewer, or the calibrated rule."),
        Column("reason", pl.String, "Why."),
    ),
)

SUPERSESSIONS: Final = TableSpec(
    "supersessions",
    "B replaces A; A stays. A retraction row undoes an earlier one.",
    (
        Column("tenant_id", pl.String, "Tenant of both memories."),
        Column("memory_id", pl.String, "The memory that is replaced."),
        Column("superseded_by", pl.String, "The memory that replaces it."),
        Column("generation", pl.Int64, "Generation that recorded it."),
        Column("retracted", pl.Boolean, "True undoes the earlier row of this pair."),
        Column("decided_by", pl.String, "Reviewer, or the calibrated rule."),
        Column("evidence", pl.String, "JSON: cosine, space, guard verdicts, rule version."),
    ),
)

RETIREMENTS: Final = TableSpec(
    "retirements",
    "A memory taken out of search by a reviewer; its record stays.",
    (
        Column("tenant_id", pl.String, "Tenant of the memory."),
        Column("memory_id", pl.String, "The retired memory."),
        Column("generation", pl.Int64, "Generation that recorded it."),
        Column("reason", pl.String, "Why."),
        Column("decided_by", pl.String, "Who."),
    ),
)

TIER_ASSIGNMENTS: Final = TableSpec(
    "tier_assignments",
    "A change of tier with its reason; a memory without a row is in recall.",
    (
        Column("tenant_id", pl.String, "Tenant of the memory."),
        Column("memory_id", pl.String, "The memory."),
        Column("tier", pl.String, "core, recall or archival."),
        Column("generation", pl.Int64, "Generation that recorded it."),
        Column("reason", pl.String, "Rule or person that changed it."),
        Column("inputs", pl.String, "JSON of the figures that the rule saw."),
    ),
)

TOMBSTONES: Final = TableSpec(
    "tombstones",
    "A promotion key that must never come back; holds no content.",
    (
        *_PROMOTION_KEY,
        Column("memory_id", pl.String, "The id that the erased memory had, if any.", True),
        Column("generation", pl.Int64, "Generation that recorded it."),
        Column("reason", pl.String, "erasure or legacy cleanup."),
    ),
)

DERIVED_TABLES: Final = (
    EVENTS,
    QUARANTINE,
    SESSIONS,
    DECIDED,
    DECISIONS,
    CANDIDATES,
    REVIEW_QUEUE,
    FACTS,
    REFUSED_ANSWERS,
    EXTRACTED,
    NEAR_DUPLICATES,
)
REGISTRY_TABLES: Final = (
    MEMORIES,
    CORROBORATIONS,
    DETACHMENTS,
    USES,
    SUPERSESSIONS,
    RETIREMENTS,
    TIER_ASSIGNMENTS,
    TOMBSTONES,
)
TABLES: Final = {t.name: t for t in (*DERIVED_TABLES, *REGISTRY_TABLES)}
PROMOTION_KEY: Final = [c.name for c in _PROMOTION_KEY]
