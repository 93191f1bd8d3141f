"""``decisions`` and ``preview`` on the samples."""

from __future__ import annotations

from tests.cli.conftest import Cli

LINE = {"tenant_id", "session_id", "closed", "in_force", "promoted", "declined", "to_review"}


def test_a_line_per_session(published: Cli) -> None:
    """Every ledger has its line, open ones too, in the order of tenant and session."""
    lines = published("decisions", "--nl").lines()
    ledgers = [p for p in published.ledgers.glob("*/*.jsonl") if ".markers." not in p.name]
    assert len(lines) == len(ledgers)
    assert all(set(line) == LINE for line in lines)
    keys = [(line["tenant_id"], line["session_id"]) for line in lines]
    assert keys == sorted(keys)
    assert {line["closed"] for line in lines} == {True, False}


def test_lines_can_be_narrowed(published: Cli) -> None:
    """To a tenant, to a session, to both."""
    one = published("decisions", "--session", "2026-01-13-aum", "--nl").lines()
    assert [line["tenant_id"] for line in one] == ["banca"]
    clinic = published("decisions", "--tenant", "clinica", "--nl").lines()
    assert {line["tenant_id"] for line in clinic} == {"clinica"}
    neither = published("decisions", "--tenant", "clinica", "--session", "2026-01-13-aum")
    assert neither.code == 2


def test_the_table_counts(published: Cli) -> None:
    """People see numbers of decisions, and whether the session is closed."""
    said = published("decisions", "--tenant", "clinica").out
    assert "to_review" in said
    assert "clinica/2026-01-12-ablazioni     yes" in said


def test_a_preview_shows_candidates_and_refusals(published: Cli) -> None:
    """The flag is offered; table names, choices and what was promoted are refused."""
    said = published("preview", "--session", "2026-01-14-cardioversioni").out
    assert "1 candidate(s)" in said
    assert "Programmata" in said
    refused = said[said.index("Refused") :]
    for name in ("fact_cardioversione", "dim_time", "elettiva", "Cardioversione elettrica"):
        assert name in refused


def test_a_limit_pages_the_text_only(published: Cli) -> None:
    """Two of eight are printed with the number of the rest; JSON always has all of them."""
    arguments = ("preview", "--session", "2026-02-02-scompenso", "--limit", "2")
    assert "and 6 more" in published(*arguments).out
    assert len(published(*arguments, "--json").json()["candidates"]) == 8


def test_a_refused_line_is_mentioned(published: Cli) -> None:
    """The session with the bad line says why a reviewer is needed."""
    said = published("preview", "--session", "2026-02-11-impianti").out
    assert "could hide a withdrawal" in " ".join(said.split())
