"""The settings as searching takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from memory_assets.domain.candidates import DEFAULT_SCHEMA_PATTERNS
from memory_assets.domain.ranking import Weights
from memory_assets.domain.schemas import SESSIONS
from memory_assets.settings import Settings
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.search.legs import LegOptions
from memory_assets.storage.parts import DerivedTables


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What searching has to know of the settings."""

    weights: Weights = field(default_factory=Weights)
    recency_days: float = 14.0
    text_k: float | None = None
    """Overrides the generation's own calibration."""
    legs: LegOptions = field(default_factory=LegOptions)
    is_known_tenant: Callable[[str], bool] = lambda _: True
    """Whether the settings let the tenant exist."""
    has_sessions: Callable[[str], bool] = lambda _: False
    """Whether a tenant without any memory is known from its ledgers."""
    schema_patterns: Callable[[str], tuple[str, ...]] = lambda _: DEFAULT_SCHEMA_PATTERNS


def search_options(settings: Settings, derived: DerivedTables) -> SearchOptions:
    """The options that the settings describe; ``derived`` tells whose ledgers were read."""

    def has_sessions(tenant_id: str) -> bool:
        sessions = derived.read(ingest.GROUP, SESSIONS, ["tenant_id"])
        return not sessions.filter(pl.col("tenant_id") == tenant_id).is_empty()

    return SearchOptions(
        weights=Weights(
            settings.number("weight_cosine"),
            settings.number("weight_text"),
            settings.number("weight_recency"),
            settings.number("weight_access"),
        ),
        recency_days=settings.number("recency_days"),
        text_k=settings.number("text_k") or None,
        legs=LegOptions(exact_rows=int(settings.number("exact_rows"))),
        is_known_tenant=settings.is_known,
        has_sessions=has_sessions,
        schema_patterns=lambda tenant_id: settings.tenant(tenant_id).schema_table_patterns,
    )
