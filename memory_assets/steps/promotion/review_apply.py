"""The applier: what the lines of the review file come to, whoever wrote them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, TypeVar

import msgspec
import polars as pl

from memory_assets.domain.promotion import PromotionKey
from memory_assets.domain.review import (
    ProposalDecision,
    Refusal,
    ReviewDecision,
    refusal,
)
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.steps.promotion.review_filter import USUAL_NAMES, NamesOf
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.review_log import RefusedDecision, ReviewLog

_SESSION: Final = ["tenant_id", "session_id"]
_EQUAL: Final = [*_SESSION, "scope", "duplicate_key"]
_ACCEPTS: Final = ("accept", "duplicate_of")
_SCHEMA: Final = pl.Schema(
    {
        "tenant_id": pl.String(),
        "session_id": pl.String(),
        "decision_seq": pl.Int64(),
        "fact_no": pl.Int64(),
        "review_verdict": pl.String(),
        "reviewer": pl.String(),
        "reviewed_at": pl.Datetime("us", "UTC"),
        "review_reason": pl.String(),
        "edited": pl.String(),
        "named_duplicate": pl.String(),
    }
)
_Line = TypeVar("_Line", ReviewDecision, ProposalDecision)


@dataclass(frozen=True, slots=True)
class Overridden:
    """A sound line that a later one on the same item replaced."""

    line: int
    by_line: int


@dataclass(frozen=True, slots=True)
class Applied:
    """Verdicts in force by item, and every line that does not count with its reason."""

    verdicts: pl.DataFrame
    """Promotion key, review_verdict, reviewer, reviewed_at, review_reason, edited,
    named_duplicate."""
    refused: tuple[RefusedDecision, ...]
    overridden: tuple[Overridden, ...]


def apply_reviews(
    rows: pl.DataFrame,
    reviews: ReviewLog,
    registry: RegistryView,
    *,
    now: datetime,
    names_of: NamesOf = USUAL_NAMES,
) -> Applied:
    """The verdict in force on each item, from the lines of the review file.

    ``rows`` are the clarifications with ``settled_in``. Every accept is filtered again and refused
    singly. Of several sound lines on one item the latest counts; lines of one instant that
    contradict each other are both refused, and the item waits again. A verdict also holds for
    equal content of the same session that has no marker.
    """
    refused = list(reviews.refused)
    if not reviews.decisions:
        return Applied(pl.DataFrame(schema=_SCHEMA), tuple(refused), ())
    seen = _seen(rows, [d.key for _, d in reviews.decisions])
    judge = Judge(registry, names_of, seen.values(), now=now)
    sound = []
    for line, decision in reviews.decisions:
        row = seen.get(decision.key)
        why = judge.refusal(decision, row)
        settled = row is not None and row["settled_in"] is not None
        if why is None or (settled and why[0] in ("not-offered", "changed-since")):
            sound.append((line, decision))
        else:
            refused.append(_refused(line, decision, why))
    latest, more, overridden = latest_lines(sound)
    refused += more
    latest, late = _without_effect(latest, seen)
    verdicts = _spread(latest, seen, rows)
    return Applied(verdicts, tuple(sorted(refused + late, key=_line_number)), overridden)


def latest_lines(
    sound: Iterable[tuple[int, _Line]],
) -> tuple[dict[Any, tuple[int, _Line]], list[RefusedDecision], tuple[Overridden, ...]]:
    """For each item the line that counts, the contradictions, and the lines that are overridden.

    Lines count in the order of their times; of one time, the later line. Two that say different
    things at the same instant cannot both be meant, and nobody guesses which.
    """
    latest: dict[Any, tuple[int, _Line]] = {}
    refused: dict[int, RefusedDecision] = {}
    overridden = []
    clash: dict[Hashable, datetime] = {}
    for line, decision in sorted(sound, key=lambda s: (s[1].decided_at, s[0])):
        key = decision.key
        before = latest.get(key)
        if clash.get(key) == decision.decided_at:
            refused[line] = _refused(line, decision, _CLASH)
            continue
        if before is not None and _contradict(before[1], decision):
            clash[key] = decision.decided_at
            refused |= {n: _refused(n, d, _CLASH) for n, d in (before, (line, decision))}
            del latest[key]
            continue
        if before is not None:
            overridden.append(Overridden(before[0], line))
        latest[key] = (line, decision)
    return latest, list(refused.values()), tuple(overridden)


def _contradict(one: _Line, other: _Line) -> bool:
    return one.decided_at == other.decided_at and one.said != other.said


_CLASH: Final = ("two-verdicts", "two verdicts on this item at the same instant contradict")


class Judge:
    """Judges single verdicts, whoever wrote them: the commands ask it before, the applier after."""

    def __init__(
        self,
        registry: RegistryView,
        names_of: NamesOf,
        rows: Iterable[Mapping[str, Any]],
        *,
        now: datetime,
    ) -> None:
        self._registry = registry
        self._names = names_of({(row["tenant_id"], row["session_id"]) for row in rows})
        self._now = now

    def refusal(self, decision: ReviewDecision, row: Mapping[str, Any] | None) -> Refusal | None:
        """Why the verdict does not count; None when it does. ``row`` is its clarification."""
        names = self._names.get(decision.key[:2])
        why = refusal(decision, row, now=self._now, names=names)
        if why is not None or row is None or decision.memory_id is None:
            return why
        key = (decision.tenant_id, decision.memory_id)
        if key not in self._scopes:
            return "unknown-memory", f"{decision.memory_id} is not in the registry"
        if (key[0], self._survivors[key]) in self._retired:
            return "not-active", f"{decision.memory_id} is retired"
        if self._scopes[key] != row["scope"]:
            return "other-scope", f"{decision.memory_id} is not visible to the same people"
        return None

    @cached_property
    def _scopes(self) -> dict[tuple[str, str], str]:
        rows = self._registry.memories.select("tenant_id", "memory_id", "scope").iter_rows()
        return {(tenant, memory): scope for tenant, memory, scope in rows}

    @cached_property
    def _survivors(self) -> dict[tuple[str, str], str]:
        return self._registry.survivors()

    @cached_property
    def _retired(self) -> set[tuple[str, str]]:
        return set(self._registry.retirements.select("tenant_id", "memory_id").rows())


def _seen(rows: pl.DataFrame, keys: Sequence[PromotionKey]) -> dict[PromotionKey, dict[str, Any]]:
    wanted = pl.DataFrame(keys, schema={k: rows.schema[k] for k in PROMOTION_KEY}, orient="row")
    found = rows.join(wanted.unique(), on=PROMOTION_KEY, how="semi")
    return {(r["tenant_id"], *(r[k] for k in PROMOTION_KEY[1:])): r for r in found.to_dicts()}


_Latest = dict[PromotionKey, tuple[int, ReviewDecision]]


def _without_effect(
    latest: _Latest, seen: Mapping[PromotionKey, Mapping[str, Any]]
) -> tuple[_Latest, list[RefusedDecision]]:
    """Verdicts that can still count; one against a published memory comes too late."""
    kept: _Latest = {}
    late = []
    for key, (line, decision) in latest.items():
        memory = seen[key]["settled_in"]
        if memory is None or decision.verdict in _ACCEPTS:
            kept[key] = (line, decision)
            continue
        what = f"it is {memory} already" if memory else "it was removed for good"
        why = f"{what}: a published memory is retired, not declined"
        late.append(_refused(line, decision, ("already-published", why)))
    return kept, late


def _spread(
    latest: _Latest, seen: Mapping[PromotionKey, Mapping[str, Any]], rows: pl.DataFrame
) -> pl.DataFrame:
    """One row per key that a verdict settles: the item, and equal content of its session."""
    groups = {tuple(seen[key][c] for c in _EQUAL) for key in latest if seen[key]["duplicate_key"]}
    schema = {c: rows.schema[c] for c in _EQUAL}
    wanted = pl.DataFrame(list(groups), schema=schema, orient="row")
    sharing: dict[tuple[Any, ...], list[PromotionKey]] = {}
    alike = rows.filter(pl.col("verdict").is_null(), pl.col("in_force")).join(
        wanted, on=_EQUAL, how="semi"
    )
    for row in alike.select(*_EQUAL, *PROMOTION_KEY[2:]).iter_rows():
        sharing.setdefault(row[:4], []).append((row[0], row[1], row[4], row[5]))
    verdicts: dict[PromotionKey, ReviewDecision] = {}
    for key, (_, decision) in sorted(latest.items(), key=lambda i: (i[1][1].decided_at, i[1][0])):
        group = tuple(seen[key][c] for c in _EQUAL)
        for one in (key, *sharing.get(group, ())):
            verdicts.pop(one, None)
            if decision.verdict != "reopen":
                verdicts[one] = decision
    found = [(*key, *_columns(decision)) for key, decision in verdicts.items()]
    return pl.DataFrame(found, schema=_SCHEMA, orient="row")


def _columns(decision: ReviewDecision) -> tuple[object, ...]:
    edited = msgspec.json.encode(decision.edited).decode() if decision.edited else None
    return (
        decision.verdict,
        decision.reviewer.strip(),
        decision.decided_at,
        decision.reason,
        edited,
        decision.memory_id,
    )


def _refused(
    line: int, decision: ReviewDecision | ProposalDecision, why: Refusal
) -> RefusedDecision:
    return RefusedDecision(line, why[0], why[1], msgspec.json.encode(decision))


def _line_number(refused: RefusedDecision) -> int:
    return refused.line
