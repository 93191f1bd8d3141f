"""Recording what a reviewer decides: judged first, then appended to the review file."""

from __future__ import annotations

import getpass
import threading
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from memory_assets.domain.review import (
    Edit,
    ProposalDecision,
    ReviewDecision,
    ReviewVerdict,
    line_refusal,
    reviewer_refusal,
)
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.domain.visibility import Principal, Rule, rule_for
from memory_assets.errors import AccessDenied, UsageError
from memory_assets.pipeline.review.state import ReviewState
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.promotion.review_apply import Judge
from memory_assets.steps.review.items import (
    ItemRange,
    ItemRef,
    Named,
    ProposalRef,
    SessionItems,
    item_id,
)
from memory_assets.steps.review.proposals import Proposal
from memory_assets.storage.review_log import ReviewLine, append_review_decisions

TICK: Final = timedelta(microseconds=1)
"""By how much a verdict lies after the one that it replaces, at the least."""
_ONE_AT_A_TIME: Final = threading.Lock()
"""Two requests to one server do not judge by a state that the other is about to change."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reviewer says about the items that are named with it."""

    verdict: ReviewVerdict
    reason: str = ""
    edited: Edit | None = None
    memory_id: str | None = None
    seen: Mapping[str, str] = field(default_factory=dict)
    """Item id → content hash that the reviewer saw; an item without one is taken as it is now."""
    said: Mapping[str, str] = field(default_factory=dict)
    """Item id → when the verdict was given that the reviewer saw on it; empty: there was none."""
    from_list: bool = False
    """Given on a list, where personal data is covered: what holds some is not accepted by it."""


@dataclass(frozen=True, slots=True)
class RefusedVerdict:
    """A verdict that was not recorded, and why; the others were."""

    item_id: str
    code: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """The refusal as JSON."""
        return {"item_id": self.item_id, "code": self.code, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Decided:
    """What is on record now, and what was refused."""

    recorded: tuple[ReviewLine, ...]
    refused: tuple[RefusedVerdict, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The outcome as ``--json`` prints it."""
        return {
            "recorded": [line_dict(line) for line in self.recorded],
            "refused": [refused.to_dict() for refused in self.refused],
            "notes": list(self.notes),
        }


def line_dict(line: ReviewLine) -> dict[str, Any]:
    """A line of the review file as JSON, with the id of its item."""
    found: dict[str, Any] = {
        "item_id": line_item(line),
        "verdict": line.verdict,
        "reviewer": line.reviewer,
        "decided_at": line.decided_at.isoformat(),
        "reason": line.reason,
        "content_sha256": line.content_sha256,
    }
    if isinstance(line, ReviewDecision):
        edit = line.edited
        found["memory_id"] = line.memory_id
        found["edited"] = (
            None
            if edit is None
            else {"subject": edit.subject, "detail": edit.detail, "rationale": edit.rationale}
        )
    return found


def line_item(line: ReviewLine) -> str:
    """The id of the item that a line is about."""
    if isinstance(line, ReviewDecision):
        return item_id(*line.key)
    return f"{line.tenant_id}/{line.proposal}"


def default_reviewer() -> str:
    """The user of the operating system; empty when it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""


def named_reviewer(name: str | None) -> str:
    """Whoever is named, else the user of the operating system; an empty name names nobody."""
    return default_reviewer() if name is None else name


def require_reviewer(
    reviewer: str | None, *, option: str = "--reviewer or MEMORY_ASSETS_REVIEWER"
) -> str:
    """The reviewer's name, when a person may bear it; ``option`` is where it was to be named.

    Raises:
        AccessDenied: nobody is named, or an agent is.
    """
    name = (reviewer or "").strip()
    why = reviewer_refusal(name)
    if why is not None:
        raise AccessDenied(
            f"{why[1]}.".capitalize() if not name else f"{why[1]}.",
            remedy=f"name the person who decides with {option}.",
        )
    return name


class ReviewDesk:
    """Records one reviewer's verdicts on what one principal may see."""

    def __init__(
        self,
        workspace: Workspace,
        reviewer: str,
        *,
        now: datetime,
        principal: Principal | None = None,
    ) -> None:
        """``reviewer`` is checked here. Without a principal the files are the boundary.

        Raises:
            AccessDenied: the reviewer is no person.
        """
        self.workspace = workspace
        self.principal = principal
        self.reviewer = require_reviewer(reviewer)
        self.now = now
        self.state = ReviewState(workspace, now=now)

    def decide(self, named: Iterable[Named], verdict: Verdict) -> Decided:
        """Records the verdict on every named item that may have it; the others are refused singly.

        Durable once this returns. Nothing is published by it: the next run applies it.

        Raises:
            UsageError: an edit was meant for several items.
            AccessDenied, UnknownTenantError: the principal may not review that tenant.
        """
        with _ONE_AT_A_TIME:
            return self._decide(list(named), verdict)

    def _decide(self, named: Sequence[Named], verdict: Verdict) -> Decided:
        rows, proposals, refused = self._resolve(named)
        if verdict.edited is not None and len(rows) + len(proposals) > 1:
            raise UsageError(
                "One wording cannot fit several items.", remedy="name one item with an edit."
            )
        times = self._times({_key(row) for row in rows} | {p.key for p in proposals})
        recorded: list[ReviewLine] = []
        notes = []
        judge = Judge(self.state.registry, self.workspace.schema_names, rows, now=self.now)
        for row in rows:
            line = self._line(row, verdict, times[_key(row)])
            name = item_id(*line.key)
            other = self._other_word(row["review_verdict"], row["reviewer"], row["reviewed_at"])
            why = _settled(row) or _covered(row, verdict, named) or judge.refusal(line, row)
            why = why or _said_since(name, other, verdict)
            if why is not None:
                refused.append(RefusedVerdict(name, *why))
                continue
            recorded.append(line)
            notes += _replaces(name, other, verdict)
            if row["route"] == "open" and verdict.verdict in ("accept", "duplicate_of"):
                notes.append(f"{name} is applied once its session is finished")
        standing = {p.key: said for p, said in self.state.proposals.proposals if said}
        for proposal in proposals:
            about = self._proposal_line(proposal, verdict, times[proposal.key])
            name = f"{proposal.tenant_id}/{proposal.proposal_id}"
            said = standing.get(proposal.key)
            other = self._other_word(said.verdict, said.reviewer, said.decided_at) if said else None
            since = _said_since(name, other, verdict)
            if about is None:
                why = "bad-verdict", "a proposal is accepted as it is, declined or put off"
            elif about.content_sha256 != proposal.content_sha256:
                why = "changed-since", "the proposal is not what you saw; look at it again"
            elif since is not None:
                why = since
            else:
                recorded.append(about)
                notes += _replaces(name, other, verdict)
                continue
            refused.append(RefusedVerdict(name, *why))
        append_review_decisions(self.workspace.home.review_decisions, recorded)
        return Decided(tuple(recorded), tuple(refused), tuple(notes))

    def single(self, named: Sequence[Named]) -> dict[str, Any]:
        """The one candidate that is named, as it is now.

        Raises:
            UsageError: it is not exactly one.
        """
        rows, _, _ = self._resolve(named)
        if len(rows) != 1:
            raise UsageError(
                f"{len(rows)} items are named where one is needed.",
                remedy="name one item; `memory-assets review list` shows their ids.",
            )
        return rows[0]

    def undo(self) -> Decided:
        """Takes back this reviewer's last verdict that still stands: its item waits again.

        Raises:
            UsageError: there is nothing to take back.
        """
        latest: dict[Any, ReviewLine] = {}
        log = self.workspace.review_log()
        for _, line in sorted(log.lines(), key=lambda n: (n[1].decided_at.timestamp(), n[0])):
            if line_refusal(line, now=self.now) is None:
                latest.pop(line.key, None)
                latest[line.key] = line
        mine = [
            line
            for line in latest.values()
            if line.reviewer.strip() == self.reviewer and line.verdict != "reopen"
        ]
        if not mine:
            raise UsageError(
                f"{self.reviewer} has no verdict to take back.",
                remedy="`memory-assets review list --state all` shows every item.",
            )
        last = mine[-1]
        named: Named = (
            ItemRef(*last.key) if isinstance(last, ReviewDecision) else ProposalRef(*last.key)
        )
        return self.decide([named], Verdict("reopen"))

    def _resolve(
        self, named: Iterable[Named]
    ) -> tuple[list[dict[str, Any]], list[Proposal], list[RefusedVerdict]]:
        rows: dict[Any, dict[str, Any]] = {}
        proposals: dict[tuple[str, str], Proposal] = {}
        refused = []
        for one in dict.fromkeys(named):
            if isinstance(one, ProposalRef):
                proposal = self._proposal(one)
                if proposal is not None:
                    proposals[proposal.key] = proposal
                    continue
                found = []
            else:
                found = self._rows(one)
            rows |= {_key(row): row for row in found}
            if not found:
                single = isinstance(one, ItemRef | ProposalRef)
                refused.append(RefusedVerdict(str(one), *(_UNKNOWN if single else _NOTHING_WAITS)))
        return list(rows.values()), list(proposals.values()), refused

    def _rule(self, tenant_id: str) -> Rule:
        return rule_for(self.principal or Principal.local(tenant_id), tenant_id, "review")

    def _rows(self, one: ItemRef | ItemRange | SessionItems) -> list[dict[str, Any]]:
        """Rows of the assessment that are meant; those the principal may not see do not exist."""
        rule = self._rule(one.tenant_id)
        assessment = self.state.assessment
        routes = assessment.routes.filter(
            pl.col("tenant_id") == one.tenant_id, pl.col("session_id") == one.session_id
        )
        if isinstance(one, ItemRef):
            routes = routes.filter(
                pl.col("decision_seq") == one.decision_seq, pl.col("fact_no") == one.fact_no
            )
        else:
            waits = assessment.candidates.select(PROMOTION_KEY)
            routes = routes.join(waits, on=PROMOTION_KEY, how="semi")
        found = [row for row in routes.to_dicts() if rule.allows(row)]
        if isinstance(one, ItemRange):
            found = [row for row in found if one.holds(row["decision_seq"])]
        return found

    def _proposal(self, one: ProposalRef) -> Proposal | None:
        rule = self._rule(one.tenant_id)
        for proposal, _ in self.state.proposals.proposals:
            if proposal.key == (one.tenant_id, one.proposal):
                seen = [self.state.memory(one.tenant_id, m) for m in proposal.memory_ids]
                return proposal if all(m is not None and rule.allows(m) for m in seen) else None
        return None

    def _times(self, keys: Collection[Hashable]) -> dict[Any, datetime]:
        """When each verdict is given: after every earlier one on the same item that counts."""
        times: dict[Any, datetime] = dict.fromkeys(keys, self.now)
        for _, line in self.workspace.review_log().lines():
            if line.key in times and line_refusal(line, now=self.now) is None:
                times[line.key] = max(times[line.key], line.decided_at + TICK)
        return times

    def _line(self, row: Mapping[str, Any], verdict: Verdict, when: datetime) -> ReviewDecision:
        key = _key(row)
        return ReviewDecision(
            tenant_id=key[0],
            session_id=key[1],
            decision_seq=key[2],
            fact_no=key[3],
            verdict=verdict.verdict,
            reviewer=self.reviewer,
            decided_at=when,
            content_sha256=verdict.seen.get(item_id(*key)) or row["content_sha256"] or "none",
            reason=verdict.reason,
            edited=verdict.edited,
            memory_id=verdict.memory_id,
        )

    def _other_word(
        self, verdict: str | None, reviewer: str | None, when: datetime | None
    ) -> _Word | None:
        """What somebody else decided about an item; None when nobody did."""
        if verdict not in _DECIDES or not reviewer or reviewer.strip() == self.reviewer:
            return None
        return _Word(_DECIDES[verdict], reviewer.strip(), "" if when is None else when.isoformat())

    def _proposal_line(
        self, proposal: Proposal, verdict: Verdict, when: datetime
    ) -> ProposalDecision | None:
        if verdict.verdict == "duplicate_of" or verdict.edited is not None:
            return None
        name = f"{proposal.tenant_id}/{proposal.proposal_id}"
        return ProposalDecision(
            tenant_id=proposal.tenant_id,
            proposal=proposal.proposal_id,
            verdict=verdict.verdict,
            reviewer=self.reviewer,
            decided_at=when,
            content_sha256=verdict.seen.get(name) or proposal.content_sha256,
            reason=verdict.reason,
        )


_DECIDES: Final = {
    "accept": "accepted",
    "duplicate_of": "accepted as a duplicate",
    "decline": "declined",
}


@dataclass(frozen=True, slots=True)
class _Word:
    """A verdict of somebody else that stands."""

    said: str
    by: str
    at: str

    def __str__(self) -> str:
        return f"{self.by} {self.said} it on {self.at[:16].replace('T', ' ')}"


def _said_since(name: str, other: _Word | None, verdict: Verdict) -> tuple[str, str] | None:
    """Why a verdict may not stand over one that its reviewer has not seen."""
    seen = verdict.said.get(name)
    if other is None or seen is None or seen == other.at:
        return None
    return "decided-since", f"{other}, after you opened it; look at it again"


def _replaces(name: str, other: _Word | None, verdict: Verdict) -> list[str]:
    """A note for whoever replaces somebody's verdict without having been shown it."""
    return [f"{name}: {other}; that is replaced"] if other and name not in verdict.said else []


def _settled(row: Mapping[str, Any]) -> tuple[str, str] | None:
    memory = row["settled_in"]
    if memory is None:
        return None
    what = f"it is {memory} already" if memory else "it was removed for good"
    return "already-published", what


_UNKNOWN: Final = ("unknown-item", "there is no such item as of the last night")
_NOTHING_WAITS: Final = ("nothing-waits", "nothing of this waits for a reviewer")


def _covered(
    row: Mapping[str, Any], verdict: Verdict, named: Sequence[Named]
) -> tuple[str, str] | None:
    """Why a row may not be accepted unseen: ranges, sessions and lists cover personal data."""
    if not row["personal"] or verdict.verdict not in ("accept", "duplicate_of"):
        return None
    if not verdict.from_list and ItemRef(*_key(row)) in named:
        return None
    why = f"it holds personal data ({row['personal']}), covered in lists"
    return "personal-data", f"{why}: open it, then accept it by its own name"


def _key(row: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return (row["tenant_id"], row["session_id"], row["decision_seq"], row["fact_no"])
