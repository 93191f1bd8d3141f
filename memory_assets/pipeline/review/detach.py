"""A wrong match undone: a corroboration becomes the memory that it would have been."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from memory_assets.domain.intents import Detach
from memory_assets.domain.merge_review import PairReview
from memory_assets.domain.schemas import CORROBORATIONS, DETACHMENTS
from memory_assets.errors import UsageError
from memory_assets.pipeline.review.decide import require_reviewer
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.review.items import ItemRef
from memory_assets.storage.intents import append_intents
from memory_assets.storage.pair_log import append_pair_reviews, read_pair_log


@dataclass(frozen=True, slots=True)
class Detached:
    """What became of a corroboration."""

    memory_id: str
    """The memory that it had corroborated."""
    detached_as: str
    """The memory that it is now."""
    generation: int

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {name: getattr(self, name) for name in self.__slots__}


def detach(workspace: Workspace, item: ItemRef, *, by: str, reason: str, now: datetime) -> Detached:
    """Publishes the corroboration as a memory of its own, and remembers the pair as different.

    Its words, key and time come from the registry, so nothing was lost by the match. The merge
    leaves the pair alone from now on. After a kill the same command does what is left to do.

    Raises:
        AccessDenied: nobody is named, or an agent is.
        UsageError: the decision corroborates nothing, or says the same word for word.
        PublisherBusy, ChecksFailed, StoreError: see ``Publisher.publish``.
    """
    by = require_reviewer(by, option="--by")
    key = {
        "tenant_id": item.tenant_id,
        "session_id": item.session_id,
        "decision_seq": item.decision_seq,
        "fact_no": item.fact_no,
    }
    found = workspace.registry().corroborations.filter(**key).to_dicts()
    if not found:
        owed = _published_before(workspace, key)
        if owed is not None:
            _remember(workspace, *owed, by=by, reason=reason, now=now)
            number = owed[1]["generation"]
            return Detached(owed[1]["memory_id"], owed[1]["detached_as"], number)
        raise UsageError(
            f"{item} corroborates no memory.",
            remedy="`memory-assets history` shows what a memory was corroborated by.",
        )
    (row,) = found
    if row["kind"] != "duplicate":
        raise UsageError(
            f"{item} says the same as {row['memory_id']}, word for word.",
            remedy="only a match by meaning can be wrong; supersede or retire the memory instead.",
        )
    intent = Detach(
        tenant_id=item.tenant_id,
        decided_by=f"reviewer {by}",
        decided_at=now,
        reason=reason,
        memory_id=row["memory_id"],
        session_id=item.session_id,
        decision_seq=item.decision_seq,
        fact_no=item.fact_no,
    )
    current, _ = workspace.generations.current()
    append_intents(workspace.home, [intent], after=current.intents_through)
    published = workspace.publish(run_id="detach", now=now)
    made = workspace.registry().detachments.filter(**key).to_dicts()
    if not made:
        why = "; ".join(r.reason for r in published.refused_intents)
        raise UsageError(f"{item} was not detached: {why}.", remedy="look at its history.")
    _remember(workspace, row, made[0], by=by, reason=reason, now=now)
    return Detached(row["memory_id"], made[0]["detached_as"], published.generation)


def _published_before(
    workspace: Workspace, key: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The corroboration and its detachment, when a kill came before the pair was remembered."""
    snapshot = workspace.generations.snapshot()
    made = snapshot.table(DETACHMENTS).filter(**key).to_dicts()
    rows = snapshot.table(CORROBORATIONS).filter(**key).to_dicts()
    if not made or not rows:
        return None
    pair = {made[0]["memory_id"], made[0]["detached_as"]}
    known = read_pair_log(workspace.home).reviews
    if any(line.tenant_id == key["tenant_id"] and set(line.pair) == pair for line in known):
        return None
    return rows[0], made[0]


def _remember(
    workspace: Workspace,
    row: Mapping[str, Any],
    made: Mapping[str, Any],
    *,
    by: str,
    reason: str,
    now: datetime,
) -> None:
    """Puts the pair on record as different, so that the merge leaves it alone."""
    new_id = made["detached_as"]
    hashes = dict(
        workspace.registry()
        .memories.filter(pl.col("tenant_id") == row["tenant_id"])
        .select("memory_id", "content_sha256")
        .iter_rows()
    )
    append_pair_reviews(
        workspace.home,
        [
            PairReview(
                tenant_id=row["tenant_id"],
                memory_a=row["memory_id"],
                memory_b=new_id,
                verdict="different",
                reviewer=by,
                decided_at=now,
                content_a=hashes[row["memory_id"]],
                content_b=hashes[new_id],
                cosine=row["cosine"],
                space_id=row["space_id"] or "",
                rule_version=row["rule_version"],
                reason=reason or "detached",
            )
        ],
    )
