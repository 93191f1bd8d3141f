"""``search`` on the samples: for people, for scripts, and for nobody who may not."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli

QUESTION = "come si contano le ablazioni?"


def test_json_is_an_array_of_hits_best_first(published: Cli) -> None:
    """Each hit has id, subject, detail, score and the four scores."""
    hits = published("search", QUESTION, "--tenant", "clinica", "--json").json()
    assert isinstance(hits, list)
    assert [h["score"] for h in hits] == sorted((h["score"] for h in hits), reverse=True)
    assert {"memory_id", "subject", "detail", "score", "scores"} <= hits[0].keys()
    assert set(hits[0]["scores"]) == {"cosine", "text", "recency", "access"}
    assert "ablazion" in hits[0]["detail"].lower() + hits[0]["subject"].lower()


def test_lines_are_the_same_hits(published: Cli) -> None:
    """``--nl`` prints one hit a line; ``-k`` limits them."""
    hits = published("search", QUESTION, "--tenant", "clinica", "-k", "2", "--json").json()
    lines = published("search", QUESTION, "--tenant", "clinica", "-k", "2", "--nl").lines()
    assert [h["memory_id"] for h in lines] == [h["memory_id"] for h in hits]
    assert len(hits) == 2


def test_explain_shows_terms_weights_ranks_and_what_was_left_out(published: Cli) -> None:
    """The explanation of a session's search names what the session decided."""
    session = "2026-01-12-ablazioni"
    arguments = ("search", QUESTION, "--tenant", "clinica", "--session", session, "--explain")
    found = published(*arguments, "--json").json()
    assert found["weights"] == {"cosine": 0.55, "text": 0.25, "recency": 0.15, "access": 0.05}
    assert "decided-in-session" in {d["code"] for d in found["dropped"]}
    assert found["hits"][0]["ranks"].keys() == {"vector", "text", "recency", "access"}
    said = published(*arguments).out
    for part in ("Rank in each leg", "Left out", "score = 0.55", "generation 1"):
        assert part in said


def test_nothing_found_is_said(published: Cli) -> None:
    """A filter that nothing meets gives an empty array, and a sentence for people."""
    nobody = ("search", QUESTION, "--tenant", "clinica", "--client", "nobody")
    assert published(*nobody, "--json").json() == []
    assert "Nothing found" in published(*nobody).out
    explained = published(*nobody, "--explain").out
    assert "score =" in explained
    assert "Rank in each leg" not in explained


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "unknown-tenant"),
        (("--tenant", "nowhere"), "unknown-tenant"),
        (("--tenant", "clinica", "--persona", "client"), "access-denied"),
        (("--tenant", "clinica", "--persona", "nobody"), "access-denied"),
        (("--tenant", "clinica", "--session", "nowhere"), "unknown-session"),
        (("--tenant", "clinica", "--as-of", "yesterday"), "unknown-generation"),
        (("--tenant", "clinica", "--as-of", "99"), "unknown-generation"),
        (("--tenant", "clinica", "--as-of", "2001-01-01"), "unknown-generation"),
    ],
)
def test_what_may_not_be_searched_is_an_error_by_name(
    published: Cli, arguments: tuple[str, ...], code: str
) -> None:
    """No tenant, an unknown one, a client, no such session, no such generation."""
    done = published("search", QUESTION, *arguments, "--json")
    assert (done.code, done.json()["error"]) == (2, code)


def test_an_older_state_can_be_searched(published: Cli) -> None:
    """By its generation, or by a time."""
    now = published("search", QUESTION, "--tenant", "clinica", "--json").json()
    for as_of in ("1", "2030-01-01T00:00:00+01:00"):
        then = published("search", QUESTION, "--tenant", "clinica", "--as-of", as_of, "--json")
        assert [h["memory_id"] for h in then.json()] == [h["memory_id"] for h in now]


def test_a_persona_narrows_the_search(published: Cli) -> None:
    """An advisor of nobody finds the shared memories, and no more than the administrator."""
    question = ("search", "client", "--tenant", "banca", "-k", "100", "--json")
    everything = {h["memory_id"] for h in published(*question).json()}
    shared = published(*question, "--persona", "advisor", "--as-user", "nobody").json()
    assert {h["memory_id"] for h in shared} <= everything
    assert all(h["client_id"] is None or h["audience"] == "tenant" for h in shared)


def test_another_model_is_named(published: Cli) -> None:
    """A configured model that the index was not built with is an error that says what to run."""
    done = published.process(
        "search", QUESTION, "--tenant", "clinica", "--json", MEMORY_ASSETS_EMBEDDING="hashed:32"
    )
    assert (done.code, done.json()["error"]) == (7, "space-mismatch")
    assert "memory-assets nightly" in done.json()["remedy"]
