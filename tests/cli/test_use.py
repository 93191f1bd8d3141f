"""``propose``, ``apply`` and ``feedback`` from the command line."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli

OPEN = "2026-02-16-degenza-media"


@pytest.fixture(name="ready")
def _ready(fresh: Cli) -> Cli:
    """The samples after a night that may be changed."""
    assert fresh("nightly", "--json").code == 0
    return fresh


def _first(cli: Cli) -> str:
    hits = cli("search", "ablazione", "--tenant", "clinica", "--json").json()
    return str(hits[0]["memory_id"])


def test_a_memory_is_proposed_and_applied(ready: Cli) -> None:
    """Each writes one row once; after the second the session's search leaves the memory out."""
    memory = _first(ready)
    where = ("--tenant", "clinica", "--session", OPEN)
    proposed = ready("propose", memory, *where, "--json").json()
    assert (proposed["written"], proposed["ref"]) == (True, "m:1")
    again = ready("propose", memory, *where)
    assert f"{memory} not proposed in {OPEN} (m:1): proposed already" in again.out
    applied = ready("apply", memory, *where, "--reviewer", "anna", "--json").json()
    assert (applied["written"], applied["ref"]) == (True, "m:2")
    assert "applied already" in ready("apply", memory, *where, "--reviewer", "anna").out
    hits = ready("search", "ablazione", *where, "--json").json()
    assert memory not in {h["memory_id"] for h in hits}


def test_an_agent_may_not_apply(ready: Cli) -> None:
    """The command refuses a reviewer that is an agent, by name."""
    done = ready(
        *("apply", _first(ready), "--tenant", "clinica", "--session", OPEN),
        *("--reviewer", "agent:planner", "--json"),
    )
    assert (done.code, done.json()["error"]) == (2, "access-denied")


def test_feedback_is_given_listed_and_reviewed(ready: Cli) -> None:
    """It stands in the review queue, from where a reviewer's verdict takes it off the list."""
    memory = _first(ready)
    clinic = ("--tenant", "clinica")
    given = ready("feedback", memory, *clinic, "--wrong", "the year is missing", "--json").json()
    assert "waits for a reviewer" in ready("feedback", memory, *clinic, "--useful", "yes").out
    listed = ready("feedback", *clinic, "--json").json()
    assert [(i["memory_ids"], i["label"]) for i in listed] == [
        ([memory], "feedback: wrong"),
        ([memory], "feedback: useful"),
    ]
    assert "the year is missing" in ready("feedback", *clinic).out
    queue = ready("review", "list", *clinic, "--label", "feedback", "--json").json()["items"]
    assert "the year is missing" in ready("review", "list", *clinic, "--label", "feedback").out
    assert [i["item_id"] for i in queue] == [i["item_id"] for i in listed]
    name = f"clinica/feedback:{memory}+{given['feedback_id']}"
    assert ready("review", "decline", name, "--reviewer", "anna").code == 0
    assert [i["label"] for i in ready("feedback", *clinic, "--json").json()] == ["feedback: useful"]
    both = ready("feedback", memory, *clinic, "--wrong", "a", "--useful", "b", "--json")
    assert (both.code, both.json()["error"]) == (2, "usage")
    assert ready("feedback", "--tenant", "banca").out.strip() == "No feedback waits."


def test_feedback_about_no_memory_is_refused(ready: Cli) -> None:
    """A reason without the memory that it is about is not swallowed by the list."""
    done = ready("feedback", "--tenant", "clinica", "--wrong", "the year is missing", "--json")
    assert (done.code, done.json()["error"]) == (2, "usage")
