"""Questions with known answers: those that ledgers imply, and those that a file states."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl

from memory_assets.domain.language import detect
from memory_assets.domain.schemas import SESSIONS
from memory_assets.errors import UsageError
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.ledgers.decide import current_decisions
from memory_assets.steps.search.state import ServedGeneration
from memory_assets.storage.parts import DerivedTables

CITED: Final = "cited"
RECURRING: Final = "recurring"
LABELLED: Final = "labelled"
_GZIP: Final = b"\x1f\x8b"
_ID = ["tenant_id", "memory_id"]


@dataclass(frozen=True, slots=True)
class Case:
    """One question, and the memories that it needed."""

    tenant_id: str
    query: str
    needed: frozenset[str]
    language: str
    source: str
    """``cited``: the session reused them. ``recurring``: another session had clarified the same
    before. ``labelled``: a file says so."""
    session_id: str | None = None
    """The session that asked: its own memories did not exist yet, so they are left out."""


def ledger_cases(derived: DerivedTables, served: ServedGeneration) -> list[Case]:
    """The questions of sessions whose clarifications in force are memories of other sessions.

    A session that cites a memory shows what its question needed; so does one that clarified what a
    memory from another session says (equal content, same privacy scope). A memory's own question is
    part of its indexed text, so asking that again would measure nothing.
    """
    sessions = derived.read(ingest.GROUP, SESSIONS)
    closed = sessions.filter("closed").select("tenant_id", "session_id")
    held = (
        current_decisions(derived, sessions)
        .filter("in_force", pl.col("refusal_code").is_null())
        .filter(pl.col("question_context").str.strip_chars() != "")
        .join(closed, on=["tenant_id", "session_id"], how="semi")
        .select("tenant_id", "session_id", "question_context", "scope", "duplicate_key", "cites")
    )
    memories = served.active.select(
        *_ID, "scope", "duplicate_key", pl.col("session_id").alias("from_session")
    )
    recurring = held.join(memories, on=["tenant_id", "scope", "duplicate_key"]).with_columns(
        pl.lit(RECURRING).alias("source")
    )
    cited = (
        held.explode("cites", empty_as_null=False)
        .rename({"cites": "memory_id"})
        .join(served.replaced, on=_ID, how="left")
        .with_columns(pl.coalesce("superseded_by", "memory_id").alias("memory_id"))
        .join(memories.select(*_ID, "from_session"), on=_ID)
        .with_columns(pl.lit(CITED).alias("source"))
    )
    columns = ["tenant_id", "session_id", "question_context", "memory_id", "from_session", "source"]
    found = (
        pl.concat([cited.select(columns), recurring.select(columns)])
        .filter(pl.col("from_session") != pl.col("session_id"))
        .unique(["tenant_id", "session_id", "question_context", "memory_id"], keep="first")
        .group_by("tenant_id", "session_id", "question_context")
        .agg(pl.col("memory_id"), pl.col("source").min())
        .sort("tenant_id", "session_id", "question_context")
    )
    return [
        Case(t, query, frozenset(needed), detect(query) or "unknown", source, session)
        for t, session, query, needed, source in found.iter_rows()
    ]


def file_cases(path: Path, default_tenant: str | None) -> list[Case]:
    """Labelled questions, one JSON object per line.

    ``{"query": "…", "relevant": ["mem-0001"], "tenant_id": "…", "language": "it"}``; the tenant
    defaults to the one that was named, the language is detected when it is not given.

    Raises:
        UsageError: the file cannot be read, or a line is no labelled question.
    """
    return [_case(row, where, default_tenant) for where, row in read_lines(path)]


def read_lines(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """(where, object) per line of a JSONL file, unpacked where gzip packed it.

    Raises:
        UsageError: the file cannot be read, or a line is no JSON object.
    """
    import gzip
    import zlib

    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data.startswith(_GZIP) else data
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"The file cannot be read: {error}.", where=str(path)) from error
    rows: list[tuple[str, Mapping[str, Any]]] = []
    for number, raw in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not raw.strip():
            continue
        where = f"{path}, line {number}"
        try:
            row = msgspec.json.decode(raw)
        except msgspec.DecodeError as error:
            raise UsageError(f"The line is not JSON: {error}.", where=where) from error
        if not isinstance(row, dict):
            raise UsageError("The line is no JSON object.", where=where)
        rows.append((where, row))
    return rows


def _case(row: Mapping[str, Any], where: str, default_tenant: str | None) -> Case:
    query, relevant = row.get("query"), row.get("relevant")
    tenant = row.get("tenant_id") or default_tenant
    if not isinstance(query, str) or not query.strip():
        raise UsageError("The line has no query.", where=where, remedy=_FORM)
    if (
        not isinstance(relevant, list)
        or not relevant
        or not all(isinstance(m, str) for m in relevant)
    ):
        raise UsageError("The line names no relevant memories.", where=where, remedy=_FORM)
    if not isinstance(tenant, str):
        raise UsageError("The line has no tenant_id.", where=where, remedy="add --tenant TENANT.")
    language = row.get("language") or detect(query) or "unknown"
    return Case(tenant, query, frozenset(relevant), str(language), LABELLED)


_FORM: Final = 'write {"query": "…", "relevant": ["mem-0001"]} on each line.'
