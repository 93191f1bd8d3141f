"""``evaluate`` on the samples and on outside data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.pipeline.nightly.night import run_night
from memory_assets.pipeline.nightly.samples import copy_samples
from memory_assets.pipeline.workspace import Workspace
from tests.cli.conftest import Cli
from tests.nights import EMBEDDING, NOW


@pytest.fixture(scope="module", name="measured")
def _measured(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The samples after one night; measuring keeps the questions' vectors in the cache."""
    copy = copy_samples(tmp_path_factory.mktemp("measured") / "home")
    workspace = Workspace.load(home=str(copy.home), ledgers=str(copy.ledgers), embedding=EMBEDDING)
    run_night(workspace, now=NOW, run_id="first-night")
    return Cli(copy.home, copy.ledgers)


def test_what_the_ledgers_imply_is_measured_per_tenant(measured: Cli) -> None:
    """Figures per leg; without any implied question the command says so."""
    found = measured("evaluate", "--tenant", "banca", "--json").json()
    assert found["generation"] == 1
    assert {r["leg"] for r in found["rows"]} <= {"vector", "text", "hybrid"}
    said = measured("evaluate", "--tenant", "banca").out
    assert ("R@10" in said) == bool(found["rows"])


def test_outside_data_needs_no_home(tmp_path: Path) -> None:
    """Questions with texts are measured in a registry made for them."""
    path = tmp_path / "outside.jsonl"
    rows = [
        {"query": "a tube for the heart", "text": "the tube of the heart", "lang": "en"},
        {"query": "il reparto", "text": "il reparto di un ospedale", "lang": "it"},
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    cli = Cli(tmp_path / "none", tmp_path)
    found = cli("evaluate", str(path), "--json").json()
    assert found["questions"] == 2
    said = cli("evaluate", str(path)).out
    assert "hybrid" in said
    assert cli("evaluate", str(path), "--nl").lines()[0]["recall_at_10"] == 1.0


def test_labels_and_the_registry_need_a_tenant(measured: Cli, tmp_path: Path) -> None:
    """Without one nothing is read; an advisor sees no evaluation."""
    path = tmp_path / "labels.jsonl"
    path.write_text('{"query": "x", "relevant": ["mem-0001"]}\n')
    for arguments in ((), (str(path),)):
        done = measured("evaluate", *arguments, "--json")
        assert (done.code, done.json()["error"]) == (2, "unknown-tenant")
    done = measured("evaluate", "--tenant", "banca", "--persona", "advisor", "--json")
    assert done.json()["error"] == "access-denied"


def test_a_labelled_file_is_measured(measured: Cli, tmp_path: Path) -> None:
    """The file's questions against the tenant's memories."""
    hit = measured("search", "assets under management", "--tenant", "banca", "--json").json()[0]
    path = tmp_path / "labels.jsonl"
    label = {"query": "assets under management", "relevant": [hit["memory_id"]]}
    path.write_text(json.dumps(label) + "\n")
    found = measured("evaluate", str(path), "--tenant", "banca", "--json").json()
    hybrid = next(r for r in found["rows"] if r["leg"] == "hybrid")
    assert hybrid["recall_at_1"] == 1.0


def test_questions_that_cannot_be_answered_are_told_of(measured: Cli, tmp_path: Path) -> None:
    """A file that names unknown memories measures nothing, and says how many questions that are."""
    path = tmp_path / "labels.jsonl"
    path.write_text('{"query": "fees", "relevant": ["mem-9999"]}\n')
    told = " ".join(measured("evaluate", str(path), "--tenant", "banca").out.split())
    assert "1 questions left out: blank, or what they need is no active memory" in told


def test_texts_without_a_question_are_counted(tmp_path: Path) -> None:
    """No line of a file is passed over in silence; one that asks nothing at all is refused."""
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"query": "ablation", "text": "a procedure"}\n{"text": "of nothing"}\n')
    cli = Cli(tmp_path / "none", tmp_path)
    found = cli("evaluate", str(path), "--json").json()
    assert (found["questions"], found["unanswerable"]) == (1, 1)
    path.write_text('{"text": "of nothing"}\n')
    done = cli("evaluate", str(path), "--json")
    assert (done.code, done.json()["error"]) == (2, "usage")
