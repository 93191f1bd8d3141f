"""Hosted providers against a real server: what they send, keep, count and refuse."""

from __future__ import annotations

import base64
import logging
import pickle
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memory_assets.embedding.budget import Budget
from memory_assets.embedding.http import JsonEndpoint
from memory_assets.embedding.probes import PROBE_TEXT
from memory_assets.errors import (
    BudgetExhausted,
    EmbeddingError,
    ProviderRejected,
    ProviderUnavailable,
    SettingsError,
)

from .conftest import KEY, EmbeddingServer, Reply

Make = Callable[..., Any]


def texts_of(count: int) -> list[str]:
    """Different texts."""
    return [f"definition number {number}" for number in range(count)]


def expected(server: EmbeddingServer, texts: list[str], kind: str | None = None) -> Any:
    """The server's vectors at length 1."""
    rows = np.array([server.vector(text, kind) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_openai_form(server: EmbeddingServer, hosted: Make) -> None:
    """Model, input and key are sent; vectors come in input order, whatever the answer's order."""
    vectors = hosted("openai").embed(["one", "two", "three"], kind="document")
    assert np.allclose(vectors, expected(server, ["one", "two", "three"]), atol=1e-6)
    assert server.paths[-1] == "/v1/embeddings"
    assert server.headers[-1]["authorization"] == f"Bearer {KEY}"
    assert server.bodies[-1] == {
        "model": "some-model",
        "input": ["one", "two", "three"],
        "encoding_format": "float",
    }


def test_voyage_form_tells_queries_from_documents(server: EmbeddingServer, hosted: Make) -> None:
    """Voyage's input type is sent, and the two kinds of one text have two vectors."""
    embedder = hosted("voyage")
    query, document = (embedder.embed(["one"], kind=kind)[0] for kind in ("query", "document"))
    assert [body["input_type"] for body in server.bodies[-2:]] == ["query", "document"]
    assert float(query @ document) < 0.9
    assert embedder.kind_matters


def test_prefixes_are_put_before_texts(server: EmbeddingServer, hosted: Make) -> None:
    """A model behind the OpenAI form may want its own prompts."""
    embedder = hosted("openai", query_prefix="query: ", document_prefix="passage: ")
    embedder.embed(["one"], kind="query")
    assert server.texts[-1] == "query: one"
    assert embedder.kind_matters


def test_base64_answers_are_read(server: EmbeddingServer, hosted: Make) -> None:
    """Some services send float32 as base64."""

    def script(number: int, body: dict[str, Any]) -> Reply:
        rows = [np.array(server.vector(text), "<f4") for text in body["input"]]
        data = [{"embedding": base64.b64encode(row.tobytes()).decode()} for row in rows]
        return Reply(body={"data": data})

    server.script = script
    vectors = hosted("openai").embed(["one", "two"], kind="document")
    assert np.allclose(vectors, expected(server, ["one", "two"]), atol=1e-6)


def test_batches_keep_the_limits_on_texts_and_tokens(server: EmbeddingServer, hosted: Make) -> None:
    """At most 256 texts and the model's number of tokens go into one request."""
    hosted("openai").embed(texts_of(600), kind="document")
    assert [len(body["input"]) for body in server.bodies[1:]] == [256, 256, 88]
    server.bodies.clear()
    long = ["x " * 8_000 for _ in range(100)]
    hosted("openai").embed(long, kind="document")
    assert all(sum(map(len, body["input"])) / 2 <= 300_000 for body in server.bodies)
    assert sum(len(body["input"]) for body in server.bodies[1:]) == 100


def test_odd_texts_are_sent_in_a_form_that_services_take(
    server: EmbeddingServer, hosted: Make
) -> None:
    """Empty texts, lone surrogates and texts of megabytes do not end a night."""
    hosted("openai").embed(["", "a\ud800b", "x" * 4_000_000], kind="document")
    empty, surrogate, long = server.texts[-3:]
    assert empty == " "
    assert surrogate == "a?b"
    assert len(long) == 8_191 * 2


def test_a_text_with_too_many_tokens_is_cut_further(server: EmbeddingServer, hosted: Make) -> None:
    """A service that refuses a long text of rare characters gets it cut to a safe length."""

    def script(number: int, body: dict[str, Any]) -> Reply | None:
        if any(len(text.encode()) > 8_191 for text in body["input"]):
            return Reply(400, {"error": {"message": "maximum context length"}})
        return None

    server.script = script
    vectors = hosted("openai").embed(["語" * 5_000, "short"], kind="document")
    assert vectors.shape == (2, server.dimension)
    assert len(server.texts[-2].encode()) <= 8_191


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_failures_on_their_side_are_tried_again(
    status: int, server: EmbeddingServer, hosted: Make, sleeps: list[float]
) -> None:
    """Two failures, then an answer: the waits double."""
    server.script = lambda number, body: Reply(status, {"error": "busy"}) if number < 3 else None
    assert hosted("openai").embed(["one"], kind="document").shape == (1, server.dimension)
    assert sleeps == [0.5, 1.0]


def test_a_provider_that_stays_down_is_unavailable(
    server: EmbeddingServer, hosted: Make, sleeps: list[float]
) -> None:
    """After the last attempt the error is transient, and says what the provider said."""
    server.script = lambda number, body: Reply(503, {"error": {"message": "overloaded"}})
    with pytest.raises(ProviderUnavailable, match="503: overloaded"):
        hosted("openai").embed(["one"], kind="document")
    assert len(server.bodies) == 4
    assert sleeps == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("value", ["7", "7.0"])
def test_retry_after_is_kept_to(
    value: str, server: EmbeddingServer, hosted: Make, sleeps: list[float]
) -> None:
    """429 with Retry-After waits exactly that long."""
    server.script = lambda number, body: (
        Reply(429, {}, {"Retry-After": value}) if number == 1 else None
    )
    hosted("openai").embed(["one"], kind="document")
    assert sleeps == [7.0]


def test_retry_after_may_be_a_date(
    server: EmbeddingServer, hosted: Make, sleeps: list[float]
) -> None:
    """An HTTP date counts from now; one that has passed means at once."""
    date = {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}
    server.script = lambda number, body: Reply(429, {}, date) if number == 1 else None
    hosted("openai").embed(["one"], kind="document")
    assert sleeps == [0.0]


def test_a_long_retry_after_ends_the_call_at_once(
    server: EmbeddingServer, hosted: Make, sleeps: list[float]
) -> None:
    """A night does not sleep an hour: the error carries when to come back."""
    server.script = lambda number, body: Reply(429, {}, {"Retry-After": "3600"})
    with pytest.raises(ProviderUnavailable) as caught:
        hosted("openai").embed(["one"], kind="document")
    assert caught.value.retry_after == 3600
    assert sleeps == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_final_and_says_rotate(
    status: int, server: EmbeddingServer, hosted: Make
) -> None:
    """No second attempt; the remedy names the variable."""
    server.script = lambda number, body: Reply(status, {"error": {"message": f"bad key {KEY}"}})
    with pytest.raises(ProviderRejected, match=r"Rotate the key.*VOYAGE_API_KEY"):
        hosted("voyage").embed(["one"], kind="document")
    assert len(server.bodies) == 1


def test_a_used_up_quota_is_final(server: EmbeddingServer, hosted: Make) -> None:
    """A 429 that waiting does not mend is not tried again."""
    answer = {"error": {"code": "insufficient_quota", "message": "check your plan"}}
    server.script = lambda number, body: Reply(429, answer)
    with pytest.raises(ProviderRejected, match="quota"):
        hosted("openai").embed(["one"], kind="document")
    assert len(server.bodies) == 1


@pytest.mark.parametrize("status", [302, 400, 404, 422])
def test_other_refusals_are_final(status: int, server: EmbeddingServer, hosted: Make) -> None:
    """A redirect is not followed either: the key would go to another host."""
    server.script = lambda number, body: Reply(status, {}, {"Location": server.url})
    with pytest.raises(ProviderRejected, match=str(status)):
        hosted("openai").embed(["one"], kind="document")
    assert len(server.bodies) == 1


def parts_until_error(embedder: Any, texts: list[str]) -> tuple[list[int], EmbeddingError | None]:
    """The positions that were done, and what ended the work."""
    kept: list[int] = []
    try:
        for positions, _ in embedder.embed_parts(texts, kind="document"):
            kept += positions
    except EmbeddingError as error:
        return kept, error
    return kept, None


def vectors_for(body: dict[str, Any], vector: Any) -> dict[str, Any]:
    """An answer with one and the same vector for every text."""
    return {"data": [{"index": i, "embedding": vector} for i in range(len(body["input"]))]}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda body: vectors_for(body, [1.0] * 32), "32 numbers, not 64"),
        (lambda body: vectors_for(body, [float("nan")] * 64), "not finite"),
        (lambda body: vectors_for(body, [float("inf")] * 64), "not finite"),
        (lambda body: vectors_for(body, [0.0] * 64), "no length"),
        (lambda body: vectors_for(body, ["a"] * 64), "no list of numbers"),
        (lambda body: vectors_for(body, None), "numbers"),
        (lambda body: {"data": vectors_for(body, [1.0] * 64)["data"][1:]}, "vectors for"),
        (lambda body: {"data": [{"index": 0, "embedding": [1.0] * 64}] * 3}, "index 0 twice"),
        (lambda body: {"data": "none"}, "no vectors for"),
        (lambda body: {}, "no vectors for"),
        (lambda body: ["list"], "no JSON object"),
    ],
)
def test_wrong_answers_are_final(
    answer: Callable[[dict[str, Any]], Any], says: str, server: EmbeddingServer, hosted: Make
) -> None:
    """Wrong dimension, NaN, wrong count, wrong form: refused whole, not tried again."""
    embedder = hosted("openai")
    assert embedder.fingerprint
    embedder.verify()
    asked = len(server.bodies)
    server.script = lambda number, body: Reply(body=answer(body))
    with pytest.raises(ProviderRejected, match=says):
        embedder.embed(["one", "two", "three"], kind="document")
    assert len(server.bodies) == asked + 1


@pytest.mark.parametrize(
    "broken", [Reply(body=b'{"data": [{"index": 0, "embed'), Reply(body=b"x" * 500, cut_to=100)]
)
def test_a_truncated_answer_is_tried_again(
    broken: Reply, server: EmbeddingServer, hosted: Make, sleeps: list[float]
) -> None:
    """JSON or connections that break off may come whole the next time."""
    server.script = lambda number, body: broken if number == 1 else None
    assert len(hosted("openai").embed(["one"], kind="document")) == 1
    assert sleeps == [0.5]


def test_a_provider_that_does_not_answer_in_time_is_unavailable(
    server: EmbeddingServer, hosted: Make
) -> None:
    """The time limit holds for each attempt."""
    server.script = lambda number, body: Reply(body={}, after=server.released)
    with pytest.raises(ProviderUnavailable, match=r"within 0\.1 s"):
        hosted("openai", timeout=0.1).embed(["one"], kind="document")
    server.released.set()


def test_nobody_listening_is_unavailable(hosted: Make) -> None:
    """A refused connection is transient."""
    with pytest.raises(ProviderUnavailable, match="ConnectError"):
        hosted("openai", base_url="http://127.0.0.1:9/v1").embed(["one"], kind="document")


def test_an_endless_answer_is_cut_off(server: EmbeddingServer, hosted: Make) -> None:
    """What is not an embeddings service may send anything; memory stays bounded."""
    server.script = lambda number, body: Reply(body=b"x" * 3_000_000)
    with pytest.raises(ProviderRejected, match="more than"):
        hosted("openai").embed(["one"], kind="document")


def test_death_on_item_501_keeps_the_first_five_hundred(
    server: EmbeddingServer, hosted: Make
) -> None:
    """Parts that were answered are in the caller's hands before the error."""

    def script(number: int, body: dict[str, Any]) -> Reply | None:
        return Reply(500, {}) if "definition number 512" in body["input"] else None

    server.script = script
    kept, error = parts_until_error(hosted("openai"), texts_of(1_000))
    assert isinstance(error, ProviderUnavailable)
    assert kept == list(range(512))


def test_usage_counts_tokens_and_dollars(server: EmbeddingServer, hosted: Make) -> None:
    """Tokens as the service says them, dollars by the price per million."""
    embedder = hosted("openai", dollars_per_million_tokens=2.0)
    embedder.embed(["one two three", "four"], kind="document")
    probe = len(PROBE_TEXT.split())
    assert embedder.usage.tokens == 4 + probe
    assert embedder.usage.dollars == pytest.approx((4 + probe) * 2e-6)
    assert (embedder.usage.requests, embedder.usage.texts) == (2, 3)


def test_the_budget_stops_before_it_is_passed(server: EmbeddingServer, hosted: Make) -> None:
    """However the limit falls, no more is spent, and what was paid for is kept."""
    for limit in (0.0, 0.00015, 0.001):
        budget = Budget(limit)
        embedder = hosted("openai", budget=budget)
        kept, error = parts_until_error(embedder, texts_of(1_000))
        assert isinstance(error, BudgetExhausted)
        assert budget.spent_dollars <= limit
        assert embedder.usage.dollars == pytest.approx(budget.spent_dollars)
        if limit > 0.0005:
            assert kept
            assert budget.left_dollars < limit


def test_refused_requests_cost_nothing_and_broken_ones_count(
    server: EmbeddingServer, hosted: Make
) -> None:
    """A 503 releases the reservation; an answer that broke off may have been charged for."""
    budget = Budget(1.0)
    embedder = hosted("openai", budget=budget)
    server.script = lambda number, body: Reply(503, {})
    with pytest.raises(ProviderUnavailable):
        embedder.embed(["one"], kind="document")
    assert (budget.spent_dollars, budget.left_dollars) == (0.0, 1.0)
    server.script = lambda number, body: Reply(body=b"{")
    with pytest.raises(ProviderUnavailable):
        embedder.embed(["one"], kind="document")
    assert budget.spent_dollars > 0


def test_the_key_is_nowhere_but_in_the_header(
    server: EmbeddingServer, hosted: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in repr, errors, tracebacks, logs or pickles, also when the service echoes it."""
    shown: list[str] = []
    replies = [
        Reply(400, {"error": {"message": f"{'x' * 190}{KEY}"}}),
        Reply(401, {"error": {"message": KEY}}),
        Reply(500, {"error": KEY}),
        Reply(body=f"not json {KEY}".encode()),
        Reply(body=b"x" * 300, cut_to=10),
        Reply(body=vectors_for({"input": [1]}, [1.0])),
        Reply(200, {}, {"Content-Encoding": "gzip"}),
    ]
    with caplog.at_level(logging.DEBUG):
        for reply in replies:
            embedder = hosted("openai")
            server.script = lambda number, body, reply=reply: reply  # type: ignore[misc]
            with pytest.raises(EmbeddingError) as caught:
                embedder.embed(["one"], kind="document")
            shown += traceback.format_exception(caught.value)
            shown += [repr(caught.value), str(caught.value.to_dict())]
            shown += [repr(embedder), repr(vars(embedder)), repr(vars(embedder.endpoint))]
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None
            with pytest.raises(TypeError):
                pickle.dumps(embedder.endpoint._key)
    shown += [record.getMessage() for record in caplog.records]
    assert any(KEY in header.get("authorization", "") for header in server.headers)
    assert [text for text in shown if KEY in text or KEY[:12] in text] == []


def test_errors_do_not_repeat_the_text(server: EmbeddingServer, hosted: Make) -> None:
    """Messages reach logs; content must not."""
    secret = "patient Rossi has a pacemaker since 2019"
    server.script = lambda number, body: Reply(
        400, {"error": {"message": f"cannot embed: {body['input'][0]}"}}
    )
    embedder = hosted("openai")
    with pytest.raises(ProviderRejected) as caught:
        embedder.endpoint.post({"input": [secret]}, most_bytes=1_000)
    assert "Rossi" not in str(caught.value)


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "naïve"])
def test_what_can_be_no_key_is_refused_before_it_is_sent(
    value: str, server: EmbeddingServer, hosted: Make
) -> None:
    """A header with a line break would be refused deep in the stack, with the key shown."""
    with pytest.raises(ProviderRejected, match="OPENAI_API_KEY holds characters") as caught:
        hosted("openai", environment={"OPENAI_API_KEY": value}).embed(["one"], kind="document")
    assert value not in str(caught.value)
    assert server.bodies == []


def test_a_service_of_ones_own_needs_no_key(server: EmbeddingServer, hosted: Make) -> None:
    """With base_url set and no key, no authorization header is sent."""
    hosted("openai", environment={}).embed(["one"], kind="document")
    assert "authorization" not in server.headers[-1]


def test_the_official_service_is_not_asked_without_a_key(hosted: Make) -> None:
    """The error comes before any connection is made."""
    with pytest.raises(ProviderRejected, match="needs an API key"):
        hosted("voyage", base_url=None, environment={}).embed(["one"], kind="document")


@pytest.mark.parametrize("url", ["ftp://host/v1", "host/v1", "https://me:pass@host/v1", ""])
def test_addresses_that_cannot_be_meant_are_refused(url: str, hosted: Make) -> None:
    """No scheme, another one, or a password in the address."""
    with pytest.raises(SettingsError, match="base_url") as caught:
        hosted("openai", base_url=url or "nothing")
    assert "pass@" not in str(caught.value)


def test_a_query_in_the_address_is_kept_and_not_shown(hosted: Make) -> None:
    """Azure wants api-version in the query; errors show the address without it."""
    endpoint: JsonEndpoint = hosted("openai", base_url="https://h/openai?api-version=7").endpoint
    assert endpoint.url == "https://h/openai/embeddings?api-version=7"
    assert endpoint.where == "https://h/openai/embeddings"


def test_two_threads_may_embed_at_once(server: EmbeddingServer, hosted: Make) -> None:
    """The web page and the sensor share an embedder: counts and vectors stay right."""
    embedder = hosted("openai")
    embedder.verify()
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        results[number] = embedder.embed([f"text {number}"] * 3, kind="document")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert embedder.usage.requests == 5
    for number, vectors in results.items():
        assert np.allclose(vectors, expected(server, [f"text {number}"] * 3), atol=1e-6)
