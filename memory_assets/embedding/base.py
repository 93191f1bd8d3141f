"""What all embedders share: the space, the order of the rows, the checks on every vector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from memory_assets.domain.ports import Progress, TextKind, Usage, VectorPart, Vectors
from memory_assets.domain.spaces import EmbeddingSpace
from memory_assets.errors import ProviderRejected


class BaseEmbedder(ABC):
    """The ``Embedder`` protocol over one method, ``embed_parts``."""

    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model

    @property
    def provider(self) -> str:
        """The provider's name, as in the part of a spec before the colon."""
        return self._provider

    @property
    def model(self) -> str:
        """The model's name, as in the part of a spec after the colon."""
        return self._model

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """What tells these weights from others under the same name."""

    @property
    def fingerprint_is_known(self) -> bool:
        """Whether the fingerprint can be told without asking anybody."""
        return True

    @property
    @abstractmethod
    def kind_matters(self) -> bool:
        """Whether a text has one vector as a query and another as a document."""

    @property
    def usage(self) -> Usage:
        """What was asked of the provider so far: nothing that is counted, for a local one."""
        return Usage()

    @abstractmethod
    def embed_parts(self, texts: Sequence[str], *, kind: TextKind) -> Iterator[VectorPart]:
        """Yield (positions in ``texts``, their vectors) as parts get done, in any order.

        What was yielded before an error counts: the caller may keep it.
        """

    def close(self) -> None:  # noqa: B027 - most embedders hold nothing open
        """Let go of connections; the embedder works on and opens new ones when asked."""

    def space(self, recipe: str) -> EmbeddingSpace:
        """The space in which this embedder's vectors of ``recipe`` texts live."""
        return EmbeddingSpace(
            provider=self.provider,
            model=self.model,
            dimension=self.dimension,
            fingerprint=self.fingerprint,
            recipe=recipe,
        )

    def embed(
        self, texts: Sequence[str], *, kind: TextKind, progress: Progress | None = None
    ) -> Vectors:
        """Float32 array of shape (len(texts), dimension), rows of length 1, in input order."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        done = 0
        for positions, part in self.embed_parts(texts, kind=kind):
            vectors[positions] = part
            done += len(positions)
            if progress is not None:
                progress(done, len(texts))
        if done != len(texts):
            raise ProviderRejected(
                f"{self.provider}:{self.model} answered {done} of {len(texts)} texts.",
                remedy="Report it: the provider broke its contract.",
            )
        return vectors


def unit_rows(vectors: Vectors, *, who: str) -> Vectors:
    """The rows at length 1, as float32.

    Raises:
        ProviderRejected: a row is not finite or has no length; ``who`` names the model.
    """
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < 1e-12).any():
        raise ProviderRejected(
            f"{who} answered with a vector that is not finite or has no length.",
            remedy="Nothing of this batch was kept. Run `memory-assets doctor`; if it persists, "
            "choose another model.",
        )
    return np.asarray(vectors / lengths, dtype=np.float32)


def encodable(text: str) -> str:
    """The text with lone surrogates replaced: neither UTF-8 nor a tokenizer can hold them."""
    return text.encode("utf-8", "replace").decode("utf-8")
