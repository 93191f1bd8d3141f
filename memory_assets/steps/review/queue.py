"""The review queue as a table: everything that waits, each item with its context. No cap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
import polars as pl

from memory_assets.domain.guards import RULE_VERSION
from memory_assets.domain.neighbours import Neighbour, label
from memory_assets.domain.review import ProposalDecision
from memory_assets.domain.schemas import CANDIDATES, MEMORIES, PROMOTION_KEY, REVIEW_QUEUE
from memory_assets.steps.promotion.consolidate import Assessment
from memory_assets.steps.promotion.personal import with_personal
from memory_assets.steps.registry.neighbours import Known, NeighbourSearch
from memory_assets.steps.registry.view import RegistryView
from memory_assets.steps.review.items import item_id
from memory_assets.steps.review.proposals import Judged, Proposal
from memory_assets.storage.parts import DerivedTables

GROUP: Final = "review_queue"
WAITING: Final = ("waiting", "deferred")
_STATES: Final = {"review": "waiting", "deferred": "deferred"}
_ROUTES: Final = pl.DataFrame({"route": list(_STATES), "state": list(_STATES.values())})
_ID: Final = ["tenant_id", "memory_id"]


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits, in figures: nothing is lost by not being looked at, but it is seen to wait."""

    waiting: int
    deferred: int
    oldest: datetime | None
    by_label: Mapping[str, int]
    by_tenant: Mapping[str, int]

    def oldest_days(self, now: datetime) -> float:
        """Age of the oldest item in days; 0 when nothing waits."""
        return 0.0 if self.oldest is None else max(0.0, (now - self.oldest).total_seconds() / 86400)


@dataclass(frozen=True, slots=True)
class QueueResult:
    """What a derivation of the queue found."""

    backlog: Backlog
    refused: int
    """Lines of the review file that do not count."""
    now: datetime
    problem: str = ""
    """Why neighbours have no cosines, when they have none."""

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        backlog = self.backlog
        return {
            "items": backlog.waiting + backlog.deferred,
            "waiting": backlog.waiting,
            "deferred": backlog.deferred,
            "oldest_days": round(backlog.oldest_days(self.now), 2),
            "refused_review_lines": self.refused,
            "embedding_problem": self.problem,
            **{f"label_{k.replace(' ', '_')}": n for k, n in backlog.by_label.items()},
        }


def derive_queue(
    derived: DerivedTables,
    assessment: Assessment,
    proposals: Judged,
    registry: RegistryView,
    search: NeighbourSearch,
    *,
    now: datetime,
    committing: AbstractContextManager[object],
) -> QueueResult:
    """The queue's table, replaced whole; what waits is decided by tables alone.

    An embedding provider that fails costs the cosines, never the queue. ``committing`` is held
    while the table is replaced, not while texts are embedded.
    """
    rows = pl.concat(
        [
            _candidates(assessment.candidates, registry, search),
            _proposals(proposals, registry),
        ]
    ).sort("tenant_id", "waits_since", "item_id", nulls_last=True)
    with committing:
        part = derived.parts.write(REVIEW_QUEUE, rows, "queue")
        head = {REVIEW_QUEUE.name: [part] if part else []}
        info = {"rule_version": RULE_VERSION}
        if derived.head(GROUP) != head or derived.info(GROUP) != info:
            derived.commit(GROUP, head, info)
    refused = len(assessment.refused_reviews) + len(proposals.refused)
    return QueueResult(backlog_of(rows), refused, now, search.problem)


def backlog_of(rows: pl.DataFrame) -> Backlog:
    """What waits, in figures, of any part of the queue."""
    oldest = rows["waits_since"].min()
    words = (_without_ids(text) for text in rows["label"])
    return Backlog(
        waiting=rows.filter(pl.col("state") == "waiting").height,
        deferred=rows.filter(pl.col("state") == "deferred").height,
        oldest=oldest if isinstance(oldest, datetime) else None,
        by_label=dict(sorted(Counter(words).items())),
        by_tenant=dict(sorted(Counter(rows["tenant_id"]).items())),
    )


def _without_ids(text: str) -> str:
    return " ".join(word for word in text.split() if not word.startswith("mem-"))


def read_queue(derived: DerivedTables) -> pl.DataFrame:
    """The queue as last derived."""
    return derived.read(GROUP, REVIEW_QUEUE)


def proposals_by_tenant(derived: DerivedTables) -> dict[str, int]:
    """Proposals about published memories that wait, as last derived."""
    rows = derived.read(GROUP, REVIEW_QUEUE, ["tenant_id"], pl.col("kind") != "candidate")
    return dict(sorted(Counter(rows["tenant_id"]).items()))


def judged_pairs(derived: DerivedTables) -> Known:
    """What the guards said about candidates and memories, if today's rules said it."""
    if derived.info(GROUP).get("rule_version") != RULE_VERSION:
        return {}
    columns = ["tenant_id", "content_sha256", "neighbours"]
    rows = derived.read(GROUP, REVIEW_QUEUE, columns, pl.col("kind") == "candidate")
    return {
        (tenant, content, near.memory_id): near
        for tenant, content, found in rows.iter_rows()
        for near in neighbours_of(found)
    }


def known_neighbours(derived: DerivedTables) -> dict[str, tuple[str, list[Neighbour]]]:
    """Item id → label and neighbours, as last derived."""
    rows = derived.read(GROUP, REVIEW_QUEUE, ["item_id", "label", "neighbours"])
    return {name: (text, neighbours_of(found)) for name, text, found in rows.iter_rows()}


def neighbours_of(column: str) -> list[Neighbour]:
    """The neighbours that one cell of the table holds."""
    return [Neighbour.from_dict(found) for found in msgspec.json.decode(column)]


def _candidates(
    rows: pl.DataFrame, registry: RegistryView, search: NeighbourSearch
) -> pl.DataFrame:
    active = registry.active()
    found = search.find(rows, active, PROMOTION_KEY) if rows.height else {}
    ids, labels, near = [], [], []
    for *key, base, personal in rows.select(*PROMOTION_KEY, "label", "personal").iter_rows():
        neighbours = found.get(tuple(key), ())
        ids.append(item_id(*key))
        labels.append(with_personal(label(base, neighbours), personal))
        near.append(_encoded(neighbours))
    names = set(REVIEW_QUEUE.names())
    kept = [c for c in CANDIDATES.names() if c in names - {"label"}]
    return (
        rows.select(*kept, "route", pl.col("decided_at").alias("waits_since"))
        .join(_ROUTES, on="route", how="left", maintain_order="left")
        .with_columns(
            pl.Series("item_id", ids, pl.String),
            pl.Series("label", labels, pl.String),
            pl.Series("neighbours", near, pl.String),
            pl.lit("candidate").alias("kind"),
            pl.lit([], pl.List(pl.String)).alias("memory_ids"),
            pl.lit("").alias("why"),
        )
        .select(REVIEW_QUEUE.names())
    )


def _proposals(judged: Judged, registry: RegistryView) -> pl.DataFrame:
    waiting = [(p, v) for p, v in judged.proposals if judged.state(v) in WAITING]
    if not waiting:
        return REVIEW_QUEUE.empty()
    memories = {
        (row["tenant_id"], row["memory_id"]): row
        for row in registry.memories.join(_first(waiting), on=_ID, how="semi").to_dicts()
    }
    rows = [
        _proposal(p, judged.state(verdict), memories[p.tenant_id, p.memory_ids[0]])
        for p, verdict in waiting
    ]
    return pl.DataFrame(rows, schema=REVIEW_QUEUE.schema, orient="row")


def _first(waiting: list[tuple[Proposal, ProposalDecision | None]]) -> pl.DataFrame:
    ids = [(p.tenant_id, p.memory_ids[0]) for p, _ in waiting]
    return pl.DataFrame(ids, schema=dict.fromkeys(_ID, pl.String), orient="row").unique()


def _proposal(proposal: Proposal, state: str, memory: Mapping[str, Any]) -> dict[str, Any]:
    """A proposal's row; it stands under the key of the memory's own decision, like the memory."""
    taken = set(MEMORIES.names()) & set(REVIEW_QUEUE.names())
    return {
        **{name: memory[name] for name in taken},
        "item_id": f"{proposal.tenant_id}/{proposal.proposal_id}",
        "kind": proposal.kind,
        "memory_ids": list(proposal.memory_ids),
        "label": proposal.label,
        "why": proposal.why,
        "state": state,
        "waits_since": proposal.since,
        "content_sha256": proposal.content_sha256,
        "fail_closed": False,
        "neighbours": "[]",
    }


def _encoded(neighbours: tuple[Neighbour, ...]) -> str:
    return msgspec.json.encode([n.to_dict() for n in neighbours]).decode()
