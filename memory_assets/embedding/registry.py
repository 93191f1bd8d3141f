"""The one place where embedding providers are known: names, models, dimensions, prices."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from memory_assets.domain.ports import Embedder
from memory_assets.domain.providers import Precision
from memory_assets.embedding import openai, voyage
from memory_assets.embedding.apikey import ApiKey
from memory_assets.embedding.budget import Budget
from memory_assets.embedding.chain import ProviderChain
from memory_assets.embedding.hashed import HashedEmbedder
from memory_assets.embedding.hosted import HostedEmbedder, HostedModel
from memory_assets.embedding.http import JsonEndpoint, Retries
from memory_assets.embedding.local import LocalEmbedder
from memory_assets.embedding.model_folders import local_model
from memory_assets.embedding.packaged import (
    E5,
    MINILM,
    is_installed,
    packaged_model,
    packaged_models,
)
from memory_assets.embedding.probes import PROBES, ProbeBook
from memory_assets.errors import SettingsError


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """What a provider may be told beyond its model's name; it ignores what it has no use for.

    Local models: ``device`` ("cpu", "cuda"; default: a GPU if there is one), ``batch_size`` and
    ``precision``.
    Local models and the OpenAI form: ``query_prefix`` and ``document_prefix``, put before texts.
    Hosted models: ``base_url``; ``dimension`` and ``dollars_per_million_tokens``, needed for a
    model that is not known; ``timeout`` in seconds; the run's ``budget``; ``retries``;
    ``kept_probes``, where answers to the probe outlive the cache; and ``environment``, where the
    API key is read.
    """

    device: str | None = None
    batch_size: int | None = None
    precision: Precision = Precision.AUTO
    query_prefix: str | None = None
    document_prefix: str | None = None
    base_url: str | None = None
    dimension: int | None = None
    dollars_per_million_tokens: float | None = None
    timeout: float = 30.0
    budget: Budget | None = None
    retries: Retries | None = None
    kept_probes: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True, slots=True)
class _Request:
    model: str
    cache_dir: Path
    options: EmbedderOptions


def default_model() -> str:
    """The spec of the packaged model that this machine should use.

    multilingual-e5-small where its package installs (Linux on x86-64), since it alone serves
    Italian; all-MiniLM-L6-v2 elsewhere.
    """
    return f"packaged:{E5}" if is_installed(E5) else f"packaged:{MINILM}"


def open_embedder(
    spec: str, *, cache_dir: Path, options: EmbedderOptions | None = None
) -> Embedder:
    """The embedder that ``spec``, a ``provider:model``, names; nothing heavy is loaded yet.

    ``cache_dir`` is where packaged models are unpacked, and hashes and probes are remembered.

    Raises:
        SettingsError: no such provider, or it has no such model; the message lists the known ones.
        ModelNotFound: a ``local:`` model is not there.
    """
    provider, _, model = spec.partition(":")
    if provider not in _PROVIDERS or not model:
        raise SettingsError(
            f"No embedding provider is meant by {spec!r}.",
            remedy=f"Write provider:model. Known: {', '.join(known_specs())}.",
        )
    return _PROVIDERS[provider](_Request(model, cache_dir, options or EmbedderOptions()))


def open_chain(
    specs: Sequence[str],
    *,
    cache_dir: Path,
    warm: Collection[str] = (),
    options: Mapping[str, EmbedderOptions] | None = None,
) -> ProviderChain:
    """The providers of ``specs`` in order, each behind a breaker; ``options`` go by spec.

    Raises:
        SettingsError: as ``open_embedder``; or a warm spec is not among the fallbacks.
    """
    by_spec = options or {}
    opened = {s: open_embedder(s, cache_dir=cache_dir, options=by_spec.get(s)) for s in specs}
    # A folder's spec is longer than the name that its model goes by.
    named = {s: f"{one.provider}:{one.model}" for s, one in opened.items()}
    return ProviderChain([opened[s] for s in specs], warm=[named.get(s, s) for s in warm])


def known_specs() -> list[str]:
    """Every spec that works as it stands, and the form of those that take a name."""
    return [
        *(f"packaged:{name}" for name in packaged_models()),
        "local:/folder",
        "local:hub-name",
        *(f"voyage:{name}" for name in voyage.MODELS),
        *(f"openai:{name}" for name in openai.MODELS),
        "hashed:256",
    ]


def _packaged(request: _Request) -> Embedder:
    return LocalEmbedder(
        packaged_model(request.model, request.cache_dir),
        device=request.options.device,
        batch_size=request.options.batch_size,
        precision=request.options.precision,
    )


def _local(request: _Request) -> Embedder:
    options = request.options
    prefixes = {"query": options.query_prefix, "document": options.document_prefix}
    prompts = {kind: text for kind, text in prefixes.items() if text is not None}
    return LocalEmbedder(
        local_model(request.model, request.cache_dir, prompts=prompts or None),
        device=options.device,
        batch_size=options.batch_size,
        precision=options.precision,
    )


def _hashed(request: _Request) -> Embedder:
    return HashedEmbedder.named(request.model)


def _voyage(request: _Request) -> Embedder:
    card = _card(request, "voyage", voyage.MODELS, voyage.voyage_model)
    return _hosted(request, voyage.VoyageEmbedder, card, voyage.BASE_URL, voyage.KEY_VARIABLE)


def _openai(request: _Request) -> Embedder:
    card = _card(request, "openai", openai.MODELS, openai.openai_model)
    card = replace(
        card,
        query_prefix=request.options.query_prefix or "",
        document_prefix=request.options.document_prefix or "",
    )
    return _hosted(request, openai.OpenAIEmbedder, card, openai.BASE_URL, openai.KEY_VARIABLE)


def _card(
    request: _Request,
    provider: str,
    known: Mapping[str, HostedModel],
    new: Callable[[str, int, float], HostedModel],
) -> HostedModel:
    """The known model with the options' dimension and price, or a new one made of them."""
    options = request.options
    card = known.get(request.model)
    if card is None:
        if options.dimension is None:
            raise SettingsError(
                f"The dimension of {provider}:{request.model} is not known.",
                remedy=f"Set it, and the price, in the embedding settings; known without: "
                f"{', '.join(f'{provider}:{name}' for name in known)}.",
            )
        card = new(request.model, options.dimension, 0.0)
    price = options.dollars_per_million_tokens
    return replace(
        card,
        dimension=card.dimension if options.dimension is None else options.dimension,
        dollars_per_million_tokens=card.dollars_per_million_tokens if price is None else price,
    )


def _hosted(
    request: _Request,
    make: type[HostedEmbedder],
    card: HostedModel,
    base_url: str,
    key_variable: str,
) -> Embedder:
    options = request.options
    endpoint = JsonEndpoint(
        f"{card.provider}:{card.name}",
        options.base_url or base_url,
        "/embeddings",
        ApiKey(key_variable, options.environment),
        needs_key=options.base_url is None,
        timeout=options.timeout,
    )
    return make(
        card,
        endpoint,
        ProbeBook(request.cache_dir / PROBES, options.kept_probes),
        budget=options.budget,
        retries=options.retries,
    )


_PROVIDERS: Mapping[str, Callable[[_Request], Embedder]] = {
    "packaged": _packaged,
    "local": _local,
    "voyage": _voyage,
    "openai": _openai,
    "hashed": _hashed,
}
