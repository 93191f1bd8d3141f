"""Near duplicates under the automatic policy: corroborate what is proven, hold what is in doubt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import polars as pl

from memory_assets.domain.guards import RULE_VERSION
from memory_assets.domain.merge import MergePolicy, decide
from memory_assets.domain.neighbours import Neighbour, compare
from memory_assets.domain.schemas import NEAR_DUPLICATES, PROMOTION_KEY
from memory_assets.steps.registry.neighbours import NeighbourSearch
from memory_assets.steps.registry.view import RegistryView
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.parts import DerivedTables

GROUP: Final = "near_duplicates"
CORROBORATE: Final = "corroborate"
REVIEW: Final = "review"


@dataclass(frozen=True, slots=True)
class Settling:
    """What one look at the automatic candidates found."""

    judged: int
    corroborated: int
    held: int
    problem: str = ""
    """Why cosines are missing, when they are."""


def settle_duplicates(
    derived: DerivedTables,
    automatic: pl.DataFrame,
    registry: RegistryView,
    search: NeighbourSearch,
    policy: Callable[[str], MergePolicy],
    space_id: str,
) -> Settling:
    """Judges what the policy would accept against the active memories; the table is replaced whole.

    A candidate whose every guard passes, at or above the tenant's threshold, corroborates the
    nearest such memory. One that stands near a memory in doubt goes to a reviewer. All others are
    new, one that contradicts a memory among them: both are kept, and the merge shows the conflict.
    Equal text needs no judgement here.
    """
    rows = automatic.filter(pl.col("equal_memory").is_null())
    active = registry.active()
    found = search.find(rows, active, PROMOTION_KEY) if rows.height and active.height else {}
    memories = {
        (m["tenant_id"], m["memory_id"]): m
        for m in active.select("tenant_id", "memory_id", "subject", "detail", "scope").to_dicts()
    }
    policies = {t: policy(t) for t in rows["tenant_id"].unique().to_list()} if found else {}
    judged = []
    for row in rows.to_dicts():
        near = found.get(tuple(row[k] for k in PROMOTION_KEY), ())
        verdict = _verdict(row, near, memories, policies.get(row["tenant_id"]))
        if verdict is not None:
            judged.append(_row(row, space_id, *verdict))
    part = derived.parts.write(NEAR_DUPLICATES, frame_of(NEAR_DUPLICATES, judged), "near")
    head = {NEAR_DUPLICATES.name: [part] if part else []}
    if derived.head(GROUP) != head and (part or derived.head(GROUP)):
        derived.commit(GROUP, head)
    outcomes = [j[_OUTCOME] for j in judged]
    return Settling(
        rows.height, outcomes.count(CORROBORATE), outcomes.count(REVIEW), search.problem
    )


def near_duplicates(derived: DerivedTables) -> pl.DataFrame:
    """The verdicts as last settled; each holds for one content of one decision."""
    return derived.read(GROUP, NEAR_DUPLICATES)


_OUTCOME: Final = NEAR_DUPLICATES.names().index("outcome")
_Verdict = tuple[str, str, float | None, str]
"""(outcome, memory_id, cosine, guards as JSON)."""


def _verdict(
    row: Mapping[str, Any],
    near: Sequence[Neighbour],
    memories: Mapping[tuple[str, str], Mapping[str, Any]],
    policy: MergePolicy | None,
) -> _Verdict | None:
    doubt: _Verdict | None = None
    for one in near:
        memory = memories[row["tenant_id"], one.memory_id]
        if policy is None or memory["scope"] != row["scope"]:
            continue  # what other people see is neither proof nor doubt
        judgement = compare(row, memory)
        cosine = -1.0 if one.cosine is None else one.cosine
        found = decide(judgement.relation, cosine, policy, same_subject=one.same_subject)
        guards = msgspec.json.encode(judgement.to_dict(), order="deterministic").decode()
        if found.route == "auto":
            return CORROBORATE, one.memory_id, one.cosine, guards
        unproven = one.cosine is None and one.same_subject and judgement.relation != "different"
        if doubt is None and (found.route == "review" or unproven):
            doubt = (REVIEW, one.memory_id, one.cosine, guards)
    return doubt


def _row(
    row: Mapping[str, Any],
    space_id: str,
    outcome: str,
    memory_id: str,
    cosine: float | None,
    guards: str,
) -> tuple[object, ...]:
    key = tuple(row[k] for k in PROMOTION_KEY)
    sha = row["content_sha256"]
    return (*key, sha, outcome, memory_id, cosine, space_id, guards, RULE_VERSION)
