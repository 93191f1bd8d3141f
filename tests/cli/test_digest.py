"""``digest``: for people, as Markdown or HTML, on the screen or in a file."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli


def test_it_names_what_waits_and_what_conflicts(published: Cli) -> None:
    """The sections with their counts, and the ids to type."""
    said = published("digest", "--tenant", "clinica").out
    assert "## Waiting for a reviewer" in said
    assert "refines mem-0002" in said
    assert "clinica/2026-02-05-ablazioni-per-medico/seq:10" in said


def test_html_goes_to_a_file(published: Cli, tmp_path: Path) -> None:
    """One page that needs nothing from anywhere."""
    target = tmp_path / "digest.html"
    done = published("digest", "--tenant", "clinica", "--format", "html", "--output", str(target))
    assert done.code == 0
    page = target.read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "http" not in page.partition("<body>")[0]


def test_a_tenant_must_be_named(published: Cli) -> None:
    """A digest never mixes tenants."""
    assert published("digest").code == 2
