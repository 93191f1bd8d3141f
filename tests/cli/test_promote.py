"""``promote`` and ``save-one``: the same meaning as where people come from."""

from __future__ import annotations

import json

from tests.cli.conftest import Cli

SESSION = ("--session", "2026-02-02-scompenso", "--reviewer", "anna")


def _accepted(cli: Cli) -> list[int]:
    lines = (cli.home / "review" / "decisions.jsonl").read_text().splitlines()
    return [r["decision_seq"] for r in map(json.loads, lines) if r["reviewer"] == "anna"]


def test_the_preview_writes_nothing_and_has_no_cap(fresh: Cli) -> None:
    """All eight candidates, in the shape that ``preview`` prints."""
    found = fresh("promote", *SESSION, "--preview", "--json").json()
    assert [c["decision_seq"] for c in found["candidates"]] == list(range(1, 9))
    assert found == fresh("preview", "--session", SESSION[1], "--json").json()
    assert _accepted(fresh) == []


def test_one_is_saved_if_the_preview_offers_it(fresh: Cli) -> None:
    """Works before any night has read the session; a table choice is refused with its reason."""
    saved = fresh("save-one", *SESSION, "--seq", "7", "--json").json()
    assert [(r["seq"], r["memory_id"]) for r in saved["saved"]] == [(7, None)]
    done = fresh("save-one", *SESSION, "--seq", "9")
    assert done.code == 2
    assert "table_promoted is local to its question" in done.err
    assert _accepted(fresh) == [7]


def test_a_whole_session_is_promoted_and_published(fresh: Cli) -> None:
    """With --publish the night runs at once and the ids of the memories are told."""
    saved = fresh("promote", *SESSION, "--publish", "--json").json()["saved"]
    assert len(saved) == 8
    assert all(r["memory_id"].startswith("mem-") for r in saved)
    again = fresh("promote", *SESSION, "--json").json()
    assert again["saved"] == []


def test_an_agent_promotes_nothing(fresh: Cli) -> None:
    """Direct commands are no way round the review."""
    for command in (["promote"], ["save-one", "--seq", "1"]):
        done = fresh(*command, "--session", SESSION[1], "--reviewer", "agent:gate")
        assert done.code == 2
    assert _accepted(fresh) == []
