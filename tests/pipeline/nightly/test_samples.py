"""The bundled ledgers, copied where they can be worked on."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.errors import UsageError
from memory_assets.pipeline.nightly.samples import copy_samples
from memory_assets.pipeline.workspace import Workspace
from memory_assets.settings import load_settings
from tests.nights import NOW, tree


def test_the_copy_is_ready_for_a_night(tmp_path: Path) -> None:
    """Ledgers and tenants lie where one folder serves as home as well."""
    found = copy_samples(tmp_path / "new" / "trial")
    assert found.sessions == len(list(found.ledgers.glob("*/*.jsonl"))) > 10
    settings = load_settings(flags={"home": str(found.home), "ledgers": str(found.ledgers)})
    assert set(settings.tenants) == {p.name for p in found.ledgers.iterdir()}
    assert str(found.ledgers) in found.next_command


def test_every_sample_verdict_counts(tmp_path: Path) -> None:
    """The reviewers' file fits the sample ledgers: accepts, an edit, a decline and a defer."""
    found = copy_samples(tmp_path / "trial")
    workspace = Workspace.load(
        home=str(found.home), ledgers=str(found.ledgers), embedding="hashed:64"
    )
    workspace.ingest()
    workspace.decide()
    routes = workspace.assess(now=NOW)
    assert routes.refused_reviews == ()
    said = routes.routes["review_verdict"].drop_nulls().value_counts().rows()
    assert dict(said) == {"accept": 7, "decline": 1, "defer": 1}
    assert {a.origin for a in routes.accepted} == {"reviewed", "edited", "automatic"}


@pytest.mark.parametrize("name", ["ledgers", "tenants.toml", "review/decisions.jsonl"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    """One of them is there: nothing at all is copied."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(UsageError) as caught:
        copy_samples(tmp_path)
    assert caught.value.where == str(tmp_path / name)
    assert tree(tmp_path) == before
