"""Merge proposals in the review queue: same, contained, conflicting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from memory_assets.domain.intents import Intent, Supersede
from memory_assets.domain.merge import pair_key
from memory_assets.domain.merge_review import PairReview, PairVerdict, PairVerdicts
from memory_assets.domain.review import ProposalDecision
from memory_assets.steps.merge.proposals import merge_tables, read_proposals
from memory_assets.steps.review.proposals import Kind, Proposal, State, digest_of
from memory_assets.storage.intents import read_intents
from memory_assets.storage.pair_log import append_pair_reviews, read_pair_log

_NAMES: Final = {"same": "merge", "contains": "contain", "conflicts": "conflict"}
_LABELS: Final = {
    "same": "merge into {}",
    "contains": "contained in {}",
    "conflicts": "conflicts with {}",
}
_WHY: Final = {
    "same": "they seem to say the same; accepted, {} stays and replaces the others",
    "contains": "{} seems to say all of it and more; accepted, it replaces the shorter one",
    "conflicts": "one subject, two definitions; accepted, {}, the newer one, replaces the older",
}


def _find(kind: str, state: State) -> Iterator[Proposal]:
    """Proposals of the last plan that a person has to decide and that nobody has decided."""
    table = read_proposals(merge_tables(state.home))
    table = table.filter(pl.col("kind") == kind, pl.col("route") == "review")
    if table.is_empty():
        return
    active = state.registry.active()
    hashes = {(t, m): h for t, m, h in active.select(*_ID, "content_sha256").iter_rows()}
    decided = {(t, m): at for t, m, at in active.select(*_ID, "decided_at").iter_rows()}
    verdicts = PairVerdicts(read_pair_log(state.home).reviews)
    asked = {
        (r.intent.tenant_id, r.intent.memory_id)
        for r in read_intents(state.home).recorded
        if isinstance(r.intent, Supersede)
    }
    for row in table.sort("tenant_id", "proposal_id").to_dicts():
        tenant, members, stays = row["tenant_id"], row["members"], row["survivor"]
        if any((tenant, m) not in hashes for m in members):
            continue
        if any((tenant, m) in asked for m in members if m != stays):
            continue
        if any(verdicts.are_different(tenant, a, b) for a, b in _pairs(members)):
            continue
        ordered = (*(m for m in members if m != stays), stays)
        yield Proposal(
            tenant,
            _NAMES[kind],
            ordered,
            _LABELS[kind].format(stays),
            _WHY[kind].format(stays),
            # As a candidate waits since its row was written, a pair does since its later one was.
            since=max(decided[tenant, m] for m in members),
            evidence={"pairs": json.loads(row["pairs"]), "space_id": row["space_id"]}
            | {"rule_version": row["rule_version"]},
            content_sha256=digest_of(kind, *ordered, *(hashes[tenant, m] for m in ordered)),
        )


_ID: Final = ["tenant_id", "memory_id"]


def _pairs(members: Sequence[str]) -> list[tuple[str, str]]:
    return sorted({pair_key(x, y) for x in members for y in members if x != y})


def _intents(proposal: Proposal, verdict: ProposalDecision) -> Sequence[Intent]:
    *replaced, stays = proposal.memory_ids
    return [
        Supersede(
            tenant_id=proposal.tenant_id,
            memory_id=memory,
            superseded_by=stays,
            decided_by=f"reviewer {verdict.reviewer.strip()}",
            decided_at=verdict.decided_at,
            reason=verdict.reason,
            evidence=json.dumps(_evidence(proposal, memory, stays)),
        )
        for memory in replaced
    ]


def _evidence(proposal: Proposal, memory: str, stays: str) -> dict[str, Any]:
    """Cosine, relation and objecting guards of that very pair, as the plan has them."""
    pairs = (p for p in proposal.evidence["pairs"] if {p["a"], p["b"]} == {memory, stays})
    found: dict[str, Any] = next(pairs, {})
    return {
        "cosine": found.get("cosine"),
        "relation": found.get("relation"),
        "guards": found.get("guards", []),
        "space_id": proposal.evidence["space_id"],
        "rule_version": proposal.evidence["rule_version"],
    }


def _record(kind: str, state: State, proposal: Proposal, verdict: ProposalDecision) -> None:
    """Keeps what was said about each pair: it teaches the calibration, and is never asked again."""
    said: PairVerdict = "different"
    if verdict.verdict == "accept":
        said = "same" if kind == "same" else "contains" if kind == "contains" else "conflicts"
    known = PairVerdicts(read_pair_log(state.home).reviews)
    memories = state.registry.memories.filter(pl.col("tenant_id") == proposal.tenant_id)
    hashes: dict[str, str] = dict(memories.select("memory_id", "content_sha256").iter_rows())
    fresh = []
    for a, b in _pairs(proposal.memory_ids):
        before = known.of(proposal.tenant_id, a, b)
        if before is not None and before.decided_at >= verdict.decided_at:
            continue
        fresh.append(
            PairReview(
                tenant_id=proposal.tenant_id,
                memory_a=a,
                memory_b=b,
                verdict=said,
                reviewer=verdict.reviewer.strip(),
                decided_at=verdict.decided_at,
                content_a=hashes[a],
                content_b=hashes[b],
                space_id=proposal.evidence["space_id"],
                rule_version=proposal.evidence["rule_version"],
                reason=verdict.reason,
            )
        )
    append_pair_reviews(state.home, fresh)


def _kind(kind: str) -> Kind:
    return Kind(
        _NAMES[kind],
        lambda state: _find(kind, state),
        _intents,
        lambda state, proposal, verdict: _record(kind, state, proposal, verdict),
    )


MERGE_KINDS: Final = tuple(_kind(kind) for kind in _NAMES)
