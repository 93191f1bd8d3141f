"""Decisions → candidates, accepted decisions, and what was left out with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

import msgspec
import polars as pl

from memory_assets.domain.events import REUSABLE_TYPES
from memory_assets.domain.keys import content_sha256, duplicate_key
from memory_assets.domain.manual import is_manual
from memory_assets.domain.promotion import Accepted, Evidence
from memory_assets.domain.schemas import NEAR_DUPLICATES, PROMOTION_KEY
from memory_assets.steps.promotion.personal import hold_personal
from memory_assets.steps.promotion.review_apply import Overridden, apply_reviews
from memory_assets.steps.promotion.review_filter import USUAL_NAMES, NamesOf, hold_back
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.review_log import RefusedDecision, ReviewLog

_SESSION: Final = ["tenant_id", "session_id"]
_EQUAL: Final = [*_SESSION, "scope", "duplicate_key"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """Where every clarification of every session stands.

    ``routes`` has one row per clarification: its columns, ``route`` and ``why``. Routes:
    ``refused``, ``blocked``, ``open``, ``settled``, ``declined``, ``accepted``, ``automatic``,
    ``review`` (a candidate that waits) and ``deferred``.
    """

    routes: pl.DataFrame
    accepted: tuple[Accepted, ...]
    refused_reviews: tuple[RefusedDecision, ...]
    overridden_reviews: tuple[Overridden, ...] = ()
    """Lines of the review file that a later one on the same item replaced: no fault."""

    def count(self, *routes: str) -> int:
        """Clarifications on these routes."""
        return self.routes.filter(pl.col("route").is_in(routes)).height

    @property
    def candidates(self) -> pl.DataFrame:
        """What waits for a reviewer, equal content of one session once; the first one stands."""
        waiting = self.routes.filter(pl.col("route").is_in(["review", "deferred"]))
        return waiting.unique(_EQUAL, keep="first", maintain_order=True)

    def reasons(self) -> dict[str, int]:
        """Why clarifications are not candidates, counted by route and reason code."""
        left_out = self.routes.filter(
            pl.col("route").is_in(["refused", "blocked", "open", "declined"])
        )
        code = (
            pl.when(pl.col("route") == "refused")
            .then(pl.col("refusal_code"))
            .otherwise(pl.col("route"))
        )
        counted = left_out.select(code.alias("code")).to_series().value_counts(sort=True, name="n")
        return dict(sorted(counted.rows()))


def assess(
    decisions: pl.DataFrame,
    sessions: pl.DataFrame,
    registry: RegistryView,
    reviews: ReviewLog,
    *,
    now: datetime,
    is_automatic: Callable[[str], bool],
    idle_close: timedelta | None = None,
    names_of: NamesOf = USUAL_NAMES,
    near: pl.DataFrame | None = None,
) -> Assessment:
    """The route of every clarification, from tables alone: no event is remembered between runs.

    Accepted are: a ``memory_promoted`` marker in force, an accept in the review file (it overrides
    the marker), or the tenant's automatic policy. A session with refused lines, a decision that
    cites a memory but says something else, and one that holds personal data need the reviewer's own
    word (fail closed). ``near`` holds what is known of near duplicates (``near_duplicates``): it
    settles, or holds for a reviewer, only what the policy would accept.
    """
    rows = _with_sessions(decisions, sessions, now, idle_close)
    rows = _with_registry(rows, registry)
    applied = apply_reviews(rows, reviews, registry, now=now, names_of=names_of)
    rows = rows.join(applied.verdicts, on=PROMOTION_KEY, how="left")
    rows = rows.with_columns(_automatic(rows, is_automatic))
    routes = hold_personal(hold_back(_routed(rows), names_of))
    routes = _with_near(routes, NEAR_DUPLICATES.empty() if near is None else near).sort(
        *_SESSION, pl.col("decision_seq") < 0, pl.col("decision_seq").abs(), "fact_no"
    )
    accepted = tuple(
        _accepted(row)
        for row in routes.filter(pl.col("route").is_in(["accepted", "automatic"])).to_dicts()
    )
    return Assessment(routes, accepted, applied.refused, applied.overridden)


def _with_near(routes: pl.DataFrame, near: pl.DataFrame) -> pl.DataFrame:
    """Adds near_memory, near_cosine, near_space, near_guards, near_rule to automatic rows."""
    verdicts = near.select(
        *PROMOTION_KEY,
        "content_sha256",
        pl.col("outcome").alias("near_outcome"),
        pl.col("memory_id").alias("near_memory"),
        pl.col("cosine").alias("near_cosine"),
        pl.col("space_id").alias("near_space"),
        pl.col("guards").alias("near_guards"),
        pl.col("rule_version").alias("near_rule"),
        pl.lit("automatic").alias("route"),
    )
    on = [*PROMOTION_KEY, "content_sha256", "route"]
    held = pl.col("near_outcome") == "review"
    return routes.join(verdicts, on=on, how="left", maintain_order="left").with_columns(
        pl.when(held).then(pl.lit("review")).otherwise("route").alias("route")
    )


def is_finished(now: datetime, idle_close: timedelta | None) -> pl.Expr:
    """Whether a row of ``sessions`` is of a finished one: closed, or (if allowed) idle so long."""
    finished = pl.col("closed")
    if idle_close is not None:
        finished = finished | (~pl.col("torn") & (pl.col("last_ts") < now - idle_close))
    return finished.fill_null(False).alias("finished")


def _with_sessions(
    decisions: pl.DataFrame, sessions: pl.DataFrame, now: datetime, idle_close: timedelta | None
) -> pl.DataFrame:
    state = sessions.select(*_SESSION, "status", "fail_closed", is_finished(now, idle_close))
    return decisions.filter(pl.col("type").is_in(sorted(REUSABLE_TYPES))).join(
        state, on=_SESSION, how="inner"
    )


def _with_registry(rows: pl.DataFrame, registry: RegistryView) -> pl.DataFrame:
    """Adds settled_in, equal_memory (active, same scope) and refines (cited, other content)."""
    settled = registry.settled_keys().rename({"memory_id": "settled_in"})
    settled = settled.with_columns(pl.col("settled_in").fill_null("")).unique(PROMOTION_KEY)
    rows = rows.join(settled, on=PROMOTION_KEY, how="left").join(
        registry.answering(), on=["tenant_id", "scope", "duplicate_key"], how="left"
    )
    return rows.join(_refined(rows, registry), on=PROMOTION_KEY, how="left")


def _refined(rows: pl.DataFrame, registry: RegistryView) -> pl.DataFrame:
    """Promotion key and ``refines``: the memory that a decision cites without saying the same."""
    citing = rows.filter(pl.col("cites").list.len() > 0)
    survivors = registry.survivors() if citing.height else {}
    found = []
    for *key, cites, equal in citing.select(*PROMOTION_KEY, "cites", "equal_memory").rows():
        cited = [survivors[key[0], c] for c in cites if (key[0], c) in survivors]
        if cited and equal not in cited:
            found.append((*key, cited[0]))
    schema = pl.Schema({**{k: rows.schema[k] for k in PROMOTION_KEY}, "refines": pl.String()})
    return pl.DataFrame(found, schema=schema, orient="row")


def _automatic(rows: pl.DataFrame, is_automatic: Callable[[str], bool]) -> pl.Expr:
    tenants = [t for t in rows["tenant_id"].unique().to_list() if is_automatic(t)]
    return pl.col("tenant_id").is_in(tenants).alias("by_policy")


def _routed(rows: pl.DataFrame) -> pl.DataFrame:
    review, marker = pl.col("review_verdict"), pl.col("verdict")
    needs_person = pl.col("fail_closed") | pl.col("refines").is_not_null()
    accepted_by_person = review.is_in(["accept", "duplicate_of"])
    route = (
        pl.when(pl.col("refusal_code").is_not_null())
        .then(pl.lit("refused"))
        .when(pl.col("settled_in").is_not_null())
        .then(pl.lit("settled"))
        .when(pl.col("status") != "ok")
        .then(pl.lit("blocked"))
        .when(~pl.col("finished"))
        .then(pl.lit("open"))
        .when(accepted_by_person)
        .then(pl.lit("accepted"))
        .when(review == "decline")
        .then(pl.lit("declined"))
        .when(review == "defer")
        .then(pl.lit("deferred"))
        .when(marker == "declined")
        .then(pl.lit("declined"))
        .when(needs_person)
        .then(pl.lit("review"))
        .when(marker == "promoted")
        .then(pl.lit("accepted"))
        .when(pl.col("by_policy"))
        .then(pl.lit("automatic"))
        .otherwise(pl.lit("review"))
    )
    label = (
        pl.when(pl.col("refines").is_not_null())
        .then(pl.concat_str(pl.lit("refines "), pl.col("refines")))
        .when(pl.col("equal_memory").is_not_null())
        .then(pl.concat_str(pl.lit("duplicate of "), pl.col("equal_memory")))
        .otherwise(pl.lit("new"))
    )
    return rows.with_columns(route.alias("route"), label.alias("label"))


def _origin(row: dict[str, Any]) -> Literal["extracted", "manual", "reviewed"]:
    if row["fact_no"] > 0:
        return "extracted"
    return "manual" if is_manual(row["session_id"], row["metadata"]) else "reviewed"


def _accepted(row: dict[str, Any]) -> Accepted:
    origin = _origin(row)
    if row["route"] == "automatic":
        kind = "automatic" if origin == "reviewed" else origin
        if row["near_memory"] is None:
            return Accepted(row, kind, "policy")
        found = Evidence(
            row["near_cosine"], row["near_space"], row["near_guards"], row["near_rule"]
        )
        return Accepted(row, kind, "policy", duplicate_of=row["near_memory"], evidence=found)
    if row["review_verdict"] is None:
        ref = row["verdict_by"]
        return Accepted(row, origin, f"marker {'seq' if ref > 0 else 'm'}:{abs(ref)}")
    by = f"reviewer {row['reviewer']}"
    if row["edited"] is None:
        return Accepted(row, origin, by, duplicate_of=row["named_duplicate"])
    edit = msgspec.json.decode(row["edited"])
    before = {name: row[name] for name in ("subject", "detail", "rationale")}
    changed = {**row, **edit, "rationale": edit.get("rationale") or row["rationale"]}
    changed["duplicate_key"] = duplicate_key(changed["subject"], changed["detail"])
    changed["content_sha256"] = content_sha256(
        type=row["type"],
        subject=changed["subject"],
        detail=changed["detail"],
        rationale=changed["rationale"],
        question_context=row["question_context"],
        tables=(),
        concepts=row["concepts"],
    )
    return Accepted(
        changed, "edited", by, edited_from=msgspec.json.encode(before, order="sorted").decode()
    )
