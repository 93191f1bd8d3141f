"""A wrong match undone: a corroboration becomes the memory that it would have been."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from memory_assets.domain.intents import Detach
from memory_assets.domain.merge_review import PairReview
from memory_assets.errors import UsageError
from memory_assets.pipeline.review.decide import require_reviewer
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.review.items import ItemRef
from memory_assets.storage.intents import append_intents
from memory_assets.storage.pair_log import append_pair_reviews


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
    leaves the pair alone from now on.

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
    view = workspace.registry()
    made = view.detachments.filter(**key)
    if made.is_empty():
        why = "; ".join(r.reason for r in published.refused_intents)
        raise UsageError(f"{item} was not detached: {why}.", remedy="look at its history.")
    new_id = made["detached_as"].item()
    hashes = dict(
        view.memories.filter(pl.col("tenant_id") == item.tenant_id)
        .select("memory_id", "content_sha256")
        .iter_rows()
    )
    append_pair_reviews(
        workspace.home,
        [
            PairReview(
                tenant_id=item.tenant_id,
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
    return Detached(row["memory_id"], new_id, published.generation)
