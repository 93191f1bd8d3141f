"""Reviewed pairs → the threshold that they have earned, per tenant and embedding space."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from memory_assets.domain.calibration import (
    DEFAULT_TARGET,
    CurvePoint,
    Label,
    OperatingPoint,
    curve,
    operating_point,
)
from memory_assets.domain.guards import RULE_VERSION, Outcome, judge
from memory_assets.domain.keys import normalise
from memory_assets.domain.merge import MergePolicy
from memory_assets.domain.merge_review import PairVerdicts
from memory_assets.domain.merge_tables import MERGE_CALIBRATION
from memory_assets.domain.ports import Embedder, VectorCache
from memory_assets.domain.spaces import DEFINITION_RECIPE, definition_text
from memory_assets.embedding.through_cache import embed_through_cache
from memory_assets.steps.merge.space import space_floor
from memory_assets.steps.registry.view import RegistryView
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.parts import DerivedTables

GROUP: Final = "merge_calibration"
THRESHOLDS: Final = (0.8, 0.85, 0.88, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99)


@dataclass(frozen=True, slots=True)
class TenantCalibration:
    """What one tenant's reviewed pairs have earned."""

    tenant_id: str
    space_id: str
    labels: int
    point: OperatingPoint
    floor: float
    curve: tuple[CurvePoint, ...]

    @property
    def policy(self) -> MergePolicy:
        """What the merge may do for this tenant."""
        return MergePolicy(self.point.threshold, self.floor)

    def to_dict(self) -> dict[str, Any]:
        """The calibration as JSON."""
        return {
            "tenant_id": self.tenant_id,
            "space_id": self.space_id,
            "reviewed_pairs": self.labels,
            "review_floor": self.floor,
            **self.point.to_dict(),
            "curve": [p.to_dict() for p in self.curve],
        }


def calibrate_tenant(
    registry: RegistryView,
    tenant_id: str,
    verdicts: PairVerdicts,
    embedder: Embedder,
    cache: VectorCache,
    *,
    target: float = DEFAULT_TARGET,
) -> TenantCalibration:
    """The operating point of a tenant, worked out anew from the verdicts in force.

    Cosines and guards are taken again from the memories themselves, so that another model or other
    rules need no new reviews; pairs of which a memory was erased drop out. Equal texts prove
    nothing about unequal ones and are left out.
    """
    own = registry.of_tenant(tenant_id).memories
    texts = {
        m: (subject, definition_text(subject=subject, detail=detail))
        for m, subject, detail in own.select("memory_id", "subject", "detail").iter_rows()
    }
    reviews = [
        r for r in verdicts.of_tenant(tenant_id) if r.memory_a in texts and r.memory_b in texts
    ]
    left = [texts[r.memory_a] for r in reviews]
    right = [texts[r.memory_b] for r in reviews]
    labels = _labels(left, right, [r.verdict == "same" for r in reviews], embedder, cache)
    return TenantCalibration(
        tenant_id,
        embedder.space(DEFINITION_RECIPE).space_id,
        len(reviews),
        operating_point(labels, target=target),
        space_floor(embedder, cache),
        curve(labels, THRESHOLDS, guards=True),
    )


def _labels(
    left: Sequence[tuple[str, str]],
    right: Sequence[tuple[str, str]],
    same: Sequence[bool],
    embedder: Embedder,
    cache: VectorCache,
) -> list[Label]:
    if not left:
        return []
    texts = [t for _, t in left] + [t for _, t in right]
    vectors, _ = embed_through_cache(embedder, cache, texts, kind="document")
    cosines = np.einsum("ij,ij->i", vectors[: len(left)], vectors[len(left) :])
    labels = []
    for (subject_a, a), (subject_b, b), cosine, truth in zip(
        left, right, cosines, same, strict=True
    ):
        judgement = judge(a, b, subject_a=subject_a, subject_b=subject_b)
        if judgement.equal:
            continue
        passed = judgement.relation == "alike" and normalise(subject_a) == normalise(subject_b)
        vetoed = judgement.outcome is Outcome.MISMATCH
        labels.append(Label(float(cosine), truth, passed, vetoed))
    return labels


def commit_calibrations(derived: DerivedTables, found: Sequence[TenantCalibration]) -> pl.DataFrame:
    """The calibration table with the rows of these tenants replaced."""
    tenants = [c.tenant_id for c in found]
    others = read_calibrations(derived).filter(~pl.col("tenant_id").is_in(tenants))
    rows = [
        (
            c.tenant_id,
            c.space_id,
            RULE_VERSION,
            c.labels,
            c.point.labels,
            c.point.errors,
            c.point.threshold,
            c.point.lower,
            c.point.target,
            c.floor,
            json.dumps([p.to_dict() for p in c.curve]),
        )
        for c in found
    ]
    table = pl.concat([others, frame_of(MERGE_CALIBRATION, rows)]).sort("tenant_id")
    part = derived.parts.write(MERGE_CALIBRATION, table, "all")
    derived.commit(GROUP, {MERGE_CALIBRATION.name: [part] if part else []})
    return table


def read_calibrations(derived: DerivedTables) -> pl.DataFrame:
    """The calibration table."""
    return derived.read(GROUP, MERGE_CALIBRATION)


def policy_of(table: pl.DataFrame, tenant_id: str, space_id: str, floor: float) -> MergePolicy:
    """What a tenant has earned in this space under these rules; otherwise nothing."""
    own = table.filter(
        (pl.col("tenant_id") == tenant_id)
        & (pl.col("space_id") == space_id)
        & (pl.col("rule_version") == RULE_VERSION)
    )
    threshold = own["threshold"][0] if own.height else None
    return MergePolicy(threshold, floor)
