"""Several providers in order, without ever mixing their vectors.

The first provider serves: all that is embedded, is embedded by it or stays pending. A fallback
that is *warm* keeps a complete space of its own and answers queries in that space while the first
is down. Other fallbacks stand by for a migration. No vector of one model ever enters another
model's space, equal dimension or not.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_assets.domain.ports import Embedder, TextKind, Usage, VectorPart
from memory_assets.domain.spaces import EmbeddingSpace
from memory_assets.embedding.base import BaseEmbedder
from memory_assets.embedding.breaker import Breaker, BreakerState
from memory_assets.errors import (
    EmbeddingError,
    ProviderUnavailable,
    SettingsError,
    SpaceMismatch,
)

Clock = Callable[[], float]
VectorOfOne = npt.NDArray[np.float32]


class GuardedEmbedder(BaseEmbedder):
    """An embedder behind a breaker: while it is open, calls fail at once and cost nothing."""

    def __init__(
        self, inner: Embedder, breaker: Breaker | None = None, *, clock: Clock = time.monotonic
    ) -> None:
        super().__init__(inner.provider, inner.model)
        self.inner = inner
        self._breaker = breaker or Breaker()
        self._clock = clock
        self._lock = threading.Lock()
        self.last_problem: EmbeddingError | None = None
        """Of the last call; None when that went well."""
        self.seen_problem: EmbeddingError | None = None
        """The last one there was, though later calls may have gone well."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.inner.dimension

    @property
    def fingerprint(self) -> str:
        """The inner embedder's; a hosted one that does not remember it is asked for it."""
        if not isinstance(self.inner, BaseEmbedder) or self.inner.fingerprint_is_known:
            # Nobody is asked, so this says nothing about whether the provider works.
            return self.inner.fingerprint
        with self._guard():
            return self.inner.fingerprint

    @property
    def kind_matters(self) -> bool:
        """As the inner embedder says."""
        return self.inner.kind_matters

    @property
    def usage(self) -> Usage:
        """The inner embedder's."""
        return self.inner.usage

    @property
    def state(self) -> BreakerState:
        """The breaker's state now."""
        with self._lock:
            return self._breaker.state(self._clock())

    @property
    def failures(self) -> int:
        """Failures since the last success."""
        return self._breaker.failures

    @property
    def retry_in(self) -> float:
        """Seconds until a call may be tried."""
        with self._lock:
            return self._breaker.retry_in(self._clock())

    def embed_parts(self, texts: Sequence[str], *, kind: TextKind) -> Iterator[VectorPart]:
        """The inner embedder's parts."""
        if not texts:
            return
        with self._guard():
            for part in self.inner.embed_parts(texts, kind=kind):
                with self._lock:
                    self._breaker.succeeded()
                yield part

    def close(self) -> None:
        """Let go of the inner embedder's connections."""
        if isinstance(self.inner, BaseEmbedder):
            self.inner.close()

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Ask the breaker, then tell it; only what may pass counts as a failure of the provider."""
        with self._lock:
            allowed = self._breaker.allows(self._clock())
        if not allowed:
            raise ProviderUnavailable(
                f"{self.provider}:{self.model} failed {self.failures} times in a row and is left "
                f"alone for {self.retry_in:.0f} s more.",
                remedy="Nothing to do: it is tried again by itself. `memory-assets doctor` shows "
                "the state.",
                retry_after=self.retry_in,
            )
        report = self._breaker.undecided
        try:
            yield
            report = self._breaker.succeeded
            self.last_problem = None
        except EmbeddingError as error:
            if isinstance(error, ProviderUnavailable):
                report = self._note_failure
            self.last_problem = self.seen_problem = error
            raise
        finally:
            with self._lock:
                report()

    def _note_failure(self) -> None:
        self._breaker.failed(self._clock())


@dataclass(frozen=True, slots=True)
class ProviderState:
    """One provider of a chain, as ``doctor`` and run metadata show it."""

    provider: str
    model: str
    role: str
    breaker: str
    failures: int
    retry_in_seconds: float
    last_problem: str
    """The code of the last problem that the run met, though later calls may have gone well."""
    requests: int
    tokens: int
    dollars: float

    def to_dict(self) -> dict[str, Any]:
        """The state as ``--json`` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's vector and the embedder whose space it lies in; without one, search by text.

    ``notes`` say, for each provider that did not serve, why; with any, the answer is degraded.
    """

    vector: VectorOfOne | None
    embedder: GuardedEmbedder | None
    notes: tuple[str, ...]

    @property
    def degraded(self) -> bool:
        """Whether the first provider did not serve."""
        return bool(self.notes)


class ProviderChain:
    """The configured providers, the serving one first; ``warm`` names specs with a space."""

    def __init__(
        self,
        embedders: Sequence[Embedder],
        *,
        warm: Collection[str] = (),
        new_breaker: Callable[[], Breaker] = Breaker,
        clock: Clock = time.monotonic,
    ) -> None:
        self.members = tuple(GuardedEmbedder(e, new_breaker(), clock=clock) for e in embedders)
        specs = [_spec(member) for member in self.members]
        unknown = sorted(set(warm) - set(specs[1:]))
        if not specs or len(set(specs)) < len(specs) or unknown:
            raise SettingsError(
                "The chain of embedding providers needs at least one, each once; warm ones are "
                f"among its fallbacks. Chain: {specs or 'empty'}, not among them: {unknown}.",
                remedy="Correct the embedding settings.",
            )
        self._warm = frozenset(warm)

    @property
    def first(self) -> GuardedEmbedder:
        """The provider that serves: every run embeds with it alone."""
        return self.members[0]

    @property
    def with_space(self) -> tuple[GuardedEmbedder, ...]:
        """The providers that keep a complete space each: the first, then the warm ones."""
        return (self.first, *(m for m in self.members[1:] if _spec(m) in self._warm))

    def for_space(self, space: EmbeddingSpace) -> GuardedEmbedder:
        """The provider whose vectors may enter ``space``.

        Raises:
            SpaceMismatch: none of the chain; equal names or dimensions are not enough.
        """
        for member in self.members:
            if (member.provider, member.model) == (space.provider, space.model):
                own = member.space(space.recipe)
                if own == space:
                    return member
                raise SpaceMismatch(
                    f"{_spec(member)} no longer embeds into the stored space {space.space_id}: "
                    f"it gives {own.dimension} numbers with fingerprint {own.fingerprint}, stored "
                    f"are {space.dimension} and {space.fingerprint}.",
                    remedy=f"Run `memory-assets embedding migrate --to {_spec(member)}`.",
                )
        raise SpaceMismatch(
            f"The stored space {space.space_id} is of {space.provider}:{space.model}, which is "
            "not among the configured providers.",
            remedy="Configure it again, or run `memory-assets embedding migrate --to "
            f"{_spec(self.first)}`.",
        )

    def embed_query(
        self,
        text: str,
        *,
        recipe: str,
        spaces: Collection[str] | None = None,
        known: MutableMapping[tuple[str, str], VectorOfOne] | None = None,
    ) -> QueryVector:
        """The query's vector from the first provider that answers, never an error.

        Only the first provider and warm ones are asked, and only those whose space for ``recipe``
        is among ``spaces`` (ids of the spaces that the index holds; None: all). ``known`` holds
        vectors by space and text, and takes new ones in: what it has is not asked for again.
        """
        memory = {} if known is None else known
        notes = []
        for member in self.with_space:
            try:
                space_id = member.space(recipe).space_id
                if spaces is not None and space_id not in spaces:
                    notes.append(f"{_spec(member)}: no space of it is in the index")
                    continue
                if (space_id, text) not in memory:
                    memory[space_id, text] = member.embed([text], kind="query")[0]
                return QueryVector(memory[space_id, text], member, tuple(notes))
            except EmbeddingError as error:
                notes.append(f"{_spec(member)}: {error.code}: {error.what}")
        return QueryVector(None, None, tuple(notes))

    def close(self) -> None:
        """Let go of all connections."""
        for member in self.members:
            member.close()

    def states(self) -> list[ProviderState]:
        """Each provider's role, breaker and costs, in order."""
        return [
            ProviderState(
                provider=member.provider,
                model=member.model,
                role=self._role(member),
                breaker=str(member.state),
                failures=member.failures,
                retry_in_seconds=round(member.retry_in, 1),
                last_problem="" if member.seen_problem is None else member.seen_problem.code,
                requests=member.usage.requests,
                tokens=member.usage.tokens,
                dollars=round(member.usage.dollars, 6),
            )
            for member in self.members
        ]

    def _role(self, member: GuardedEmbedder) -> str:
        if member is self.first:
            return "first"
        return "warm" if _spec(member) in self._warm else "standby"


def _spec(embedder: Embedder) -> str:
    return f"{embedder.provider}:{embedder.model}"
