"""The commands of ``memory-assets merge``, as people and scripts call them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from memory_assets.cli import merge
from tests.merging import TENANT, MergeWorld

PAIR = [
    ("Late order", "An order with flag_late = TRUE that lasts more than 24 hours"),
    ("Late order", "Order with flag_late = TRUE and that lasts over 24 hours"),
]


@pytest.fixture
def world(tmp_path: Path) -> MergeWorld:
    """A home with two definitions that say the same."""
    made = MergeWorld(tmp_path)
    made.add(PAIR)
    return made


def call(world: MergeWorld, *args: str) -> Result:
    """One invocation."""
    app = typer.Typer()
    app.callback()(lambda: None)
    merge.register(app)
    return CliRunner().invoke(app, ["merge", *args, "--home", str(world.home)])


def data(world: MergeWorld, *args: str) -> dict[str, Any]:
    """The JSON that a command prints."""
    result = call(world, *args, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_plan_accept_explain_undo(world: MergeWorld) -> None:
    """The whole way from a proposal to a merge and back."""
    planned = data(world, "plan", "--tenant", TENANT)
    (proposal,) = planned["proposals"]
    assert (proposal["kind"], proposal["route"]) == ("same", "review")
    accepted = data(
        world, "apply", "--tenant", TENANT, "--accept", proposal["proposal_id"],
        "--reviewer", "rosa", "--reason", "one thing",
    )  # fmt: skip
    (row,) = accepted["supersessions"]
    assert (accepted["reviewed_pairs"], len(accepted["intents"])) == (1, 1)
    world.night()
    a, b = row["memory_id"], row["superseded_by"]
    explained = data(world, "explain", a, b, "--tenant", TENANT)
    assert explained["supersessions"][0]["superseded_by"] == b
    assert explained["reviewed"]["reason"] == "one thing"
    undone = data(world, "undo", a, b, "--tenant", TENANT, "--reviewer", "rosa")
    assert undone["supersessions"][0]["retracted"] is True
    world.night()
    assert set(world.status().values()) == {"active"}
    assert data(world, "plan", "--tenant", TENANT)["proposals"] == []


def test_apply_without_evidence_does_nothing(world: MergeWorld) -> None:
    """Nothing has been earned, so nothing is merged."""
    data(world, "plan", "--tenant", TENANT)
    assert data(world, "apply", "--tenant", TENANT)["supersessions"] == []
    assert "Nothing to do" in call(world, "apply", "--tenant", TENANT).stdout


def test_a_verdict_that_cannot_be_read_is_named(world: MergeWorld) -> None:
    """A plan says which lines of the reviewed pairs are none, in both forms."""
    log = world.home / "review" / "pairs.jsonl"
    log.parent.mkdir(exist_ok=True)
    log.write_text("no verdict\n")
    assert data(world, "plan", "--tenant", TENANT)["unreadable_verdicts"] == [1]
    shown = " ".join(call(world, "plan", "--tenant", TENANT).stdout.split())
    assert "Lines 1 of review/pairs.jsonl cannot be read" in shown


def test_decline_is_a_verdict(world: MergeWorld) -> None:
    """A declined proposal is remembered."""
    (proposal,) = data(world, "plan", "--tenant", TENANT)["proposals"]
    found = data(
        world, "apply", "--tenant", TENANT, "--decline", proposal["proposal_id"],
        "--reviewer", "rosa",
    )  # fmt: skip
    assert (found["reviewed_pairs"], found["supersessions"]) == (1, [])
    assert data(world, "plan", "--tenant", TENANT, "--new-only")["remembered_as_different"] == 1


def test_people_see_members_reasons_and_what_to_do(world: MergeWorld) -> None:
    """The text form names memories, cosines and the state of automation."""
    shown = call(world, "plan", "--tenant", TENANT).stdout
    assert "mem-0001" in shown
    assert "(stays)" in shown
    assert "nothing merges by itself yet" in " ".join(shown.split())
    explained = call(world, "explain", "mem-0001", "mem-0002", "--tenant", TENANT).stdout
    assert "cosine" in explained
    assert "→ review" in explained


def test_the_report_is_a_file(world: MergeWorld, tmp_path: Path) -> None:
    """The page goes where --out says."""
    data(world, "plan", "--tenant", TENANT)
    page = tmp_path / "page.html"
    found = data(world, "report", "--tenant", TENANT, "--out", str(page))
    assert found["bytes"] == page.stat().st_size
    assert page.read_text("utf-8").startswith("<!doctype html>")
    nowhere = str(tmp_path / "none" / "page.html")
    assert call(world, "report", "--tenant", TENANT, "--out", nowhere).exit_code == 4


def test_evaluate_prints_tables_and_json(world: MergeWorld, tmp_path: Path) -> None:
    """A labelled file gives the routing in both forms."""
    path = tmp_path / "pairs.jsonl"
    lines = [
        {"a": "within 3 days", "b": "within 4 days", "same": False, "kind": "number"},
        {"a": "Within 3 days.", "b": "within 3 days", "same": True, "kind": "surface"},
    ]
    path.write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    found = data(world, "evaluate", str(path))
    assert found["routing"]["auto"] == {"same": 1, "different": 0}
    assert found["routing"]["ignored"] == {"same": 0, "different": 1}
    shown = call(world, "evaluate", str(path)).stdout
    assert "number" in shown
    assert "0.92" in shown


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("plan",), "unknown-tenant"),
        (("plan", "--tenant", "nobody"), "unknown-tenant"),
        (("explain", "mem-0001", "mem-9999", "--tenant", TENANT), "unknown-memory"),
        (("undo", "mem-0001", "mem-0002", "--tenant", TENANT, "--reviewer", "r"), "usage"),
        (("apply", "--tenant", TENANT, "--accept", "x", "--decline", "y"), "usage"),
        (("apply", "--tenant", TENANT, "--accept", "mp-x", "--reviewer", "rosa"), "usage"),
        (("apply", "--tenant", TENANT, "--accept", "", "--reviewer", "rosa"), "usage"),
        (("apply", "--tenant", TENANT, "--decline", "", "--reviewer", "rosa"), "usage"),
        (("explain", "mem-0001", "mem-0001", "--tenant", TENANT), "usage"),
        (("evaluate", "nowhere.jsonl"), "usage"),
    ],
)
def test_mistakes_are_named(world: MergeWorld, args: Sequence[str], code: str) -> None:
    """Each with its code and the exit code of its branch."""
    result = call(world, *args, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"] == code
