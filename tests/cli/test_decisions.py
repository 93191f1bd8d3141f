"""``decisions`` and ``preview`` on the samples."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memory_assets.errors import LedgerUnreadable
from tests.building import close, note, row
from tests.cli.conftest import Cli
from tests.nights import World

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
BIRD = Path(os.environ.get("MEMORY_ASSETS_TEST_DATA", BESIDE)) / "bird_ledgers"
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


def test_one_unreadable_ledger_does_not_hide_the_others(session: Cli) -> None:
    """Every other session keeps its line; the error is told beside them and sets the exit code."""
    readable = session("decisions", "--nl").lines()
    folder = next(session.ledgers.iterdir())
    for name in ("gone-1", "gone-2"):
        (folder / f"{name}.jsonl").symlink_to(folder / "nowhere.jsonl")
    found = session("decisions", "--nl")
    assert found.lines() == readable
    assert found.code == LedgerUnreadable.exit_code
    assert "2 ledgers cannot be read" in found.err


def test_the_table_counts(published: Cli) -> None:
    """People see numbers of decisions, and whether the session is closed."""
    said = published("decisions", "--tenant", "clinica").out
    assert "to_review" in said
    assert "clinica/2026-01-12-ablazioni     yes" in said


@pytest.fixture(name="session")
def _session(tmp_path: Path) -> Cli:
    """A session with three candidates, three refusals and a refused line."""
    world = World(tmp_path)
    world.session(
        "clinic",
        "s",
        row(1, subject="Elective", detail="planned ahead"),
        row(2),
        row(3),
        row(4, subject="dim_time", detail="the calendar"),
        row(5, subject="Done", detail="and marked"),
        row(6, "column_promoted", subject="ward"),
        note(7, "memory_promoted", "seq:5"),
        b"{]",
        close(9),
    )
    return Cli(world.home, world.ledgers)


def test_a_preview_shows_candidates_and_refusals(session: Cli) -> None:
    """The concept is offered; a table's name, a column choice and what was promoted are refused."""
    said = session("preview", "--session", "s").out
    assert "3 candidate(s)" in said
    assert "seq:1  Elective\nplanned ahead" in said
    refused = said[said.index("Refused (3)") :]
    for name in ("dim_time", "Done", "ward"):
        assert name in refused


def test_a_limit_pages_the_text_only(session: Cli) -> None:
    """Two of three are printed with the number of the rest; JSON always has all of them."""
    arguments = ("preview", "--session", "s", "--limit", "2")
    assert "and 1 more" in session(*arguments).out
    assert len(session(*arguments, "--json").json()["candidates"]) == 3


def test_a_refused_line_is_mentioned(session: Cli) -> None:
    """The session with the bad line says why a reviewer is needed."""
    said = session("preview", "--session", "s").out
    assert "could hide a withdrawal" in " ".join(said.split())


@pytest.mark.skipif(
    not (BIRD / "truth.jsonl").is_file(),
    reason="no bird_ledgers/truth.jsonl: set MEMORY_ASSETS_TEST_DATA to the data folder, or put it "
    "at ../shared/data beside the checkout",
)
def test_2500_real_sessions_amount_to_their_truth(tmp_path: Path) -> None:
    """``decisions --nl`` says of every session what the generator of the ledgers noted itself."""
    truth = [json.loads(line) for line in (BIRD / "truth.jsonl").read_text("utf-8").splitlines()]
    found = Cli(tmp_path / "home", BIRD)("decisions", "--nl").lines()
    wanted = {(t["tenant_id"], t["session_id"]): t for t in truth}
    assert {(f["tenant_id"], f["session_id"]): f for f in found} == wanted
