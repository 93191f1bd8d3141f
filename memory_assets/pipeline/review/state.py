"""The queue as people see it: every item with its context, for one principal, at one instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

import polars as pl

from memory_assets.domain.events import format_ref
from memory_assets.domain.neighbours import Neighbour, compare, label
from memory_assets.domain.personal import masked
from memory_assets.domain.review import ProposalDecision
from memory_assets.domain.visibility import Principal, Rule, rule_for
from memory_assets.errors import UsageError
from memory_assets.pipeline.inspect.browse import plain
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.promotion.consolidate import Assessment
from memory_assets.steps.promotion.personal import with_personal
from memory_assets.steps.registry.view import RegistryView
from memory_assets.steps.review.items import ItemRef, ProposalRef, item_id, parse_items
from memory_assets.steps.review.proposals import Judged, Proposal
from memory_assets.steps.review.queue import known_neighbours

PENDING: Final = ("waiting", "deferred")
STATES: Final = ("pending", "waiting", "deferred", "accepted", "declined", "all")
_STATE_OF_ROUTE: Final = {
    "review": "waiting",
    "deferred": "deferred",
    "accepted": "accepted",
    "declined": "declined",
}
_STATES_MEANT: Final = {"pending": PENDING, "all": (*PENDING, "accepted", "declined")}
_CONTENT: Final = ("subject", "detail", "rationale", "question_context")
_EQUAL: Final = ("tenant_id", "scope", "duplicate_key")
_PLACE: Final = ("tenant_id", "session_id", "decision_seq", "fact_no")
Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which items are meant; what is left out does not narrow."""

    tenant_id: str
    session_id: str | None = None
    label: str | None = None
    """How the label begins: new, duplicate, refines, conflicts, contained, retire, feedback …"""
    state: str = "pending"
    older_than: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """Items, oldest session first, and what waits in all."""

    items: tuple[Item, ...]
    waiting: int
    """Items of the tenant that wait, shown or not."""
    oldest: str | None
    """Since when the oldest of them waits."""


class ReviewState:
    """Where every item stands; tables are read once, so a state is good for one request."""

    def __init__(self, workspace: Workspace, *, now: datetime) -> None:
        self.workspace = workspace
        self.now = now
        self._made: dict[tuple[Principal, str], list[Item]] = {}

    @cached_property
    def assessment(self) -> Assessment:
        """Where every clarification stands."""
        return self.workspace.assess(now=self.now)

    @cached_property
    def registry(self) -> RegistryView:
        """The published registry."""
        return self.workspace.registry()

    @cached_property
    def proposals(self) -> Judged:
        """Proposals with the verdicts on them."""
        return self.workspace.proposals(now=self.now, registry=self.registry)

    @cached_property
    def near(self) -> dict[str, tuple[str, list[Neighbour]]]:
        """Labels and neighbours as the queue's table has them since the last run."""
        return known_neighbours(self.workspace.derived)

    def tenants(self) -> list[str]:
        """Tenants with clarifications, in order."""
        return self.assessment.routes["tenant_id"].unique().sort().to_list()

    def queue(self, principal: Principal, wanted: QueueFilter) -> Queue:
        """The items that the principal may see, without a cap.

        Raises:
            UnknownTenantError, AccessDenied: the principal may not review that tenant.
        """
        everything = self._everything(principal, wanted.tenant_id)
        pending = [i for i in everything if i["state"] in PENDING]
        oldest = min((i["waits_since"] for i in pending if i["waits_since"]), default=None)
        found = [i for i in everything if self._meant(i, wanted)]
        return Queue(tuple(found), len(pending), oldest)

    def _everything(self, principal: Principal, tenant_id: str) -> list[Item]:
        """All items of a tenant for a principal; made once per state."""
        rule = rule_for(principal, tenant_id, "review")
        found = self._made.get((principal, tenant_id))
        if found is None:
            found = [*self._candidates(rule, tenant_id), *self._proposals(rule, tenant_id)]
            self._made[principal, tenant_id] = found
        return found

    def item(self, principal: Principal, named: ItemRef | ProposalRef) -> Item:
        """One item in full, whatever its state: neighbours with their words and what differs.

        Raises:
            UsageError: there is no such item for this principal.
        """
        rule = rule_for(principal, named.tenant_id, "review")
        if isinstance(named, ProposalRef):
            for proposal, verdict in self.proposals.proposals:
                if proposal.key == (named.tenant_id, named.proposal):
                    return self._with_memories(self._proposal(proposal, verdict), rule)
            raise _no_such_item(str(named))
        rows = self.assessment.routes.filter(
            tenant_id=named.tenant_id,
            session_id=named.session_id,
            decision_seq=named.decision_seq,
            fact_no=named.fact_no,
        )
        row = rows.row(0, named=True) if rows.height else None
        if row is None or not rule.allows(row):
            raise _no_such_item(str(named))
        item = self._candidate(row, opened=True)
        own = row["settled_in"] or None
        item |= {"memory_id": own, "not_offered": row["refusal_reason"]}
        if own is not None:
            item["label"] = f"published as {own}"
        item["neighbours"] = [n for n in self._neighbours(row, rule) if n["memory_id"] != own]
        return item

    def named_item(
        self,
        principal: Callable[[str], Principal],
        text: str,
        *,
        tenant_id: str | None = None,
        session_id: str | None = None,
    ) -> Item:
        """The one item that a text names; ``principal`` says who looks at a tenant.

        Raises:
            UsageError: the text names no item, or several.
        """
        named = parse_items([text], tenant_id=tenant_id, session_id=session_id)
        if len(named) == 1 and isinstance(named[0], ItemRef | ProposalRef):
            return self.item(principal(named[0].tenant_id), named[0])
        raise _no_such_item(text)

    def _meant(self, item: Item, wanted: QueueFilter) -> bool:
        state = item["state"]
        if state not in _STATES_MEANT.get(wanted.state, (wanted.state,)):
            return False
        if wanted.session_id is not None and item["session_id"] != wanted.session_id:
            return False
        if wanted.label is not None and not item["label"].startswith(wanted.label):
            return False
        if wanted.older_than is not None:
            since = item["waits_since"]
            return since is not None and since <= (self.now - wanted.older_than).isoformat()
        return True

    def _candidates(self, rule: Rule, tenant_id: str) -> Iterator[Item]:
        routes = self.assessment.routes
        candidates = self.assessment.candidates
        decided = routes.filter(pl.col("route").is_in(["accepted", "declined"]))
        for frame in (candidates, decided):
            rows = frame.filter((pl.col("tenant_id") == tenant_id) & rule.expr())
            yield from (self._candidate(row) for row in rows.to_dicts())

    def _client_names(self, tenant_id: str) -> Sequence[str]:
        return self.workspace.settings.tenant(tenant_id).client_names

    def _candidate(self, row: Mapping[str, Any], *, opened: bool = False) -> Item:
        """One candidate; personal data is covered until somebody opens it by name."""
        name = item_id(*(row[c] for c in _PLACE))
        known = self.near.get(name)
        text = row["label"] if known is None else label(row["label"], known[1])
        personal = row["personal"]
        shown = row if opened or not personal else masked(row, self._client_names(row["tenant_id"]))
        twins = self._twins.get(tuple(row[c] for c in _EQUAL), [])
        here = (row["tenant_id"], row["session_id"])
        return plain(
            {
                "item_id": name,
                "kind": "candidate",
                "state": _STATE_OF_ROUTE.get(row["route"], row["route"]),
                "label": with_personal(text, personal),
                "tenant_id": row["tenant_id"],
                "session_id": row["session_id"],
                "decision_seq": row["decision_seq"],
                "ref": format_ref(row["decision_seq"]),
                **{c: shown[c] for c in _CONTENT},
                "concepts": list(shown["concepts"]),
                "personal": personal,
                "masked": bool(personal) and not opened,
                "waits_since": row["decided_at"],
                "user_id": row["user_id"],
                "client_id": row["client_id"],
                "audience": row["audience"],
                "memory_ids": [],
                "why": "",
                "acts": True,
                "cites": list(row["cites"]),
                "fail_closed": bool(row["fail_closed"]),
                "content_sha256": row["content_sha256"],
                "equal_to": [item_id(*t) for t in twins if (t[0], t[1]) != here],
                "nearest": None if not known or not known[1] else known[1][0].to_dict(),
                "verdict": row["review_verdict"],
                "reviewer": row["reviewer"],
                "reviewed_at": row["reviewed_at"],
                "reason": row["review_reason"],
            }
        )

    @cached_property
    def _twins(self) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
        """Candidates that say the same in different sessions."""
        found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        rows = self.assessment.candidates.filter(pl.struct(_EQUAL).is_duplicated())
        for row in rows.select(*_EQUAL, *_PLACE[1:]).iter_rows():
            found.setdefault(row[:3], []).append((row[0], *row[3:]))
        return found

    def _neighbours(self, row: Mapping[str, Any], rule: Rule) -> Iterator[dict[str, Any]]:
        known = self.near.get(item_id(*(row[c] for c in _PLACE)), ("", []))[1]
        listed = {n.memory_id for n in known}
        for memory_id in (row["equal_memory"], row["refines"]):
            if memory_id and memory_id not in listed:
                listed.add(memory_id)
                known = [*known, Neighbour.unmeasured(memory_id)]
        for one in known:
            memory = self._memories.get((row["tenant_id"], one.memory_id))
            if memory is not None and rule.allows(memory):
                yield {**_shown(memory), "cosine": one.cosine, **_judged(row, memory)}

    def memory(self, tenant_id: str, memory_id: str) -> Mapping[str, Any] | None:
        """A memory of the registry with its status, whoever may see it; None without one."""
        return self._memories.get((tenant_id, memory_id))

    @cached_property
    def _memories(self) -> dict[tuple[str, str], dict[str, Any]]:
        rows = self.registry.status().to_dicts()
        return {(row["tenant_id"], row["memory_id"]): row for row in rows}

    def _proposals(self, rule: Rule, tenant_id: str) -> Iterator[Item]:
        for proposal, verdict in self.proposals.proposals:
            memory = self._memories.get((tenant_id, proposal.memory_ids[0]))
            if proposal.tenant_id == tenant_id and memory is not None and rule.allows(memory):
                yield self._proposal(proposal, verdict)

    def _proposal(self, proposal: Proposal, verdict: ProposalDecision | None) -> Item:
        memory = self._memories[proposal.tenant_id, proposal.memory_ids[0]]
        return plain(
            {
                "item_id": f"{proposal.tenant_id}/{proposal.proposal_id}",
                "kind": proposal.kind,
                "state": self.proposals.state(verdict),
                "label": proposal.label,
                "tenant_id": proposal.tenant_id,
                "session_id": memory["session_id"],
                "decision_seq": memory["decision_seq"],
                "ref": format_ref(memory["decision_seq"]),
                **{c: memory[c] for c in _CONTENT},
                "concepts": list(memory["concepts"]),
                "waits_since": proposal.since,
                "user_id": memory["user_id"],
                "client_id": memory["client_id"],
                "audience": memory["audience"],
                "memory_ids": list(proposal.memory_ids),
                "why": proposal.why,
                "acts": proposal.acts,
                "cites": [],
                "fail_closed": False,
                "content_sha256": proposal.content_sha256,
                "equal_to": [],
                "nearest": None,
                "verdict": verdict.verdict if verdict and verdict.verdict != "reopen" else None,
                "reviewer": verdict.reviewer if verdict else None,
                "reviewed_at": verdict.decided_at if verdict else None,
                "reason": verdict.reason if verdict else None,
            }
        )

    def _with_memories(self, item: Item, rule: Rule) -> Item:
        tenant, (first, *others) = item["tenant_id"], item["memory_ids"]
        own = self._memories[tenant, first]
        if not rule.allows(own):
            raise _no_such_item(item["item_id"])
        item |= {"memory_id": None, "not_offered": None}
        shown = [self._memories.get((tenant, m)) for m in others]
        item["neighbours"] = [
            {**_shown(m), "cosine": None, **_judged(own, m)} for m in shown if m and rule.allows(m)
        ]
        return item


def queues_of(
    state: ReviewState, tenants: Sequence[str], wanted: Callable[[str], QueueFilter]
) -> list[Queue]:
    """The queue of each tenant as its administrator sees it; for local use."""
    return [state.queue(Principal.local(tenant), wanted(tenant)) for tenant in tenants]


def refused_lines(assessment: Assessment, proposals: Judged) -> list[dict[str, Any]]:
    """Lines of the review file that do not count, each with its reason and its own text."""
    return [
        {
            "line": refused.line,
            "code": refused.code,
            "reason": refused.reason,
            "raw": refused.raw.decode("utf-8", "replace").strip(),
        }
        for refused in sorted(
            (*assessment.refused_reviews, *proposals.refused), key=lambda r: r.line
        )
    ]


def overridden_lines(assessment: Assessment, proposals: Judged) -> list[dict[str, int]]:
    """Lines that a later verdict on the same item replaced: history, no fault."""
    found = (*assessment.overridden_reviews, *proposals.overridden)
    return [{"line": o.line, "by_line": o.by_line} for o in sorted(found, key=lambda o: o.line)]


def _no_such_item(name: str) -> UsageError:
    return UsageError(
        f"There is no item {name!r} as of the last night.",
        remedy="`memory-assets review list --state all` shows every item.",
    )


def _shown(memory: Mapping[str, Any]) -> dict[str, Any]:
    names = ("memory_id", "status", "subject", "detail", "rationale")
    return {name: memory[name] for name in names}


def _judged(row: Mapping[str, Any], memory: Mapping[str, Any]) -> dict[str, Any]:
    """The relation, and per guard that objects the tokens that stand on one side only."""
    found = compare(row, memory)
    return {
        "relation": found.relation,
        "verdicts": [verdict.to_dict() for verdict in found.differing],
    }
