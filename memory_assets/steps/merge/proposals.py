"""Pairs → proposals: groups to merge, containments, conflicts; only ids and figures are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import polars as pl

from memory_assets.domain.clusters import Edge, complete_link
from memory_assets.domain.guards import RULE_VERSION, Judgement, Relation, judge
from memory_assets.domain.keys import normalise
from memory_assets.domain.merge import (
    Decision,
    Member,
    MergePolicy,
    Proposal,
    Route,
    decide,
    merges_alone,
    pair_key,
    stands_apart,
    survivor,
)
from memory_assets.domain.merge_review import PairVerdicts
from memory_assets.domain.merge_tables import MERGE_PROPOSALS
from memory_assets.domain.ports import Progress
from memory_assets.domain.spaces import definition_text
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.home import Home
from memory_assets.storage.parts import DerivedTables

GROUP: Final = "merge_proposals"
_ORDER: Final = {"same": 0, "contains": 1, "conflicts": 2}
_PAIR: Final = ["memory_a", "memory_b"]
Kind = Literal["same", "contains", "conflicts"]


def merge_tables(home: Home) -> DerivedTables:
    """The tables of the merge: rebuilt by the next plan, so the folder may be deleted.

    They have a folder of their own, since a long search must not hold up the night's tables.
    """
    return DerivedTables(home.merge)


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """One pair of active memories after the guards."""

    a: str
    b: str
    cosine: float
    relation: Relation
    guards: tuple[str, ...]
    """Guards whose tokens differ."""
    decision: Decision

    @property
    def key(self) -> tuple[str, str]:
        """The pair, unordered."""
        return pair_key(self.a, self.b)

    def to_dict(self) -> dict[str, Any]:
        """The pair as a proposal keeps it: no content."""
        return {
            "a": self.a,
            "b": self.b,
            "cosine": round(self.cosine, 6),
            "relation": self.relation,
            "guards": list(self.guards),
        }


@dataclass(frozen=True, slots=True)
class MergeProposal:
    """What is proposed for a group of memories."""

    tenant_id: str
    scope: str
    kind: Kind
    route: Route
    members: tuple[str, ...]
    survivor: str
    pairs: tuple[JudgedPair, ...]

    @property
    def proposal_id(self) -> str:
        """Stable while tenant, kind and members are the same."""
        whole = "\x1f".join((self.tenant_id, self.kind, *self.members))
        return f"mp-{hashlib.sha256(whole.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class ProposeResult:
    """What became of the pairs of one tenant."""

    tenant_id: str
    proposals: tuple[MergeProposal, ...]
    judged: int
    remembered: int
    """Pairs that a person has said are no duplicates."""
    apart: int
    """Pairs that the guards or the floor keep apart, conflicts not counted."""
    held_back: int
    """Pairs whose memories are in other groups first; they come up again afterwards."""
    by_guard: Mapping[str, int] = field(default_factory=dict)
    """How many pairs each guard set apart."""

    def count(self, kind: Kind, route: Route | None = None) -> int:
        """Proposals of a kind, and of a route."""
        return sum(p.kind == kind and route in (None, p.route) for p in self.proposals)

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        return {
            "judged_pairs": self.judged,
            "automatic_groups": self.count("same", "auto"),
            "groups_to_review": self.count("same", "review"),
            "containments": self.count("contains"),
            "conflicts": self.count("conflicts"),
            "kept_apart": self.apart,
            "remembered_as_different": self.remembered,
            "held_back": self.held_back,
        }


class Definitions:
    """Subjects and definitions of the active memories of one tenant."""

    def __init__(self, active: pl.DataFrame) -> None:
        columns = ["memory_id", "scope", "subject", "detail"]
        rows = list(active.select(columns).iter_rows())
        self.scope = {m: scope for m, scope, _, _ in rows}
        self.subject = {m: subject for m, _, subject, _ in rows}
        self.key = {m: normalise(subject) for m, _, subject, _ in rows}
        self.text = {m: definition_text(subject=s, detail=d) for m, _, s, d in rows}

    def judge(self, a: str, b: str, *, complete: bool) -> Judgement:
        """The guards on two memories."""
        return judge(
            self.text[a],
            self.text[b],
            subject_a=self.subject[a],
            subject_b=self.subject[b],
            complete=complete,
        )

    def same_subject(self, a: str, b: str) -> bool:
        """Whether both define one thing."""
        return self.key[a] == self.key[b]


def propose(
    tenant_id: str,
    pairs: Iterable[pl.DataFrame],
    definitions: Definitions,
    members: Mapping[str, Member],
    policy: MergePolicy,
    verdicts: PairVerdicts,
    *,
    replaced: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    total: int = 0,
) -> ProposeResult:
    """What the pairs of a tenant amount to; pairs of inactive memories are passed over.

    Automatic groups come first, and only what they leave is proposed for review: nobody is asked
    about a memory that is about to be replaced. A memory that replaces others (``replaced``: the
    old one → the new one) stands for them: what does not pass with each of them is for a person,
    or merges of several weeks would make a chain that no single one of them may make.
    """
    behind = _behind(replaced or {})
    earned: set[tuple[str, str]] = set()
    """Pairs of any memories, replaced ones too, that would merge by themselves."""
    judged: list[JudgedPair] = []
    remembered = apart = seen = 0
    by_guard: dict[str, int] = {}
    active = pl.Series(list(definitions.scope), dtype=pl.String)
    different = _different(tenant_id, verdicts)
    for frame in pairs:
        seen += frame.height
        if progress is not None:
            progress(seen, max(total, seen))
        if behind and policy.threshold is not None:
            rest = frame.join(different, on=_PAIR, how="anti")
            alone = rest.filter(merges_alone(policy.threshold)).select(_PAIR)
            earned.update(pair_key(a, b) for a, b in alone.iter_rows())
        own = frame.filter(pl.col("memory_a").is_in(active), pl.col("memory_b").is_in(active))
        asked = own.join(different, on=_PAIR, how="anti", maintain_order="left")
        remembered += own.height - asked.height
        for guard, count in asked["blocking"].explode().drop_nulls().value_counts().iter_rows():
            by_guard[guard] = by_guard.get(guard, 0) + count
        open_pairs = asked.filter(~stands_apart())
        apart += asked.height - open_pairs.height
        for row in open_pairs.iter_rows(named=True):
            pair = _decided(row, policy)
            if pair.decision.proposal is None:
                apart += 1
            else:
                judged.append(pair)
    judged = [_whole(p, behind, earned) for p in judged]
    proposals, held_back = _group(tenant_id, judged, definitions, members)
    return ProposeResult(
        tenant_id,
        proposals,
        len(judged) + apart,
        remembered,
        apart,
        held_back,
        dict(sorted(by_guard.items(), key=lambda kv: (-kv[1], kv[0]))),
    )


def _behind(replaced: Mapping[str, str]) -> dict[str, list[str]]:
    """Memory → those that it replaces, at any distance."""
    found: dict[str, list[str]] = {}
    for old in replaced:
        seen, at = {old}, replaced[old]
        while at in replaced and at not in seen:
            seen.add(at)
            at = replaced[at]
        found.setdefault(at, []).append(old)
    return found


def _whole(
    pair: JudgedPair, behind: Mapping[str, Sequence[str]], earned: set[tuple[str, str]]
) -> JudgedPair:
    """The pair; for a person where what the two replaced would not merge by itself, too."""
    if pair.decision.route != "auto" or pair.relation == "equal":
        return pair
    left, right = ([m, *behind.get(m, ())] for m in (pair.a, pair.b))
    if all(pair_key(x, y) in earned for x in left for y in right if (x, y) != (pair.a, pair.b)):
        return pair
    return replace(pair, decision=Decision("review", pair.decision.proposal))


def _different(tenant_id: str, verdicts: PairVerdicts) -> pl.DataFrame:
    """Pairs that a person has said are no duplicates, either way round."""
    pairs = [r.pair for r in verdicts.of_tenant(tenant_id) if r.verdict != "same"]
    both = [p for a, b in pairs for p in ((a, b), (b, a))]
    return pl.DataFrame(both, schema=dict.fromkeys(_PAIR, pl.String), orient="row")


def _decided(row: Mapping[str, Any], policy: MergePolicy) -> JudgedPair:
    decision = decide(
        row["relation"],
        row["cosine"],
        policy,
        same_subject=row["same_subject"],
        found_by_subject=row["found_by"] == "subject",
    )
    return JudgedPair(
        row["memory_a"],
        row["memory_b"],
        row["cosine"],
        row["relation"],
        tuple(row["guards"]),
        decision,
    )


def _group(
    tenant_id: str,
    judged: Sequence[JudgedPair],
    definitions: Definitions,
    members: Mapping[str, Member],
) -> tuple[tuple[MergeProposal, ...], int]:
    known = {p.key: p for p in judged}
    maker = _Maker(tenant_id, known, definitions, members)
    automatic = complete_link(_edges(p for p in judged if p.decision.route == "auto"))
    found = [maker.same(group, "auto") for group in automatic]
    replaced = {m for p in found for m in p.members if m != p.survivor}
    open_pairs = [
        p
        for p in judged
        if p.decision.route == "review" and p.a not in replaced and p.b not in replaced
    ]
    groups = _review_groups(open_pairs)
    grouped = {m for g in groups for m in g}
    found += [maker.same(group, "review") for group in groups]
    inside = {pair_key(x, y) for g in groups for x in g for y in g if x != y}
    held_back = 0
    for pair in open_pairs:
        if pair.key in inside:
            continue
        if pair.decision.proposal == "contains":
            found.append(maker.contains(pair))
        elif pair.a in grouped or pair.b in grouped:
            held_back += 1
    found += [
        maker.conflict(p)
        for p in judged
        if p.decision.proposal == "conflicts" and p.a not in replaced and p.b not in replaced
    ]
    return tuple(sorted(found, key=_rank)), held_back


def _edges(pairs: Iterable[JudgedPair]) -> list[Edge]:
    return [Edge(p.a, p.b, p.cosine) for p in pairs]


def _review_groups(pairs: Sequence[JudgedPair]) -> list[tuple[str, ...]]:
    """Groups in which every pair is open and that hang together by pairs that may be the same.

    A definition that contains two others hangs on them by containment only: it makes no group.
    """
    plain = [p for p in pairs if p.decision.proposal == "same"]
    tied: dict[str, set[str]] = {}
    for pair in plain:
        tied.setdefault(pair.a, set()).add(pair.b)
        tied.setdefault(pair.b, set()).add(pair.a)
    groups = complete_link(_edges(pairs))
    whole = [g for g in groups if _hangs_together(g, tied)]
    taken = {m for g in whole for m in g}
    rest = [p for p in plain if p.a not in taken and p.b not in taken]
    return sorted([*whole, *complete_link(_edges(rest))])


def _hangs_together(group: Sequence[str], tied: Mapping[str, set[str]]) -> bool:
    inside = set(group)
    reached = {group[0]}
    todo = [group[0]]
    while todo:
        new = (tied.get(todo.pop(), set()) & inside) - reached
        reached |= new
        todo += new
    return reached == inside


def _rank(proposal: MergeProposal) -> tuple[bool, int, float, tuple[str, ...]]:
    best = max((p.cosine for p in proposal.pairs), default=0.0)
    return (proposal.route != "auto", _ORDER[proposal.kind], -best, proposal.members)


class _Maker:
    """Makes proposals of one tenant."""

    def __init__(
        self,
        tenant_id: str,
        pairs: Mapping[tuple[str, str], JudgedPair],
        definitions: Definitions,
        members: Mapping[str, Member],
    ) -> None:
        self.tenant_id = tenant_id
        self.pairs = pairs
        self.definitions = definitions
        self.members = members

    def same(self, group: Sequence[str], route: Route) -> MergeProposal:
        stays = survivor(self.members[m] for m in group).memory_id
        return self._make("same", route, group, stays)

    def contains(self, pair: JudgedPair) -> MergeProposal:
        stays = pair.a if pair.relation == "contains" else pair.b
        return self._make("contains", "review", pair.key, stays)

    def conflict(self, pair: JudgedPair) -> MergeProposal:
        """The newer definition would replace the older one, if a person says so."""
        newer = max(
            (self.members[m] for m in pair.key), key=lambda m: (m.decided_at, _number(m.memory_id))
        )
        return self._make("conflicts", "review", pair.key, newer.memory_id)

    def _make(
        self, kind: Proposal, route: Route, group: Sequence[str], stays: str
    ) -> MergeProposal:
        ordered = tuple(sorted(group, key=_number))
        inside = [
            self.pairs[key]
            for i, x in enumerate(ordered)
            for y in ordered[i + 1 :]
            if (key := pair_key(x, y)) in self.pairs
        ]
        scope = self.definitions.scope[ordered[0]]
        return MergeProposal(self.tenant_id, scope, kind, route, ordered, stays, tuple(inside))


def _number(memory_id: str) -> int:
    tail = memory_id.rpartition("-")[2]
    return int(tail) if tail.isdigit() else 0


def commit_proposals(
    derived: DerivedTables, found: Sequence[ProposeResult], space_id: str
) -> pl.DataFrame:
    """The proposals table with the rows of these tenants replaced."""
    tenants = [r.tenant_id for r in found]
    others = read_proposals(derived).filter(~pl.col("tenant_id").is_in(tenants))
    rows = [_row(p, space_id) for r in found for p in r.proposals]
    table = pl.concat([others, frame_of(MERGE_PROPOSALS, rows)])
    table = table.sort("tenant_id", maintain_order=True)
    part = derived.parts.write(MERGE_PROPOSALS, table, "all")
    summary = dict(derived.info(GROUP).get("tenants", {}))
    summary |= {r.tenant_id: {**r.to_metadata(), "by_guard": dict(r.by_guard)} for r in found}
    head = {MERGE_PROPOSALS.name: [part] if part else []}
    derived.commit(GROUP, head, {"tenants": summary})
    return table


def _row(proposal: MergeProposal, space_id: str) -> tuple[object, ...]:
    cosines = [p.cosine for p in proposal.pairs]
    return (
        proposal.proposal_id,
        proposal.tenant_id,
        proposal.scope,
        proposal.kind,
        proposal.route,
        list(proposal.members),
        proposal.survivor,
        min(cosines, default=None),
        max(cosines, default=None),
        json.dumps([p.to_dict() for p in proposal.pairs]),
        space_id,
        RULE_VERSION,
    )


def read_proposals(derived: DerivedTables, tenant_id: str | None = None) -> pl.DataFrame:
    """The proposals table, or one tenant's part of it."""
    table = derived.read(GROUP, MERGE_PROPOSALS)
    return table if tenant_id is None else table.filter(pl.col("tenant_id") == tenant_id)


def proposal_summary(derived: DerivedTables, tenant_id: str) -> dict[str, Any]:
    """Counts of the last plan of a tenant; empty before the first."""
    return dict(derived.info(GROUP).get("tenants", {}).get(tenant_id, {}))
