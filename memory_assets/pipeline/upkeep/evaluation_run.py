"""Evaluating the published registry as the nightly job and the command do, with its history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from memory_assets.domain.visibility import Principal
from memory_assets.errors import UnknownTenantError, UsageError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.search.evaluate import ALL, Evaluation, evaluate
from memory_assets.steps.search.evaluate_outside import evaluate_outside, has_question, is_outside
from memory_assets.steps.search.evaluation_cases import file_cases, ledger_cases, read_lines
from memory_assets.storage.review_log import append_lines

FALL: Final = 0.02
"""A fall of hybrid recall@10 or nDCG by more than this, in the same space, is worth a warning."""
_WATCHED: Final = ("recall_at_10", "ndcg")
_FORMER_NAME: Final = "retrieval_evaluation.jsonl"
"""The history of homes whose figures lay among the tables that may be deleted at any time."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An evaluation beside the one before it."""

    evaluation: Evaluation
    before: dict[str, Any] | None
    """The hybrid's figures of the newest earlier generation in the same space, if any."""
    history: tuple[dict[str, Any], ...]
    """One entry per evaluated generation, oldest first: the figures of every leg."""

    @property
    def fallen(self) -> tuple[str, ...]:
        """What fell since, in words; empty when nothing did."""
        now = self.evaluation.of("hybrid")
        if self.before is None or now is None:
            return ()
        return tuple(
            f"hybrid {name} fell from {self.before[name]:.3f} to {now[name]:.3f}"
            for name in _WATCHED
            if now[name] < self.before[name] - FALL
        )


def evaluate_registry(
    workspace: Workspace,
    *,
    now: datetime,
    principal: Principal | None = None,
    labelled: Path | None = None,
) -> Judged:
    """The registry measured on what its ledgers imply, and on a labelled file if there is one.

    Without a principal every tenant is measured (the result holds figures only), and the figures
    join the history.

    Raises:
        AccessDenied, UnknownTenantError: see ``evaluate``.
        UsageError: the labelled file is not what it should be.
    """
    served = workspace.searcher.served()
    cases = ledger_cases(workspace.derived, served)
    complete = principal is None
    if principal is None:
        every = served.tenants
        principal = Principal(min(every, default=""), "ADMIN", more_tenants=every)
    else:
        workspace.searcher.rule(principal, principal.tenant, "evaluate", served)
        cases = [c for c in cases if c.tenant_id == principal.tenant]
    if labelled is not None:
        cases += file_cases(labelled, principal.tenant)
    done = evaluate(
        workspace.searcher,
        cases,
        principal,
        embedder=workspace.embedder,
        cache=workspace.cache,
        now=now,
    )
    return record(workspace, done) if complete else Judged(done, None, ())


def evaluate_file(
    workspace: Workspace,
    path: Path,
    *,
    now: datetime,
    principal: Principal | None,
    limit: int | None = None,
) -> Evaluation:
    """A file of outside data (questions with texts), or of labelled questions for the registry.

    Raises:
        UsageError: the file is empty, asks nothing, or is neither of the two.
        UnknownTenantError: labelled questions, and no tenant was named.
    """
    rows = [row for _, row in read_lines(path)]
    if not rows:
        raise UsageError("The file holds no lines.", where=str(path))
    if all(is_outside(row) for row in rows):
        if not any(has_question(row) for row in rows):
            raise UsageError(
                "No line has a question.",
                where=str(path),
                remedy='write {"query": "…", "text": "…"} on each line.',
            )
        return evaluate_outside(
            rows,
            embedder=workspace.embedder,
            cache=workspace.cache,
            options=workspace.searcher.options,
            now=now,
            limit=limit,
        )
    if principal is None or not principal.tenant:
        raise UnknownTenantError("No tenant is named.", remedy="add --tenant TENANT.")
    workspace.searcher.rule(principal, principal.tenant, "evaluate", workspace.searcher.served())
    return evaluate(
        workspace.searcher,
        file_cases(path, principal.tenant),
        principal,
        embedder=workspace.embedder,
        cache=workspace.cache,
        now=now,
    )


def record(workspace: Workspace, evaluation: Evaluation) -> Judged:
    """The evaluation beside its predecessors, once it is part of the history.

    One entry per generation and space: measuring a generation again replaces nothing and adds
    nothing to the file when the figures are the same.
    """
    path = workspace.home.evaluations
    entries = _entries(workspace.home.derived / _FORMER_NAME) + _entries(path)
    figures = {
        "generation": evaluation.generation,
        "space_id": evaluation.space_id or "",
        "evaluated_at": evaluation.evaluated_at.isoformat(),
        "questions": evaluation.cases,
        "legs": {
            row["leg"]: {k: v for k, v in row.items() if isinstance(v, float)}
            for row in evaluation.rows
            if (row["tenant_id"], row["language"]) == (ALL, ALL)
        },
    }
    key = (figures["generation"], figures["space_id"])
    same = [e for e in entries if (e["generation"], e["space_id"]) == key]
    if evaluation.cases and not (same and same[-1]["legs"] == figures["legs"]):
        append_lines(path, [msgspec.json.encode(figures)])
        entries.append(figures)
    latest = {(e["generation"], e["space_id"]): e for e in entries}
    earlier = [
        e
        for (number, space), e in sorted(latest.items(), key=lambda kv: kv[0][0])
        if space == figures["space_id"] and number < evaluation.generation
    ]
    before = earlier[-1]["legs"].get("hybrid") if earlier else None
    ordered = sorted(latest.values(), key=lambda e: e["generation"])
    return Judged(evaluation, before, tuple(ordered))


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    found = []
    for raw in lines:
        try:
            entry = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found
