"""The command that undoes a wrong match."""

from __future__ import annotations

from tests.cli.conftest import Cli


def test_what_corroborates_nothing_cannot_be_detached(published: Cli) -> None:
    """The message says where to look; nothing is written."""
    found = published("detach", "banca/none/seq:1", "--by", "anna")
    assert found.code == 2
    assert "corroborates no memory" in found.err
    assert published("detach", "banca/none/seq:1-3", "--by", "anna").code == 2
