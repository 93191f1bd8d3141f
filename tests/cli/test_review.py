"""``review`` on the samples: list, item, verdicts, walk, and lines that do not count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memory_assets.cli.app import build
from memory_assets.errors import AccessDenied
from memory_assets.pipeline.nightly.night import run_night
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.review_log import append_lines
from tests.cli.conftest import Cli, Outcome
from tests.nights import EMBEDDING, NOW

SESSION = "clinica/2026-02-05-ablazioni-per-medico"


@pytest.fixture(name="desk")
def _desk(fresh: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The samples after one night, and a reviewer named by the environment."""
    monkeypatch.setenv("MEMORY_ASSETS_REVIEWER", "anna")
    workspace = Workspace.load(
        home=str(fresh.home), ledgers=str(fresh.ledgers), embedding=EMBEDDING
    )
    run_night(workspace, now=NOW, run_id="first")
    return fresh


def _walk(desk: Cli, keys: str, *arguments: str) -> Outcome:
    command = ["review", "--tenant", "clinica", *arguments]
    done = CliRunner().invoke(build(), command, env=desk.environment, input=keys)
    return Outcome(done.exit_code, done.stdout, done.stderr)


def test_the_list_shows_labels_and_is_never_capped(published: Cli) -> None:
    """Every waiting item, with what it is to the registry; text may be limited, JSON is not."""
    found = published("review", "list", "--json").json()
    assert len(found["items"]) == found["waiting"] > 10
    labels = {item["item_id"]: item["label"] for item in found["items"]}
    assert labels[f"{SESSION}/seq:9"] == "duplicate of mem-0001"
    assert labels[f"{SESSION}/seq:10"] == "refines mem-0002"
    assert {item["tenant_id"] for item in found["items"]} == {"clinica"}
    said = published("review", "list", "--limit", "2").out
    assert f"and {found['waiting'] - 2} more" in said


def test_an_empty_reviewer_is_nobody(published: Cli) -> None:
    """A variable of a script that was never set does not decide as the user of the machine."""
    refused = published("review", "accept", f"{SESSION}/seq:9", "--reviewer", "")
    assert refused.code == AccessDenied.exit_code
    assert "no reviewer is named" in refused.err.lower()


def test_filters_narrow_the_list(published: Cli) -> None:
    """By session, label, state and age."""
    session = SESSION.partition("/")[2]
    one = published("review", "list", "--session", session, "--label", "refines", "--nl").lines()
    assert [item["ref"] for item in one] == ["seq:10"]
    later = published("review", "list", "--state", "deferred", "--nl").lines()
    assert [item["reviewer"] for item in later] == ["anna.rossi"]
    assert published("review", "list", "--older-than", "36500", "--nl").lines() == []


def test_an_item_is_shown_with_what_differs(published: Cli) -> None:
    """Question, rationale, nearest memories, cosines, and the tokens on one side only."""
    found = published("review", "show", f"{SESSION}/seq:10", "--json").json()
    near = {n["memory_id"]: n for n in found["neighbours"]}["mem-0002"]
    assert near["relation"] == "different"
    assert [(v["guard"], v["only_a"], v["only_b"]) for v in near["verdicts"]] == [
        ("numbers", ["60"], ["90"])
    ]
    assert near["cosine"] > 0.5
    assert found["question_context"]
    said = published("review", "show", f"{SESSION}/seq:10").out
    assert "numbers: 60 | 90" in said


def test_verdicts_from_the_command_line(desk: Cli) -> None:
    """Ids, a range, a whole session, an edit, a reason; each line under the reviewer's name."""
    assert desk("review", "accept", f"{SESSION}/seq:1-2").code == 0
    assert desk("review", "decline", "seq:9", "--tenant", "clinica", "--session", SESSION[8:],
                "--reason", "repeated").code == 0  # fmt: skip
    edited = desk("review", "accept", f"{SESSION}/seq:10", "--detail", "Entro 60 giorni", "--json")
    assert edited.json()["recorded"][0]["edited"]["subject"] == "Procedura ripetuta"
    whole = desk("review", "defer", "--all-from-session", "clinica/2026-02-09-archivio-storico")
    assert whole.code == 0
    lines = [
        json.loads(line)
        for line in (desk.home / "review" / "decisions.jsonl").read_text().splitlines()
    ]
    mine = [line for line in lines if line["reviewer"] == "anna"]
    assert [line["verdict"] for line in mine[:4]] == ["accept", "accept", "decline", "accept"]
    assert mine[2]["reason"] == "repeated"


def test_a_refused_verdict_is_told_and_sets_the_exit_code(desk: Cli) -> None:
    """The other verdicts of the same command are on record."""
    done = desk("review", "accept", f"{SESSION}/seq:1", f"{SESSION}/seq:99", "--json")
    assert done.code == 2
    found = json.loads(done.out[: done.out.rindex("}") + 1])
    assert [r["code"] for r in found["refused"]] == ["unknown-item"]
    assert len(found["recorded"]) == 1
    assert "review-refused" in done.err


@pytest.mark.parametrize("name", ["agent:planner", "Bot"])
def test_an_agent_is_turned_away(desk: Cli, name: str) -> None:
    """Before anything is read or written, whatever the command."""
    for command in (["accept", f"{SESSION}/seq:1"], ["undo"], ["serve", "--tenant", "clinica"]):
        done = desk("review", *command, "--reviewer", name)
        assert done.code == 2
        assert "is no reviewer" in done.err


def test_undo_and_reopen_take_back(desk: Cli) -> None:
    """The last verdict, or a named one: the item waits again."""
    before = desk("review", "list", "--json").json()["waiting"]
    desk("review", "accept", f"{SESSION}/seq:1")
    desk("review", "decline", f"{SESSION}/seq:2")
    assert desk("review", "undo", "--json").json()["recorded"][0]["item_id"] == f"{SESSION}/seq:2"
    assert desk("review", "reopen", f"{SESSION}/seq:1").code == 0
    assert desk("review", "list", "--json").json()["waiting"] == before


def test_the_walk_goes_through_everything_with_single_keys(desk: Cli) -> None:
    """Accept, decline, undo, later, next, quit: each on record at once, and summed up."""
    done = _walk(desk, "adu?lnq")
    assert done.code == 0
    assert "1 accept, 1 defer; 0 refused;" in done.out
    assert "Taken back." in done.out
    waiting = desk("review", "list", "--json").json()
    assert [i["state"] for i in waiting["items"]].count("deferred") == 2


def test_the_walk_edits_and_names_duplicates(desk: Cli) -> None:
    """``e`` asks for the wording, ``m`` for the memory; the end of input is a quit."""
    done = _walk(desk, "e\nNew subject\nNew detail\nm\nmem-0001\n", "--session", SESSION[8:])
    assert "1 accept, 1 duplicate of" in done.out
    last = (desk.home / "review" / "decisions.jsonl").read_text().splitlines()[-2:]
    assert json.loads(last[0])["edited"] == {
        "subject": "New subject",
        "detail": "New detail",
        "rationale": json.loads(last[0])["edited"]["rationale"],
    }
    assert json.loads(last[1])["memory_id"] == "mem-0001"


def test_lines_that_do_not_count_are_listed(desk: Cli) -> None:
    """With their line, reason and text; the sound ones are not."""
    append_lines(desk.home / "review" / "decisions.jsonl", [b"{oops}"])
    found = desk("review", "refused", "--json").json()
    assert [(r["code"], r["raw"]) for r in found["refused"]] == [("bad-line", "{oops}")]
    assert "{oops}" in desk("review", "refused").out


def test_a_token_is_shown_once_and_never_kept(desk: Cli, tmp_path: Path) -> None:
    """The file next to the home holds its hash; an unknown tenant is refused."""
    made = desk("review", "token", "marco", "--tenant", "clinica", "--json").json()
    assert made["token"] not in Path(made["file"]).read_text()
    assert desk("review", "token", "marco", "--tenant", "nowhere").code == 2
    assert desk("review", "token", "agent:x", "--tenant", "clinica").code == 2


def test_a_public_address_is_refused_without_reviewers(desk: Cli) -> None:
    """Nothing listens: the message says how to make a token."""
    done = desk("review", "serve", "--host", "0.0.0.0", "--tenant", "clinica")
    assert done.code == 2
    assert "review token" in done.err
