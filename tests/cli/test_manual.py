"""``registry add``: entered by hand, filtered and reviewed like everything else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory_assets.pipeline.nightly.night import run_night
from memory_assets.pipeline.workspace import Workspace
from tests.cli.conftest import Cli
from tests.nights import EMBEDDING, NOW

WORDS = ("--subject", "Anno clinico", "--detail", "Dal primo settembre", "--reviewer", "anna")


def _night(cli: Cli, minute: int) -> Workspace:
    workspace = Workspace.load(home=str(cli.home), ledgers=str(cli.ledgers), embedding=EMBEDDING)
    run_night(workspace, now=NOW + timedelta(days=3650, minutes=minute), run_id=f"n{minute}")
    return workspace


def test_an_entry_waits_for_review_and_keeps_its_origin(fresh: Cli) -> None:
    """It is a small finished session; once accepted, its memory says manual."""
    made = fresh("registry", "add", "--tenant", "clinica", *WORDS, "--json").json()
    _night(fresh, 1)
    assert fresh("review", "accept", made["item_id"], "--reviewer", "marco").code == 0
    view = _night(fresh, 2).registry()
    (memory,) = view.memories.filter(session_id=made["session_id"]).to_dicts()
    assert (memory["origin"], memory["verdict_by"]) == ("manual", "reviewer marco")


def test_a_long_entry_is_listed_by_its_beginning(fresh: Cli) -> None:
    """One text fills no terminal; the item itself is shown whole."""
    words = ("--subject", "Anno clinico", "--detail", "giorno " * 1_000, "--reviewer", "anna")
    made = fresh("registry", "add", "--tenant", "clinica", *words, "--json").json()
    _night(fresh, 1)
    listed = fresh("review", "list", "--session", made["session_id"]).out
    assert listed.count("giorno") < 200
    assert fresh("review", "show", made["item_id"]).out.count("giorno") >= 1_000


def test_an_automatic_tenant_publishes_it_by_its_policy(fresh: Cli) -> None:
    """The same policy as for sessions, and still the origin manual."""
    made = fresh("registry", "add", "--tenant", "banca", *WORDS, "--json").json()
    view = _night(fresh, 1).registry()
    (memory,) = view.memories.filter(session_id=made["session_id"]).to_dicts()
    assert (memory["origin"], memory["verdict_by"]) == ("manual", "policy")


@pytest.mark.parametrize("option", ["--subject", "--rationale", "--concept", "--reviewer"])
def test_bytes_that_are_no_text_are_named(fresh: Cli, option: str) -> None:
    """An argument in another encoding is told with its option, and leaves no empty session."""
    before = sorted(p.name for p in fresh.ledgers.rglob("*"))
    done = fresh("registry", "add", "--tenant", "clinica", *WORDS, option, "caf\udce9")
    assert (done.code, f"{option[2:]} is not UTF-8 text" in done.err) == (2, True)
    assert sorted(p.name for p in fresh.ledgers.rglob("*")) == before


def test_what_is_no_memory_is_not_entered(fresh: Cli) -> None:
    """A bare schema name, an empty text, an agent, an unknown tenant or nobody in particular."""
    before = sorted(p.name for p in fresh.ledgers.rglob("*"))
    for arguments in (
        ("--tenant", "clinica", "--subject", "dim_time", "--detail", "x", "--reviewer", "anna"),
        ("--tenant", "clinica", "--subject", " ", "--detail", "x", "--reviewer", "anna"),
        ("--tenant", "clinica", "--subject", "a", "--detail", "b", "--reviewer", "agent:x"),
        ("--tenant", "nowhere", *WORDS),
        ("--tenant", "clinica", *WORDS, "--audience", "user", "--client", "c1"),
        ("--tenant", "clinica", *WORDS, "--audience", "profile", "--user", "u1"),
    ):
        assert fresh("registry", "add", *arguments).code == 2
    assert sorted(p.name for p in fresh.ledgers.rglob("*")) == before
