"""Semantic merge, use case by use case: plan, apply, accept, decline, undo, explain.

Nothing here changes the registry. Merges and their undoing become intents, which the next
publication applies; verdicts go to the append-only file of reviewed pairs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from memory_assets.domain.guards import RULE_VERSION
from memory_assets.domain.intents import Retract, Supersede
from memory_assets.domain.merge import (
    MergePolicy,
    Supersession,
    decide,
    evidence,
    pair_key,
)
from memory_assets.domain.merge_review import PairReview, PairVerdict, PairVerdicts
from memory_assets.domain.spaces import DEFINITION_RECIPE
from memory_assets.embedding.through_cache import embed_through_cache
from memory_assets.errors import CorruptStore, UnknownMemoryError, UsageError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.merge.calibrate import (
    TenantCalibration,
    calibrate_tenant,
    commit_calibrations,
    policy_of,
    read_calibrations,
)
from memory_assets.steps.merge.candidates import PairSearch, PairsResult, read_pairs
from memory_assets.steps.merge.inputs import members_of
from memory_assets.steps.merge.on_ray import runner
from memory_assets.steps.merge.proposals import (
    Definitions,
    ProposeResult,
    commit_proposals,
    merge_tables,
    propose,
    read_proposals,
)
from memory_assets.steps.merge.space import space_floor
from memory_assets.steps.merge.types import MergeChange, MergePlan, Told, intent_of, person
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.intents import append_intents, read_intents
from memory_assets.storage.locks import exclusive
from memory_assets.storage.pair_log import append_pair_reviews, pair_log_path, read_pair_log

RULE: Final = f"rule merge {RULE_VERSION}"


class SemanticMerge:
    """The merge of one installation; open for the length of one command or run."""

    def __init__(self, workspace: Workspace, *, told: Told | None = None) -> None:
        self.workspace = workspace
        self.told: Told = told or (lambda what, done, total: None)
        self.home = workspace.home
        self.derived = merge_tables(self.home)
        self.current = workspace.generations.current()[0]
        self.registry: RegistryView = workspace.registry()
        self._replaced = self._replacements()

    def tenants(self) -> tuple[str, ...]:
        """Every tenant with a memory."""
        return tuple(self.registry.memories["tenant_id"].unique().sort().to_list())

    @property
    def space_id(self) -> str:
        """The embedding space of the cosines."""
        return self.workspace.embedder.space(DEFINITION_RECIPE).space_id

    def verdicts(self) -> PairVerdicts:
        """What people said about pairs."""
        return PairVerdicts(read_pair_log(self.home).reviews)

    def unreadable(self) -> tuple[int, ...]:
        """Lines of the reviewed pairs that cannot be read; each may hide that two differ."""
        return read_pair_log(self.home).refused

    def search(self, tenants: Sequence[str], *, full: bool) -> PairsResult:
        """The pairs table, brought up to date.

        Raises:
            EmbeddingError: the model failed; the table is as it was.
        """
        settings = self.workspace.settings
        work = PairSearch(
            self.derived,
            self.workspace.embedder,
            self.workspace.cache,
            run=runner(settings.text("merge_ray")),
            progress=lambda done, all_: self.told("comparing", done, all_),
            judging=lambda done, all_: self.told("judging", done, all_),
        )
        with self._working("searching for duplicates"):
            return work.update(self.registry, tuple(tenants), full=full)

    def calibrate(self, tenants: Sequence[str]) -> tuple[TenantCalibration, ...]:
        """What reviewed pairs have earned, per tenant; written to the calibration table."""
        verdicts = self.verdicts()
        target = self.workspace.settings.number("merge_precision")
        found = tuple(
            calibrate_tenant(
                self.registry,
                tenant,
                verdicts,
                self.workspace.embedder,
                self.workspace.cache,
                target=target,
            )
            for tenant in tenants
        )
        with self._working("calibrating"):
            commit_calibrations(self.derived, found)
        return found

    def propose(self, tenants: Sequence[str]) -> tuple[ProposeResult, ...]:
        """What the pairs amount to, under what calibration has earned; the table is replaced."""
        verdicts = self.verdicts()
        found = []
        for tenant in tenants:
            frames = list(read_pairs(self.derived, tenant))
            total = sum(f.height for f in frames)
            found.append(
                propose(
                    tenant,
                    frames,
                    Definitions(self.active(tenant)),
                    members_of(self.registry, tenant),
                    self.policy(tenant),
                    verdicts,
                    replaced=self.replaced(tenant),
                    progress=lambda done, all_: self.told("proposing", done, all_),
                    total=total,
                )
            )
        with self._working("proposing merges"):
            commit_proposals(self.derived, found, self.space_id)
        return tuple(found)

    def plan(self, tenants: Sequence[str], *, full: bool = True) -> MergePlan:
        """Search, calibration and proposals in one go."""
        pairs = self.search(tenants, full=full)
        return MergePlan(pairs, self.calibrate(tenants), self.propose(tenants))

    def policy(self, tenant_id: str) -> MergePolicy:
        """What merging may do for a tenant now."""
        floor = space_floor(self.workspace.embedder, self.workspace.cache)
        return policy_of(read_calibrations(self.derived), tenant_id, self.space_id, floor)

    def apply(self, tenants: Sequence[str], *, now: datetime) -> tuple[MergeChange, ...]:
        """Asks publication for every merge that is earned; asking again changes nothing.

        Raises:
            CorruptStore: a reviewed pair cannot be read, which may hide that two memories differ.
        """
        return tuple(self._apply(tenant, now) for tenant in tenants)

    def accept(
        self, tenant_id: str, proposal_id: str, *, reviewer: str, reason: str = "", now: datetime
    ) -> MergeChange:
        """A person says yes: the survivor replaces the others, and every pair becomes a label.

        Raises:
            UsageError: no such proposal, or it is no longer what was proposed, or no reviewer.
        """
        row = self._proposal(tenant_id, proposal_id)
        who = person(reviewer)
        decided_by = f"reviewer {who}"
        made = self._supersessions(tenant_id, row["members"], row["survivor"], decided_by)
        labels = self._labels(tenant_id, row["members"], row["kind"], who, reason, now)
        return self._record(tenant_id, made, labels, reason, now)

    def decline(
        self, tenant_id: str, proposal_id: str, *, reviewer: str, reason: str = "", now: datetime
    ) -> MergeChange:
        """A person says no: every pair of the proposal is remembered as not the same."""
        row = self._proposal(tenant_id, proposal_id)
        who = person(reviewer)
        labels = self._labels(tenant_id, row["members"], "different", who, reason, now)
        return self._record(tenant_id, (), labels, reason, now)

    def undo(
        self, tenant_id: str, a: str, b: str, *, reviewer: str, reason: str = "", now: datetime
    ) -> MergeChange:
        """Takes a merge back, in whichever order the two are named, and remembers the pair.

        Raises:
            UsageError: neither memory replaces the other now.
        """
        who = person(reviewer)
        self._row(tenant_id, a), self._row(tenant_id, b)
        old, new = (a, b) if self._replaced.get((tenant_id, a)) == b else (b, a)
        if self._replaced.get((tenant_id, old)) != new:
            raise UsageError(
                f"Neither of {a} and {b} replaces the other.",
                where=f"tenant {tenant_id}",
                remedy=f"`memory-assets history {a} --tenant {tenant_id}` shows what replaced it.",
            )
        decided_by = f"reviewer {who}"
        made = (Supersession(tenant_id, old, new, decided_by, retracted=True),)
        labels = self._labels(tenant_id, (old, new), "different", who, reason, now)
        return self._record(tenant_id, made, labels, reason, now)

    def explain(self, tenant_id: str, a: str, b: str) -> dict[str, Any]:
        """All that speaks for and against a pair, with the tokens that differ.

        Raises:
            UnknownMemoryError: one of them is not a memory of this tenant.
            UsageError: it is one memory, named twice.
        """
        if a == b:
            raise UsageError(
                f"{a} is compared with itself.",
                where=f"tenant {tenant_id}",
                remedy="name two memories.",
            )
        rows = [self._row(tenant_id, m) for m in (a, b)]
        definitions = Definitions(pl.DataFrame(rows, infer_schema_length=None))
        judgement = definitions.judge(a, b, complete=True)
        cosine = self._cosine(definitions.text[a], definitions.text[b])
        policy = self.policy(tenant_id)
        same_subject = definitions.same_subject(a, b)
        decision = decide(
            judgement.relation,
            cosine,
            policy,
            same_subject=same_subject,
            found_by_subject=same_subject,
        )
        verdict = self.verdicts().of(tenant_id, a, b)
        return {
            "tenant_id": tenant_id,
            "memories": [_shown(r) for r in rows],
            "same_scope": rows[0]["scope"] == rows[1]["scope"],
            "same_subject": same_subject,
            "cosine": round(cosine, 6),
            "space_id": self.space_id,
            "review_floor": policy.floor,
            "automatic_from": policy.threshold,
            **judgement.to_dict(),
            "route": "ignored" if rows[0]["scope"] != rows[1]["scope"] else decision.route,
            "proposal": decision.proposal,
            "reviewed": None
            if verdict is None
            else {
                "verdict": verdict.verdict,
                "reviewer": verdict.reviewer,
                "decided_at": verdict.decided_at.isoformat(),
                "reason": verdict.reason,
            },
            "supersessions": self._between(tenant_id, a, b),
        }

    def siblings(self, tenant_id: str, replaced: Sequence[str]) -> tuple[str, ...]:
        """Active memories that stand close to one that was replaced; its survivor left out."""
        gone = set(replaced)
        active = set(self.active(tenant_id)["memory_id"].to_list()) - gone
        survivors = {self._replaced.get((tenant_id, m)) for m in gone}
        near: set[str] = set()
        for frame in read_pairs(self.derived, tenant_id):
            for x, y in frame.select("memory_a", "memory_b").iter_rows():
                if x in gone:
                    near.add(y)
                if y in gone:
                    near.add(x)
        return tuple(sorted(near & active - survivors))

    def proposals(self, tenant_id: str) -> pl.DataFrame:
        """The proposals of the last plan whose members are all still active, and undecided."""
        active = self.active(tenant_id)["memory_id"].to_list()
        table = read_proposals(self.derived, tenant_id)
        table = table.filter(pl.col("members").list.eval(pl.element().is_in(active)).list.all())
        verdicts = self.verdicts()
        return table.filter(
            [
                not any(_declined(verdicts, tenant_id, pair) for pair in combinations(group, 2))
                for group in table["members"].to_list()
            ]
        )

    def _working(self, purpose: str) -> AbstractContextManager[None]:
        return exclusive(self.home.merge_lock, purpose=purpose, wait=True)

    def _apply(self, tenant_id: str, now: datetime) -> MergeChange:
        earned = self.proposals(tenant_id).filter(pl.col("route") == "auto")
        if earned.height and (lines := self.unreadable()):
            raise CorruptStore(
                f"Lines of the reviewed pairs cannot be read: {', '.join(map(str, lines))}.",
                where=str(pair_log_path(self.home)),
                remedy="mend or remove them; each may hide that two memories differ, so nothing "
                "merges by itself until then.",
            )
        verdicts = self.verdicts()
        made: list[Supersession] = []
        for row in earned.iter_rows(named=True):
            pairs = json.loads(row["pairs"])
            if any(verdicts.are_different(tenant_id, p["a"], p["b"]) for p in pairs):
                continue
            made += self._supersessions(tenant_id, row["members"], row["survivor"], RULE)
        return self._record(tenant_id, tuple(made), (), "", now)

    def _supersessions(
        self, tenant_id: str, members: Sequence[str], stays: str, decided_by: str
    ) -> tuple[Supersession, ...]:
        """One row per member that the survivor replaces, with the evidence of that very pair."""
        definitions = Definitions(self.active(tenant_id))
        threshold = self.policy(tenant_id).threshold
        rows = []
        for member in members:
            if member == stays:
                continue
            found = evidence(
                cosine=self._cosine(definitions.text[member], definitions.text[stays]),
                space_id=self.space_id,
                judgement=definitions.judge(member, stays, complete=True),
                threshold=threshold,
            )
            rows.append(Supersession(tenant_id, member, stays, decided_by, evidence=found))
        return tuple(rows)

    def _labels(
        self,
        tenant_id: str,
        members: Sequence[str],
        verdict: PairVerdict,
        reviewer: str,
        reason: str,
        now: datetime,
    ) -> tuple[PairReview, ...]:
        rows = {m: self._row(tenant_id, m) for m in members}
        return tuple(
            PairReview(
                tenant_id=tenant_id,
                memory_a=a,
                memory_b=b,
                verdict=verdict,
                reviewer=reviewer,
                decided_at=now,
                content_a=rows[a]["content_sha256"],
                content_b=rows[b]["content_sha256"],
                space_id=self.space_id,
                rule_version=RULE_VERSION,
                reason=reason,
            )
            for a, b in sorted({pair_key(x, y) for x in members for y in members if x != y})
        )

    def _record(
        self,
        tenant_id: str,
        made: Sequence[Supersession],
        labels: Sequence[PairReview],
        reason: str,
        now: datetime,
    ) -> MergeChange:
        """Labels first: a crash in between leaves a verdict without its merge, not the reverse."""
        append_pair_reviews(self.home, labels)
        intents = [intent_of(s, reason, now) for s in made]
        numbers = append_intents(self.home, intents, after=self.current.intents_through)
        self._replaced = self._replacements()
        gone = [s.memory_id for s in made if not s.retracted]
        siblings = self.siblings(tenant_id, gone) if gone else ()
        return MergeChange(tenant_id, tuple(made), len(labels), tuple(numbers), siblings)

    def _replacements(self) -> dict[tuple[str, str], str]:
        """Who replaces whom once the pending intents have been applied."""
        found = dict(self.registry.replaced())
        for line in read_intents(self.home).after(self.current.intents_through):
            intent = line.intent
            if isinstance(intent, Supersede):
                found[intent.tenant_id, intent.memory_id] = intent.superseded_by
            elif isinstance(intent, Retract):
                found.pop((intent.tenant_id, intent.memory_id), None)
        return found

    def active(self, tenant_id: str) -> pl.DataFrame:
        """Memories of the tenant that are neither replaced, pending ones counted, nor retired."""
        rows = self.registry.of_tenant(tenant_id).status().filter(pl.col("status") != "retired")
        gone = [m for t, m in self._replaced if t == tenant_id]
        return rows.filter(~pl.col("memory_id").is_in(gone))

    def replaced(self, tenant_id: str) -> dict[str, str]:
        """Memories of the tenant that another one replaces, pending merges counted, with it."""
        return {old: new for (t, old), new in self._replaced.items() if t == tenant_id}

    def _row(self, tenant_id: str, memory_id: str) -> dict[str, Any]:
        found = self.registry.of_tenant(tenant_id).status()
        own = found.filter(pl.col("memory_id") == memory_id)
        if own.is_empty():
            raise UnknownMemoryError(
                f"There is no memory {memory_id!r}.",
                where=f"tenant {tenant_id}, generation {self.registry.generation}",
                remedy=f"`memory-assets registry list --tenant {tenant_id}` lists them.",
            )
        return own.row(0, named=True)

    def _proposal(self, tenant_id: str, proposal_id: str) -> dict[str, Any]:
        own = self.proposals(tenant_id).filter(pl.col("proposal_id") == proposal_id)
        if own.is_empty():
            raise UsageError(
                f"There is no open proposal {proposal_id!r}.",
                where=f"tenant {tenant_id}",
                remedy=f"`memory-assets merge plan --tenant {tenant_id}` makes and lists them; one "
                "whose memories were merged or retired since is gone.",
            )
        return own.row(0, named=True)

    def _cosine(self, a: str, b: str) -> float:
        vectors, _ = embed_through_cache(
            self.workspace.embedder, self.workspace.cache, [a, b], kind="document"
        )
        return float(np.clip(vectors[0] @ vectors[1], -1.0, 1.0))

    def _between(self, tenant_id: str, a: str, b: str) -> list[dict[str, Any]]:
        rows = self.registry.of_tenant(tenant_id).supersessions.iter_rows(named=True)
        pair = pair_key(a, b)
        return [
            {
                "memory_id": r["memory_id"],
                "superseded_by": r["superseded_by"],
                "generation": r["generation"],
                "retracted": r["retracted"],
                "decided_by": r["decided_by"],
                "evidence": json.loads(r["evidence"] or "{}"),
            }
            for r in rows
            if pair_key(r["memory_id"], r["superseded_by"]) == pair
        ]


def _declined(verdicts: PairVerdicts, tenant_id: str, pair: tuple[str, str]) -> bool:
    found = verdicts.of(tenant_id, *pair)
    return found is not None and found.verdict == "different"


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    names = ("memory_id", "subject", "detail", "status", "superseded_by", "origin", "session_id")
    return {n: row[n] for n in names} | {"decided_at": row["decided_at"].isoformat()}
