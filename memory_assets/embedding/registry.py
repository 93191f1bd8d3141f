"""The one place where embedding providers are known: names, models, dimensions, prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_assets.domain.ports import Embedder
from memory_assets.embedding.hashed import HashedEmbedder
from memory_assets.embedding.local import LocalEmbedder
from memory_assets.embedding.packaged import (
    E5,
    MINILM,
    is_installed,
    packaged_model,
    packaged_models,
)
from memory_assets.errors import SettingsError


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """What a provider may be told beyond its model's name; what does not concern it is ignored.

    ``device`` and ``batch_size`` are for local models.
    """

    device: str | None = None
    batch_size: int | None = None


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

    ``cache_dir`` is where a packaged model may be unpacked and remembered.

    Raises:
        SettingsError: no such provider, or it has no such model; the message lists the known ones.
    """
    provider, colon, model = spec.partition(":")
    if not colon or provider not in _PROVIDERS or not model:
        raise SettingsError(
            f"No embedding provider is meant by {spec!r}.",
            remedy=f"Write provider:model. Known: {', '.join(known_specs())}.",
        )
    return _PROVIDERS[provider](_Request(model, cache_dir, options or EmbedderOptions()))


def known_specs() -> list[str]:
    """Every spec that works as it stands, and the form of those that take a name."""
    return [
        *(f"packaged:{name}" for name in packaged_models()),
        "hashed:256",
    ]


def _packaged(request: _Request) -> Embedder:
    return LocalEmbedder(
        packaged_model(request.model, request.cache_dir),
        device=request.options.device,
        batch_size=request.options.batch_size,
    )


def _hashed(request: _Request) -> Embedder:
    return HashedEmbedder.named(request.model)


_PROVIDERS: Mapping[str, Callable[[_Request], Embedder]] = {
    "packaged": _packaged,
    "hashed": _hashed,
}
