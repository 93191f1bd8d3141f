"""Measuring search on data that is in no registry: questions with the texts that answer them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_assets.domain.language import detect
from memory_assets.domain.ports import Embedder, Progress, VectorCache
from memory_assets.domain.schemas import MEMORIES
from memory_assets.domain.visibility import Principal
from memory_assets.steps.index.scratch import memory_rows, publish_rows
from memory_assets.steps.search.evaluate import Evaluation, evaluate
from memory_assets.steps.search.evaluation_cases import LABELLED, Case
from memory_assets.steps.search.options import SearchOptions
from memory_assets.steps.search.searcher import Searcher

QUESTION_FIELDS: Final = ("query", "question", "term")
TEXT_FIELDS: Final = ("text", "definition", "detail")


def is_outside(row: Mapping[str, Any]) -> bool:
    """Whether a line brings its own text, instead of naming memories of the registry."""
    return _first(row, TEXT_FIELDS) is not None and "relevant" not in row


def has_question(row: Mapping[str, Any]) -> bool:
    """Whether a line asks something; those that do not are left out, and counted."""
    return _first(row, QUESTION_FIELDS) is not None


def evaluate_outside(
    rows: Sequence[Mapping[str, Any]],
    *,
    embedder: Embedder,
    cache: VectorCache,
    options: SearchOptions,
    now: datetime,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Every question against the texts of its own language, in a registry made for it and dropped.

    A line has a question (``query``, ``question`` or ``term``), its answer (``text``,
    ``definition`` or ``detail``) and optionally ``language`` or ``lang``; a missing one is
    detected. The question is no part of the indexed text, which would make it trivial. Equal texts
    are one memory; a question asked of several texts needs all of them. ``limit`` takes so many
    lines per language, the same ones every time, so that languages are compared over stores of one
    size.
    """
    chosen = _chosen(rows, limit)
    texts: dict[tuple[str, str], str] = {}
    memories: list[dict[str, Any]] = []
    needed: dict[tuple[str, str], set[str]] = {}
    counts: dict[str, int] = {}
    for language, question, text in chosen:
        if (language, text) not in texts:
            counts[language] = counts.get(language, 0) + 1
            texts[language, text] = f"mem-{counts[language]:04d}"
            memories.append({"tenant_id": language, "detail": text})
        needed.setdefault((language, question), set()).add(texts[language, text])
    cases = [
        Case(language, question, frozenset(ids), language, LABELLED)
        for (language, question), ids in needed.items()
    ]
    languages = sorted(counts)
    with tempfile.TemporaryDirectory(prefix="memory-assets-") as folder:
        store = publish_rows(
            Path(folder),
            {MEMORIES.name: memory_rows(memories, decided_at=now)},
            embedder,
            cache,
            now=now,
            languages={one: one for one in languages},
            progress=progress,
        )
        searcher = Searcher(store, lambda: embedder, options)
        who = Principal(languages[0], "ADMIN", more_tenants=frozenset(languages))
        done = evaluate(searcher, cases, who, embedder=embedder, cache=cache, now=now)
    silent = sum(not has_question(row) for row in rows)
    return replace(done, unanswerable=done.unanswerable + silent)


def _chosen(rows: Sequence[Mapping[str, Any]], limit: int | None) -> list[tuple[str, str, str]]:
    """(language, question, text) of usable lines, at most ``limit`` per language."""
    usable = []
    for row in rows:
        question, text = _first(row, QUESTION_FIELDS), _first(row, TEXT_FIELDS)
        if question is None or text is None:
            continue
        language = row.get("language") or row.get("lang") or detect(text) or "unknown"
        usable.append((str(language), question, text))
    usable = list(dict.fromkeys(usable))
    if limit is None:
        return usable
    usable.sort(key=lambda r: hashlib.sha256("\x1f".join(r).encode()).digest())
    kept: dict[str, int] = {}
    chosen = []
    for one in usable:
        kept[one[0]] = kept.get(one[0], 0) + 1
        if kept[one[0]] <= limit:
            chosen.append(one)
    return chosen


def _first(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None
