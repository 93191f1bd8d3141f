"""Proposals about published memories: what they are, and what an accepted one asks publication for.

A proposal is derived from tables every time; only the reviewer's verdict on it is on record. To
extend: a kind is one entry of ``proposal_kinds.KINDS``, with the function that finds its proposals
and the one that turns an accepted one into intents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec
import polars as pl

from memory_assets.domain.events import format_ref
from memory_assets.domain.intents import Intent, Retire
from memory_assets.domain.keys import MEMORY_ID
from memory_assets.domain.review import ProposalDecision, line_refusal
from memory_assets.domain.schemas import PROMOTION_KEY, SESSIONS
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.ledgers.decide import current_decisions
from memory_assets.steps.promotion.extract import current_facts
from memory_assets.steps.promotion.review_apply import Overridden, latest_lines
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.home import Home
from memory_assets.storage.intents import append_intents, read_intents
from memory_assets.storage.parts import DerivedTables
from memory_assets.storage.review_log import RefusedDecision, ReviewLog

_ID: Final = ["tenant_id", "memory_id"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something that a reviewer may decide about memories; ids and figures, no content."""

    tenant_id: str
    kind: str
    memory_ids: tuple[str, ...]
    """The first one is what would change."""
    label: str
    """What is proposed, in a few words; ``conflicts with mem-0003``, say."""
    why: str
    since: datetime | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    content_sha256: str = ""
    """Hash of what the reviewer sees: a verdict on another state is refused."""
    part: str = ""
    """Tells it from others of its kind about the same memories."""
    acts: bool = True
    """Whether accepting it changes a memory; otherwise it is only taken note of."""

    @property
    def proposal_id(self) -> str:
        """The id below its tenant: ``retire:mem-0003``."""
        parts = (*self.memory_ids, self.part) if self.part else self.memory_ids
        return f"{self.kind}:{'+'.join(parts)}"

    @property
    def key(self) -> tuple[str, str]:
        """The proposal among those of all tenants."""
        return (self.tenant_id, self.proposal_id)


@dataclass(frozen=True, slots=True)
class State:
    """What proposals are found in."""

    registry: RegistryView
    derived: DerivedTables
    home: Home


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of proposal."""

    name: str
    find: Callable[[State], Iterable[Proposal]]
    intents: Callable[[Proposal, ProposalDecision], Sequence[Intent]]
    """What an accepted one asks the next publication for."""
    record: Callable[[State, Proposal, ProposalDecision], None] = lambda *_: None
    """What else is kept of an accepted or declined one; doing it twice changes nothing."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Every proposal with the verdict in force on it, and the lines that do not count."""

    proposals: tuple[tuple[Proposal, ProposalDecision | None], ...]
    refused: tuple[RefusedDecision, ...] = ()
    overridden: tuple[Overridden, ...] = ()

    def state(self, verdict: ProposalDecision | None) -> str:
        """waiting, deferred, accepted or declined."""
        said = verdict.verdict if verdict is not None else "reopen"
        return _STATES[said]


_STATES: Final = {
    "reopen": "waiting",
    "defer": "deferred",
    "accept": "accepted",
    "decline": "declined",
}


def judged_proposals(
    state: State, log: ReviewLog, kinds: Sequence[Kind], *, now: datetime
) -> Judged:
    """The proposals as they stand now; lines of the review file are judged singly.

    A verdict on a proposal that changed since is refused, and the proposal waits again. A line
    about one that is gone (its effect is published, or its cause has ended) is history.
    """
    found = {p.key: p for kind in kinds for p in kind.find(state)}
    memories = set(state.registry.memories.select(_ID).rows()) if log.proposals else set()
    sound = []
    refused = []
    for line, decision in log.proposals:
        why = line_refusal(decision, now=now)
        proposal = found.get(decision.key)
        if why is None and proposal is None:
            named = [f"mem-{n}" for n in MEMORY_ID.findall(decision.proposal)]
            if named and all((decision.tenant_id, m) in memories for m in named):
                continue
            why = "unknown-item", "there is no such proposal"
        elif why is None and proposal and proposal.content_sha256 != decision.content_sha256:
            why = "changed-since", "the proposal is not what the reviewer saw; look at it again"
        if why is None:
            sound.append((line, decision))
        else:
            refused.append(RefusedDecision(line, *why, msgspec.json.encode(decision)))
    latest, clashes, overridden = latest_lines(sound)
    pairs = tuple((p, latest[key][1] if key in latest else None) for key, p in found.items())
    return Judged(pairs, (*refused, *clashes), overridden)


def settle_proposals(
    state: State, log: ReviewLog, kinds: Sequence[Kind], *, through: int, now: datetime
) -> int:
    """Count of intents appended: what accepted proposals ask for and no pending intent asks yet.

    ``through`` is the last intent that the published generation has looked at. A run that stops
    after it, or runs twice, asks for nothing twice.
    """
    if not log.proposals:
        return 0
    effects = {kind.name: kind for kind in kinds}
    wanted: list[Intent] = []
    for proposal, verdict in judged_proposals(state, log, kinds, now=now).proposals:
        if verdict is None or verdict.verdict not in ("accept", "decline"):
            continue
        # Recorded first: a crash in between leaves a label without its merge, not the reverse.
        effects[proposal.kind].record(state, proposal, verdict)
        if verdict.verdict == "accept":
            wanted += effects[proposal.kind].intents(proposal, verdict)
    pending = {_target(r.intent) for r in read_intents(state.home).after(through)}
    fresh = {_target(i): i for i in reversed(wanted) if _target(i) not in pending}
    return len(append_intents(state.home, [*reversed(fresh.values())], after=through))


def _target(intent: Intent) -> tuple[Any, ...]:
    return (
        intent.__struct_config__.tag,
        intent.tenant_id,
        getattr(intent, "memory_id", None),
        getattr(intent, "superseded_by", None),
    )


def _retirements(state: State) -> Iterable[Proposal]:
    """Active memories whose source decision ended, or whose accepting marker was taken back."""
    registry = state.registry
    active = registry.active()
    if active.is_empty():
        return
    sessions = state.derived.read(ingest.GROUP, SESSIONS)
    columns = [*PROMOTION_KEY, "in_force", "ended_by", "ended_reason", "verdict"]
    decisions = pl.concat(
        [
            current_decisions(state.derived, sessions, columns),
            current_facts(state.derived, sessions, columns),
        ]
    )
    by_marker = pl.col("verdict_by").str.starts_with("marker seq:")
    unmarked = by_marker & (pl.col("verdict").is_null() | (pl.col("verdict") == "declined"))
    found = (
        active.select(*PROMOTION_KEY, "memory_id", "content_sha256", "verdict_by")
        .join(decisions, on=PROMOTION_KEY, how="inner")
        .filter(~pl.col("in_force") | unmarked)
        .sort("tenant_id", "memory_id")
    )
    last = sessions.select("tenant_id", "session_id", "last_ts").rows()
    times = {(tenant, session): ts for tenant, session, ts in last}
    standing = _standing(registry.corroborations, decisions)
    for row in found.to_dicts():
        if row["in_force"]:
            taken = "declined later" if row["verdict"] == "declined" else "taken back"
            cause = f"the word that accepted it ({row['verdict_by']}) was {taken}"
        else:
            reason = row["ended_reason"].replace("_", " ")
            cause = f"its decision is no longer in force: {reason} by {format_ref(row['ended_by'])}"
        key = (row["tenant_id"], row["session_id"])
        others = standing.get((row["tenant_id"], row["memory_id"]), 0)
        # Not part of the hash: a decline holds, however many more say the same later.
        still = f"; {others} other decision(s) in force say the same" if others else ""
        yield Proposal(
            row["tenant_id"],
            "retire",
            (row["memory_id"],),
            f"retire {row['memory_id']}",
            f"{row['session_id']} {format_ref(row['decision_seq'])}: {cause}{still}",
            since=times.get(key),
            evidence={"session_id": row["session_id"], "decision_seq": row["decision_seq"]},
            content_sha256=digest_of("retire", row["content_sha256"], cause),
        )


def _standing(seen_again: pl.DataFrame, decisions: pl.DataFrame) -> dict[tuple[str, str], int]:
    """(tenant, memory) → how many decisions that restate it are in force."""
    stand = decisions.filter("in_force").select(PROMOTION_KEY)
    counted = seen_again.join(stand, on=PROMOTION_KEY, how="semi").group_by(_ID).len()
    return {(tenant, memory): n for tenant, memory, n in counted.rows()}


def digest_of(*parts: str) -> str:
    """Hash of what a reviewer sees of a proposal."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _retire(proposal: Proposal, verdict: ProposalDecision) -> Sequence[Intent]:
    return [
        Retire(
            tenant_id=proposal.tenant_id,
            memory_id=proposal.memory_ids[0],
            decided_by=f"reviewer {verdict.reviewer.strip()}",
            decided_at=verdict.decided_at,
            reason=verdict.reason or proposal.why,
        )
    ]


RETIREMENT: Final = Kind("retire", _retirements, _retire)
