"""What the use cases need from the outside world, as Protocols; adapters implement them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from memory_assets.domain.spaces import EmbeddingSpace

Vectors = npt.NDArray[np.float32]
TextKind = Literal["query", "document"]
Progress = Callable[[int, int], None]
"""Called with (done, total) while long work goes on."""
VectorPart = tuple[Sequence[int], Vectors]
"""Positions in the list of texts, and their vectors in the same order."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider was asked so far in this run; all zero for a local model."""

    requests: int = 0
    texts: int = 0
    tokens: int = 0
    dollars: float = 0.0


class Embedder(Protocol):
    """Turns texts into unit vectors of one model. Heavy resources load at first use."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Hash of the weights, or of the provider's answer to a fixed probe text."""
        ...

    @property
    def kind_matters(self) -> bool:
        """Whether a text has one vector as a query and another as a document."""
        ...

    @property
    def usage(self) -> Usage:
        """Requests, tokens and dollars so far."""
        ...

    def space(self, recipe: str) -> EmbeddingSpace:
        """The space in which this embedder's vectors of ``recipe`` texts live."""
        ...

    def embed(
        self, texts: Sequence[str], *, kind: TextKind, progress: Progress | None = None
    ) -> Vectors:
        """Float32 array of shape (len(texts), dimension), rows of length 1, in input order.

        Raises:
            EmbeddingError: one of its kinds; nothing is returned for part of the texts.
        """
        ...

    def embed_parts(self, texts: Sequence[str], *, kind: TextKind) -> Iterator[VectorPart]:
        """Yield parts as they get done, in any order; what came before an error may be kept.

        Raises:
            EmbeddingError: one of its kinds, after the parts that were done.
        """
        ...


class VectorCache(Protocol):
    """Vectors by model key (``EmbeddingSpace.model_key``), text kind and SHA-256 of the text.

    The recipe is no part of the key: it decides what the text is, not where the text lands.
    """

    def get(
        self, model_key: str, kind: TextKind, keys: Sequence[str]
    ) -> Mapping[str, npt.NDArray[np.float32]]: ...

    def put(
        self, model_key: str, kind: TextKind, keys: Sequence[str], vectors: Vectors
    ) -> None: ...

    def delete(self, keys: Sequence[str]) -> int:
        """Forget these texts under every model and kind; how many vectors went."""
        ...
