"""Embedding by a hosted model: batches, cost, and checks on every answer."""

from __future__ import annotations

import base64
import binascii
import json
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_assets.domain.ports import TextKind, Usage, VectorPart, Vectors
from memory_assets.embedding.base import BaseEmbedder, encodable, unit_rows
from memory_assets.embedding.budget import Budget
from memory_assets.embedding.http import JsonEndpoint, RequestRefused, Retries, UnusableAnswer
from memory_assets.embedding.probes import (
    CHECK_EVERY_SECONDS,
    PROBE_TEXT,
    Probe,
    ProbeBook,
    fresh_probe,
)
from memory_assets.errors import ProviderRejected, SpaceMismatch

_TOKENS_AROUND_A_TEXT = 16
"""More than any service adds to a text before it counts tokens."""
_BYTES_PER_TOKEN = 2
"""Fewer than texts have on average: requests stay below the limit on tokens."""
_BYTES_PER_NUMBER = 32
_BYTES_AROUND = 1_000_000


@dataclass(frozen=True, slots=True)
class HostedModel:
    """What is known of a hosted model: size, price, and the limits on one request."""

    provider: str
    name: str
    dimension: int
    dollars_per_million_tokens: float
    texts_per_request: int
    tokens_per_request: int
    tokens_per_text: int
    query_prefix: str = ""
    document_prefix: str = ""


class HostedEmbedder(BaseEmbedder):
    """The ``Embedder`` protocol over one request form, ``_body``; one part per request."""

    def __init__(
        self,
        card: HostedModel,
        endpoint: JsonEndpoint,
        probes: ProbeBook,
        *,
        budget: Budget | None = None,
        retries: Retries | None = None,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(card.provider, card.name)
        self.card = card
        self.endpoint = endpoint
        self.budget = budget or Budget(None)
        self._probes = probes
        self._retries = retries or Retries()
        self._wall_clock = wall_clock
        self._sure_until: dict[TextKind, float] = {"query": 0.0, "document": 0.0}
        self._usage = Usage()
        self._lock = threading.Lock()

    @abstractmethod
    def _body(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        """The request for these texts."""

    @property
    def dimension(self) -> int:
        """Length of a vector, as declared; every answer is held to it."""
        return self.card.dimension

    @property
    def usage(self) -> Usage:
        """Requests, texts, tokens and dollars so far."""
        return self._usage

    @property
    def fingerprint(self) -> str:
        """Name of the answer to a fixed probe text; asked for once, then remembered."""
        known = self._probes.load(self._identity)
        if known is None:
            known = self._remember(fresh_probe(self._ask_probe(), *self._here_and_now()))
        return known.fingerprint

    @property
    def fingerprint_is_known(self) -> bool:
        """Whether an answer to the probe text is remembered."""
        return self._probes.load(self._identity) is not None

    def verify(self, *, now_in_any_case: bool = False) -> None:
        """Compare the answer to the probe with the remembered one, unless that was done today.

        Raises:
            SpaceMismatch: other weights answer under this name now.
        """
        known = self._probes.load(self._identity)
        if known is None:
            self._remember(fresh_probe(self._ask_probe(), *self._here_and_now()))
        elif now_in_any_case or known.is_due(*self._here_and_now()):
            answer = self._ask_probe()
            if not known.matches(answer):
                raise SpaceMismatch(
                    f"{self.provider}:{self.model} answers the probe text unlike before: other "
                    "weights are behind this name now. Nothing was embedded.",
                    where=self.endpoint.where,
                    remedy="Go back to the former base_url, or build a new space with "
                    f"`memory-assets embedding migrate --to {self.provider}:{self.model}`.",
                )
            base_url, now = self._here_and_now()
            self._remember(Probe(known.fingerprint, known.vector, base_url, now))
        else:
            self._sure_until["query"] = known.checked_at + CHECK_EVERY_SECONDS

    def accept_new_weights(self) -> str:
        """Take today's answer to the probe as the model's; the new fingerprint, a new space."""
        return self._remember(fresh_probe(self._ask_probe(), *self._here_and_now())).fingerprint

    def embed_parts(self, texts: Sequence[str], *, kind: TextKind) -> Iterator[VectorPart]:
        """One part per request, in input order; each is in the caller's hands before the next."""
        if not texts:
            return
        self._make_sure(kind)
        prefix = self.card.query_prefix if kind == "query" else self.card.document_prefix
        ready = [prefix + (encodable(text) or " ") for text in texts]
        start = 0
        while start < len(ready):
            end = self._end_of_batch(ready, start)
            yield range(start, end), self._vectors(ready[start:end], kind)
            start = end

    def _make_sure(self, kind: TextKind) -> None:
        """Documents stay in an index, so no earlier run's comparison counts; for queries it does.

        Nights are about a day apart: taking one's word in the next would compare every other night.
        """
        if self._wall_clock() >= self._sure_until[kind]:
            self.verify(now_in_any_case=kind == "document")

    def close(self) -> None:
        """Close the connections."""
        self.endpoint.close()

    @property
    def _identity(self) -> str:
        card = self.card
        parts = (card.provider, card.name, card.dimension, card.query_prefix, card.document_prefix)
        return json.dumps(parts)

    def _here_and_now(self) -> tuple[str, float]:
        return self.endpoint.base_url, self._wall_clock()

    def _remember(self, probe: Probe) -> Probe:
        self._probes.save(self._identity, probe)
        until = probe.checked_at + CHECK_EVERY_SECONDS
        self._sure_until = {"query": until, "document": until}
        return probe

    def _ask_probe(self) -> npt.NDArray[np.float32]:
        (answer,) = self._vectors([self.card.document_prefix + PROBE_TEXT], "document")
        return np.asarray(answer, np.float32)

    def _end_of_batch(self, texts: Sequence[str], start: int) -> int:
        """Where the next request ends: by the provider's limits, and by what is left to spend."""
        tokens, dollars, end = 0, 0.0, start
        left = self.budget.left_dollars
        for text in texts[start : start + self.card.texts_per_request]:
            tokens += _likely_tokens(text)
            dollars += self._most_dollars([text])
            if end > start and (tokens > self.card.tokens_per_request or dollars > left):
                break
            end += 1
        return end

    def _most_dollars(self, texts: Sequence[str]) -> float:
        """What the texts can cost at most: no token is shorter than a byte."""
        tokens = sum(len(text.encode()) + _TOKENS_AROUND_A_TEXT for text in texts)
        return self._dollars(tokens)

    def _dollars(self, tokens: int) -> float:
        return tokens * self.card.dollars_per_million_tokens / 1e6

    def _vectors(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        try:
            return self._request(self._within_limit(texts, _BYTES_PER_TOKEN), kind)
        except RequestRefused:
            shorter = self._within_limit(texts, 1)
            if shorter == self._within_limit(texts, _BYTES_PER_TOKEN):
                raise
            # One text of rare characters can hold more tokens than its length suggests.
            return self._request(shorter, kind)

    def _within_limit(self, texts: Sequence[str], bytes_per_token: int) -> list[str]:
        """The texts, each cut to what the model reads of one text."""
        most = self.card.tokens_per_text * bytes_per_token
        return [
            text if len(text) * 4 <= most else text.encode()[:most].decode("utf-8", "ignore")
            for text in texts
        ]

    def _request(self, texts: list[str], kind: TextKind) -> Vectors:
        body = self._body(texts, kind)
        return self._retries.run(lambda: self._attempt(body, texts))

    def _attempt(self, body: dict[str, Any], texts: list[str]) -> Vectors:
        """One request, paid for: a refusal costs nothing, an answer that broke off may have."""
        most = self._most_dollars(texts)
        limit = len(texts) * self.dimension * _BYTES_PER_NUMBER + _BYTES_AROUND
        self.budget.reserve(most)
        tokens, dollars = 0, 0.0
        try:
            answer = self.endpoint.post(body, most_bytes=limit)
            tokens = _tokens_used(answer, texts)
            dollars = self._dollars(tokens)
            return unit_rows(self._rows(answer, len(texts)), who=self._who)
        except UnusableAnswer:
            dollars = most
            raise
        finally:
            self.budget.settle(most, dollars)
            with self._lock:
                u = self._usage
                self._usage = Usage(
                    u.requests + 1,
                    u.texts + (len(texts) if tokens else 0),
                    u.tokens + tokens,
                    u.dollars + dollars,
                )

    def _rows(self, answer: dict[str, Any], count: int) -> Vectors:
        """The answer's vectors in the order of the request.

        Raises:
            ProviderRejected: not one vector of the declared length for each text.
        """
        data = answer.get("data")
        if not isinstance(data, list) or len(data) != count:
            got = len(data) if isinstance(data, list) else "no"
            raise self._wrong(f"{got} vectors for {count} texts")
        rows: Vectors = np.empty((count, self.dimension), np.float32)
        seen = set()
        for position, item in enumerate(data):
            try:
                index = int(item.get("index", position))
                vector = _numbers(item["embedding"])
            except (AttributeError, KeyError, TypeError, ValueError, binascii.Error):
                raise self._wrong("a vector that is no list of numbers") from None
            if not 0 <= index < count or index in seen:
                raise self._wrong(f"index {index} twice or out of range")
            if vector.shape != (self.dimension,):
                raise self._wrong(f"a vector of {vector.size} numbers, not {self.dimension}")
            seen.add(index)
            rows[index] = vector
        return rows

    @property
    def _who(self) -> str:
        return f"{self.provider}:{self.model}"

    def _wrong(self, what: str) -> ProviderRejected:
        return ProviderRejected(
            f"{self._who} answered with {what}.",
            where=self.endpoint.where,
            remedy="Nothing of this batch was kept. Check the model's name, its declared "
            "dimension and base_url.",
        )


def _numbers(value: Any) -> npt.NDArray[np.float32]:
    """A vector given as JSON numbers, or as base64 of little-endian float32."""
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), "<f4")
    return np.asarray(value, np.float32)


def _tokens_used(answer: dict[str, Any], texts: Sequence[str]) -> int:
    """What the answer says was counted, else a guess that is rather too high."""
    usage = answer.get("usage")
    if isinstance(usage, dict):
        said = usage.get("total_tokens", usage.get("prompt_tokens"))
        if isinstance(said, int) and said > 0:
            return said
    return sum(map(_likely_tokens, texts))


def _likely_tokens(text: str) -> int:
    return len(text.encode()) // _BYTES_PER_TOKEN + 1
