"""Hosted weights are recognised by their answer to a fixed probe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_assets.embedding.probes import CHECK_EVERY_SECONDS, PROBE_TEXT
from memory_assets.errors import SpaceMismatch

from .conftest import EmbeddingServer, Reply

Make = Callable[..., Any]


def test_it_is_asked_once_and_remembered(server: EmbeddingServer, hosted: Make) -> None:
    """A later run needs no request to know the space, so a night can start offline."""
    fingerprint = hosted("openai").fingerprint
    server.script = lambda number, body: Reply(500, {})
    assert hosted("openai").fingerprint == fingerprint
    assert len(server.bodies) == 1


def test_small_differences_are_the_same_weights(server: EmbeddingServer, hosted: Make) -> None:
    """Services answer a little differently from call to call."""
    fingerprint = hosted("openai").fingerprint
    server.noise = 0.01
    embedder = hosted("openai", base_url=server.url + "/")
    embedder.embed(["one"], kind="document")
    assert server.texts[-2:] == [PROBE_TEXT, "one"]
    assert embedder.fingerprint == fingerprint


def test_other_weights_under_the_same_name_are_refused(
    server: EmbeddingServer, hosted: Make
) -> None:
    """Equal name and dimension at another address: nothing is embedded."""
    first = hosted("openai").fingerprint
    server.weights = "other"
    embedder = hosted("openai", base_url=server.url + "/")
    with pytest.raises(SpaceMismatch, match="embedding migrate --to openai:some-model"):
        embedder.embed(["one"], kind="document")
    assert "one" not in server.texts
    assert embedder.accept_new_weights() != first
    assert embedder.embed(["one"], kind="document").shape == (1, server.dimension)


def test_weights_that_changed_since_the_last_run_are_noticed(
    server: EmbeddingServer, hosted: Make
) -> None:
    """However short ago that was: what a run embeds stays in an index."""
    hosted("openai").embed(["one"], kind="document")
    server.weights = "other"
    with pytest.raises(SpaceMismatch):
        hosted("openai").embed(["two"], kind="document")
    assert "two" not in server.texts


def test_a_run_compares_once_and_queries_take_the_last_word(
    server: EmbeddingServer, hosted: Make
) -> None:
    """One request more per run that fills an index; none per search."""
    hosted("openai").embed(["one"], kind="document")
    server.bodies.clear()
    hosted("openai").embed(["query"], kind="query")
    run = hosted("openai")
    for text in ("two", "three"):
        run.embed([text], kind="document")
    assert server.texts == ["query", PROBE_TEXT, "two", "three"]


def test_a_process_that_runs_for_days_compares_every_day(
    server: EmbeddingServer, hosted: Make
) -> None:
    """A server of searches meets new weights too."""
    embedder = hosted("openai")
    now = [1e9]
    embedder._wall_clock = lambda: now[0]
    embedder.embed(["one"], kind="query")
    server.weights = "other"
    embedder.embed(["two"], kind="query")
    now[0] += CHECK_EVERY_SECONDS + 1
    with pytest.raises(SpaceMismatch):
        embedder.embed(["three"], kind="query")


def test_a_damaged_record_is_asked_for_again(
    server: EmbeddingServer, hosted: Make, tmp_path: Any
) -> None:
    """The record is only a memory."""
    fingerprint = hosted("openai").fingerprint
    (record,) = (tmp_path / "cache" / "probes").iterdir()
    record.write_text("{", encoding="utf-8")
    assert hosted("openai").fingerprint == fingerprint
