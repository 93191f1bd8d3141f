"""Which embedding space answers a query, and the query's vector in that space."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from memory_assets.domain.ports import Embedder
from memory_assets.domain.spaces import SEARCH_RECIPE, EmbeddingSpace
from memory_assets.embedding.chain import ProviderChain
from memory_assets.errors import EmbeddingError, SpaceMismatch
from memory_assets.storage.generations import Generation, PinnedSpace

NIGHTLY: Final = "run `memory-assets nightly`, which builds the index of the configured model"
Vector = npt.NDArray[np.float32]
Known = MutableMapping[tuple[str, str], Vector]
"""Vectors of earlier queries, by space and text."""


@dataclass(frozen=True, slots=True)
class PlacedQuery:
    """A query and the space in which it is answered."""

    pinned: PinnedSpace | None
    """None when nothing is published."""
    vector: Vector | None = None
    degraded: str | None = None
    """Why there is no vector, so that words alone decide."""
    notices: tuple[str, ...] = ()


def place_query(
    chain_for: Callable[[Generation], ProviderChain],
    generation: Generation,
    text: str,
    known: Known,
    opener: Callable[[EmbeddingSpace], Embedder | None],
) -> PlacedQuery:
    """The query in the first provider's space, or in a warm fallback's while the first is down.

    Without either, the query has no vector and the answer is degraded. While the configured model's
    space is still being built, the one that serves meanwhile answers.

    Raises:
        SpaceMismatch: the configured model is another one than the index was built with, and no
            night has seen that yet; or other weights answer under its name.
    """
    serving = generation.serving
    if serving is None:
        return PlacedQuery(None)
    try:
        chain = chain_for(generation)
    except EmbeddingError as error:
        return PlacedQuery(serving, None, f"{error.code}: {error.what}")
    held = {pinned.space.space_id: pinned for pinned in generation.spaces}
    space = _space_of(chain)
    if space is not None and space.space_id not in held:
        return _meanwhile(chain, space, generation, serving, text, known, opener)
    answer = chain.embed_query(text, recipe=SEARCH_RECIPE, spaces=held, known=known)
    if answer.embedder is None:
        if isinstance(chain.first.last_problem, SpaceMismatch):
            raise chain.first.last_problem
        return PlacedQuery(serving, None, "; ".join(answer.notes))
    pinned = held[answer.embedder.space(SEARCH_RECIPE).space_id]
    if not answer.degraded:
        return PlacedQuery(pinned, answer.vector)
    who = f"{answer.embedder.provider}:{answer.embedder.model}"
    notice = f"answered in the index of the fallback {who}, since {'; '.join(answer.notes)}"
    return PlacedQuery(pinned, answer.vector, None, (notice,))


def _space_of(chain: ProviderChain) -> EmbeddingSpace | None:
    """The first provider's space; None while it cannot be asked for it."""
    try:
        return chain.first.space(SEARCH_RECIPE)
    except EmbeddingError:
        return None


def _meanwhile(
    chain: ProviderChain,
    space: EmbeddingSpace,
    generation: Generation,
    serving: PinnedSpace,
    text: str,
    known: Known,
    opener: Callable[[EmbeddingSpace], Embedder | None],
) -> PlacedQuery:
    """The query in the serving space of another model, which serves until the new one is whole."""
    names = [f"{e.provider}:{e.model}" for e in chain.members]
    old = f"{serving.space.provider}:{serving.space.model}"
    if generation.building != space.space_id and old not in names[1:]:
        raise SpaceMismatch(
            f"The index was built with {old} ({serving.space.space_id}); configured is "
            f"{names[0]} ({space.space_id}).",
            remedy=f"{NIGHTLY}, or search with the model that the index was built with.",
        )
    notice = f"{old} answers until the index of {names[0]} is complete"
    embedder = opener(serving.space)
    if embedder is None:
        return PlacedQuery(serving, None, f"{old} cannot be asked", (notice,))
    key = (serving.space.space_id, text)
    try:
        if key not in known:
            known[key] = embedder.embed([text], kind="query")[0]
    except EmbeddingError as error:
        return PlacedQuery(serving, None, f"{old}: {error.code}: {error.what}", (notice,))
    return PlacedQuery(serving, known[key], None, (notice,))
