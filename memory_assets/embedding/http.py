"""JSON over HTTP for embedding providers: time limits, retries, and errors sorted in two."""

from __future__ import annotations

import json
import random
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from memory_assets.embedding.apikey import ApiKey
from memory_assets.errors import (
    EmbeddingError,
    ProviderRejected,
    ProviderUnavailable,
    SettingsError,
)

if TYPE_CHECKING:
    import httpx2

_T = TypeVar("_T")

_TRANSIENT = frozenset({408, 409, 425, 429})
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_SHOWN_OF_A_MESSAGE = 200
_ECHO = 24
"""A message that holds this many first characters of a text repeats it."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to wait for a provider that fails on its side.

    The wait doubles from ``first_wait`` to ``longest_wait`` seconds, less up to half of it at
    random, so that many clients do not return at once. A ``Retry-After`` counts instead, unless
    it is longer than ``longest_wait``: then the call ends at once and says when to come back.
    """

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 30.0


class Retries:
    """Runs a call again while it fails in a way that may pass."""

    def __init__(
        self,
        policy: RetryPolicy | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._chance = chance

    def run(self, call: Callable[[], _T]) -> _T:
        """What ``call`` returns, or the error of its last attempt."""
        attempt = 1
        while True:
            try:
                return call()
            except ProviderUnavailable as error:
                wait = self._wait(attempt, error.retry_after)
                if wait is None:
                    raise
            self._sleep(wait)
            attempt += 1

    def _wait(self, attempt: int, retry_after: float | None) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        policy = self._policy
        if attempt >= policy.attempts:
            return None
        if retry_after is not None:
            return retry_after if retry_after <= policy.longest_wait else None
        longest = min(policy.longest_wait, policy.first_wait * 2.0 ** (attempt - 1))
        return longest * (1.0 - self._chance() / 2)


class UnusableAnswer(ProviderUnavailable):
    """Less than a whole answer came, or came in time; the provider may have charged for it."""


class RequestRefused(ProviderRejected):
    """A 4xx on this very request, or an answer that is none: another request may pass."""


class JsonEndpoint:
    """POSTs JSON to one address with one key."""

    def __init__(
        self,
        name: str,
        base_url: str,
        path: str,
        key: ApiKey,
        *,
        needs_key: bool = True,
        timeout: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.base_url = base_url
        self.url = _joined(base_url, path)
        self._key = key
        self._needs_key = needs_key
        self._timeout = timeout
        self._clock = clock
        self._wall_clock = wall_clock
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    @property
    def where(self) -> str:
        """The address as errors show it, without its query."""
        return self.url.partition("?")[0]

    def post(self, body: Mapping[str, Any], *, most_bytes: int) -> dict[str, Any]:
        """The JSON object that answers ``body``, read to at most ``most_bytes``. One attempt.

        Raises:
            ProviderUnavailable: time-out, broken connection, 408/409/425/429, 5xx, cut-off JSON.
            ProviderRejected: any other answer that is none; it would be the same again.
        """
        import httpx2

        if self._needs_key and not self._key.is_set:
            raise self._no_entry(f"{self.name} needs an API key, and none is set.")
        headers = self._key.header()
        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(timeout=self._timeout)
                # Whoever forgets ``close`` leaves no open socket behind either.
                weakref.finalize(self, self._client.close)
            client = self._client
        # Foreign exceptions hold the request, and it holds the key: none is let out, or chained.
        try:
            with client.stream("POST", self.url, json=body, headers=headers) as response:
                content = self._read(response, most_bytes)
        except httpx2.TimeoutException:
            problem: EmbeddingError = self._timed_out()
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL, httpx2.LocalProtocolError):
            problem = ProviderRejected(
                f"{self.name} cannot be asked at this address.",
                where=self.where,
                remedy="Correct base_url.",
            )
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            problem = ProviderUnavailable(
                f"{self.name} does not answer ({type(error).__name__}).",
                where=self.where,
                remedy="Check the network and base_url; the next run tries again.",
            )
        else:
            if response.status_code == 200:
                return self._parsed(content)
            texts = body.get("input") or [m["content"] for m in body.get("messages", ())]
            problem = self._refusal(response.status_code, response.headers, content, texts)
        raise problem

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _read(self, response: httpx2.Response, most_bytes: int) -> bytes:
        """The body within the time limit as a whole: a trickle resets a limit per read."""
        until = self._clock() + self._timeout
        pieces, size = [], 0
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if size > most_bytes:
                raise ProviderRejected(
                    f"{self.name} answered with more than {most_bytes} bytes.",
                    where=self.where,
                    remedy="Check that base_url is an embeddings service.",
                )
            if self._clock() > until:
                raise self._timed_out()
        return b"".join(pieces)

    def _timed_out(self) -> ProviderUnavailable:
        return UnusableAnswer(
            f"{self.name} did not answer within {self._timeout:g} s.",
            where=self.where,
            remedy="The next run tries again; raise the time limit if it happens often.",
        )

    def _parsed(self, content: bytes) -> dict[str, Any]:
        answer = _from_json(content)
        if answer is _NO_JSON:
            raise UnusableAnswer(
                f"{self.name} answered with JSON that is cut off or malformed.",
                where=self.where,
                remedy="The next run tries again; a proxy in between may cut answers.",
            )
        if not isinstance(answer, dict):
            raise ProviderRejected(
                f"{self.name} answered with something that is no JSON object.",
                where=self.where,
                remedy="Check that base_url is an embeddings service.",
            )
        return answer

    def _no_entry(self, what: str) -> ProviderRejected:
        return ProviderRejected(
            what,
            where=self.where,
            remedy=f"Rotate the key: put a valid one into the environment as {self._key.variable}.",
        )

    def _refusal(
        self, status: int, headers: Mapping[str, str], content: bytes, texts: Sequence[str]
    ) -> EmbeddingError:
        """The error for a refusal; it shows what the service says, but no key and no content."""
        code, message = _complaint(content)
        message = self._key.scrub(message)
        if any(text[:_ECHO] in message for text in texts):
            message = "(a message that repeats the text)"
        said = f": {message[:_SHOWN_OF_A_MESSAGE]}" if message else ""
        what = f"{self.name} answered {status}{said}."
        if status in (401, 403):
            state = "is refused" if self._key.is_set else "is missing"
            return self._no_entry(f"{self.name} answered {status}: the API key {state}.")
        if code in _QUOTA_CODES:
            return ProviderRejected(
                what, where=self.where, remedy="The account's quota is used up: raise it there."
            )
        if status in _TRANSIENT or status >= 500:
            return ProviderUnavailable(
                what,
                where=self.where,
                remedy="The provider limits or fails; the next run tries again.",
                retry_after=_retry_after(headers.get("retry-after"), self._wall_clock()),
            )
        return RequestRefused(
            what, where=self.where, remedy="Check the model's name, base_url and settings."
        )


def _joined(base_url: str, path: str) -> str:
    """``base_url`` with ``path`` appended and its query kept (some services want one).

    Raises:
        SettingsError: it is not an http(s) address, or carries a user name and password.
    """
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise SettingsError(
            "base_url must be an http or https address without a user name or password.",
            remedy="Write for instance https://host/v1; the key belongs in the environment.",
        )
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + path, parts.query, ""))


_NO_JSON = object()


def _from_json(content: bytes) -> Any:
    """The value, or ``_NO_JSON``; the decoder's own error would carry the content along."""
    try:
        return json.loads(content)
    except ValueError:
        return _NO_JSON


def _complaint(content: bytes) -> tuple[str, str]:
    """(code, message) of an error answer, in the forms that the services use."""
    answer = _from_json(content)
    if not isinstance(answer, dict):
        return "", ""
    error = answer.get("error", answer)
    if not isinstance(error, dict):
        return "", " ".join(str(error).split())
    message = error.get("message") or error.get("detail") or ""
    return str(error.get("code") or ""), " ".join(str(message).split())


def _retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait, from a number or an HTTP date; None where the header says nothing."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except ValueError:
        return None
