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
    """With --publish the night runs at once and the ids of the memories are told.

    One of the eight was declined in the review file of the samples.
    """
    done = fresh("promote", *SESSION, "--publish", "--json").json()
    assert [r["code"] for r in done["refused"]] == ["declined"]
    assert len(done["saved"]) == 7
    assert all(r["memory_id"].startswith("mem-") for r in done["saved"])
    again = fresh("promote", *SESSION, "--json").json()
    assert again["saved"] == []


def test_what_somebody_declined_is_promoted_by_name_only(fresh: Cli) -> None:
    """The whole session leaves a colleague's decline alone, and says so; ``save-one`` reverses."""
    fresh("nightly")
    item = "clinica/2026-02-02-scompenso/seq:7"
    fresh("review", "decline", item, "--reviewer", "luca", "--reason", "too vague")
    done = fresh("promote", *SESSION)
    assert "refused  clinica/2026-02-02-scompenso/seq:7  declined: luca declined it" in done.out
    assert "too vague" in done.out
    assert 7 not in _accepted(fresh)
    assert "luca declined it; that is replaced" in fresh("save-one", *SESSION, "--seq", "7").out
    assert 7 in _accepted(fresh)


def test_what_is_accepted_already_stays_as_it_was(fresh: Cli) -> None:
    """A colleague's wording is not replaced by the original; it is still among the saved."""
    fresh("nightly")
    item = "clinica/2026-02-02-scompenso/seq:7"
    fresh("review", "accept", item, "--subject", "Referring doctor", "--reviewer", "luca")
    saved = fresh("promote", *SESSION, "--json").json()["saved"]
    assert 7 in [row["seq"] for row in saved]
    assert 7 not in _accepted(fresh)


def test_an_open_session_promises_no_publication(fresh: Cli) -> None:
    """What is accepted of it waits until it is finished, and that is said."""
    done = fresh("promote", "--session", "2026-02-16-degenza-media", "--reviewer", "anna")
    assert "applied once it is finished" in done.out
    assert "The next run publishes" not in done.out


def test_personal_data_that_is_left_out_is_told(fresh: Cli) -> None:
    """A session that offers it alone does not offer nothing."""
    content = ("--subject", "Account", "--detail", "IT60X0542811101000000123456")
    added = fresh("registry", "add", "--tenant", "clinica", *content, "--json").json()
    done = fresh("promote", "--session", added["session_id"], "--reviewer", "anna")
    assert "personal-data: it holds personal data (IBAN)" in done.out
    assert "offers nothing" not in done.out


def test_the_preview_covers_personal_data_until_its_row_is_opened(fresh: Cli) -> None:
    """The refusal names the way to it, and that way shows the text."""
    account = "IT60X0542811101000000123456"
    content = ("--subject", "Account", "--detail", account)
    session = fresh("registry", "add", "--tenant", "clinica", *content, "--json").json()[
        "session_id"
    ]
    listed = fresh("preview", "--session", session).out
    assert "[personal data: IBAN]  Account" in listed
    assert account not in listed
    done = fresh("promote", "--session", session, "--reviewer", "anna")
    assert "`preview --seq 1`" in done.out
    assert account in fresh("preview", "--session", session, "--seq", "1").out


def test_an_agent_promotes_nothing(fresh: Cli) -> None:
    """Direct commands are no way round the review."""
    for command in (["promote"], ["save-one", "--seq", "1"]):
        done = fresh(*command, "--session", SESSION[1], "--reviewer", "agent:gate")
        assert done.code == 2
    assert _accepted(fresh) == []
