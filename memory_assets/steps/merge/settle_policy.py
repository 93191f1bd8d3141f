"""What a tenant has earned or set for near duplicates, and the look at tonight's candidates."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from memory_assets.domain.merge import MergePolicy
from memory_assets.domain.ports import Embedder, VectorCache
from memory_assets.domain.spaces import DEFINITION_RECIPE
from memory_assets.errors import EmbeddingError
from memory_assets.settings import Settings
from memory_assets.steps.merge.calibrate import policy_of, read_calibrations
from memory_assets.steps.merge.space import space_floor
from memory_assets.steps.promotion.consolidate import Assessment
from memory_assets.steps.promotion.settle import Settling, settle_duplicates
from memory_assets.steps.registry.neighbours import NeighbourSearch
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.parts import DerivedTables

_NOWHERE_NEAR = 2.0
"""A floor above every cosine: without a model only subjects can tell that two stand near."""


def settle_automatic(
    settings: Settings,
    derived: DerivedTables,
    assessment: Assessment,
    registry: RegistryView,
    embedder: Callable[[], Embedder],
    cache: VectorCache,
) -> Settling:
    """The verdicts on what the policy would accept; without such rows no model is opened.

    The threshold is the one that the tenant's settings give this very model, else the one that
    reviewed pairs have earned in this space, else none.
    """
    automatic = assessment.routes.filter(pl.col("route") == "automatic")
    own = registry.memories.select("tenant_id").unique()
    automatic = automatic.join(own, on="tenant_id", how="semi")
    if automatic.is_empty():
        return settle_duplicates(
            derived, automatic, registry, _no_search(embedder, cache), _none, ""
        )
    model = embedder()
    space_id = model.space(DEFINITION_RECIPE).space_id
    try:
        floor = space_floor(model, cache)
    except EmbeddingError:
        floor = _NOWHERE_NEAR
    calibrations = read_calibrations(derived)
    name = f"{model.provider}:{model.model}"

    def policy(tenant_id: str) -> MergePolicy:
        earned = policy_of(calibrations, tenant_id, space_id, floor)
        given = settings.tenant(tenant_id).duplicate_thresholds.get(name)
        return MergePolicy(earned.threshold if given is None else given, floor)

    search = NeighbourSearch(model, cache)
    return settle_duplicates(derived, automatic, registry, search, policy, space_id)


def _none(_: str) -> MergePolicy:
    return MergePolicy(None, _NOWHERE_NEAR)


def _no_search(embedder: Callable[[], Embedder], cache: VectorCache) -> NeighbourSearch:
    return NeighbourSearch(embedder(), cache)
