"""The settings of embedding, and a migration that came after them, as a chain of providers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from memory_assets.domain.providers import Precision, parse_by_spec, parse_specs, value_for
from memory_assets.domain.spaces import EmbeddingSpace
from memory_assets.embedding.budget import Budget
from memory_assets.embedding.chain import GuardedEmbedder, ProviderChain
from memory_assets.embedding.http import Retries, RetryPolicy
from memory_assets.embedding.model_folders import remembered_folders
from memory_assets.embedding.registry import EmbedderOptions, default_model, open_chain
from memory_assets.errors import EmbeddingError, SettingsError
from memory_assets.settings import Settings
from memory_assets.storage.generations import Generation, MigrationNote


@dataclass(frozen=True)
class EmbeddingSetup:
    """Which providers are configured, and with what; opens them."""

    specs: tuple[str, ...]
    """The first one serves; the others are its fallbacks."""
    warm: tuple[str, ...]
    settings: Settings
    cache_dir: Path
    probes: Path
    """Where the fingerprints of hosted models outlive the cache."""
    budget: Budget
    """Shared by all providers for as long as this setup lives: one run."""
    _chains: dict[tuple[str, ...], ProviderChain] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, settings: Settings, cache_dir: Path, probes: Path) -> EmbeddingSetup:
        """The setup that the settings describe.

        Raises:
            SettingsError: a warm provider is not among the fallbacks.
        """
        specs = parse_specs(settings.text("embedding")) or (default_model(),)
        warm = parse_specs(settings.text("embedding_warm"))
        strange = [spec for spec in warm if spec not in specs[1:]]
        if strange:
            raise SettingsError(
                f"embedding_warm names {', '.join(strange)}, which the setting embedding does not "
                "hold as a fallback.",
                remedy="add it to `embedding`, after the first one, or take it out here.",
            )
        limit = settings.text("embedding_budget_dollars")
        budget = Budget(float(limit) if limit else None)
        return cls(specs, warm, settings, cache_dir, probes, budget)

    def after(self, migration: MigrationNote | None) -> tuple[str, ...]:
        """The specs in force: a migration replaces the first one of the settings.

        Only for as long as that is the one which it replaced: whoever changes the setting
        afterwards is obeyed.
        """
        if migration is None or migration.instead_of != self.specs[0]:
            return self.specs
        rest = (spec for spec in self.specs[1:] if spec != migration.chosen)
        return (migration.chosen, *rest)

    def chain_for(self, generation: Generation) -> ProviderChain:
        """The providers in force for a generation; opened once, so breakers remember."""
        return self.chain(self.after(generation.migration))

    def chain(self, specs: tuple[str, ...]) -> ProviderChain:
        """These providers in this order."""
        if specs not in self._chains:
            self._chains[specs] = open_chain(
                specs,
                cache_dir=self.cache_dir,
                warm=[spec for spec in self.warm if spec in specs[1:]],
                options={spec: self.options(spec) for spec in specs},
            )
        return self._chains[specs]

    def for_space(self, space: EmbeddingSpace) -> GuardedEmbedder | None:
        """An embedder whose vectors may enter a stored space, configured or not; None without."""
        found = self.spec_of(space)
        return self.chain((found,)).first if found is not None else None

    def spec_of(self, space: EmbeddingSpace, *, also: Iterable[str] = ()) -> str | None:
        """The spec that opens a stored space's model; None when it cannot be had as it was.

        A model in a folder is stored by its name alone. Where it lies, the settings know, a
        migration that named it (``also``), or the record of its hash.
        """
        name = f"{space.provider}:{space.model}"
        candidates = [name]
        if space.provider == "local":
            named = [s for s in (*self.specs, *also) if s.startswith("local:")]
            seen = [f"local:{folder}" for folder in remembered_folders(space.model, self.cache_dir)]
            candidates = list(dict.fromkeys([*named, *seen, name]))
        for spec in candidates:
            try:
                if self.chain((spec,)).first.space(space.recipe) == space:
                    return spec
            except (EmbeddingError, SettingsError):
                continue
        return None

    def options(self, spec: str) -> EmbedderOptions:
        """What the settings say of one provider."""
        texts = {
            name: value_for(parse_by_spec(self.settings.text(f"embedding_{name}")), spec)
            for name in ("base_url", "dimension", "price", "query_prefix", "document_prefix")
        }
        dimension, price, url = texts["dimension"], texts["price"], texts["base_url"]
        return EmbedderOptions(
            base_url=url.strip() if url else None,
            dimension=int(float(dimension)) if dimension else None,
            dollars_per_million_tokens=float(price) if price else None,
            query_prefix=texts["query_prefix"],
            document_prefix=texts["document_prefix"],
            precision=Precision(self.settings.text("embedding_precision")),
            timeout=self.settings.number("embedding_timeout_seconds"),
            budget=self.budget,
            kept_probes=self.probes,
            retries=Retries(
                replace(RetryPolicy(), attempts=int(self.settings.number("embedding_attempts")))
            ),
        )
