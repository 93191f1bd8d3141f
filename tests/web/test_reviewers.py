"""The reviewers' file: tokens kept as hashes, and everything that can be wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_assets.errors import SettingsError
from memory_assets.web.reviewers import ReviewersFile, new_token, token_hash


def test_the_file_holds_no_token(tmp_path: Path) -> None:
    """Only hashes are kept, for this user's eyes alone, and each token opens its own name."""
    path = tmp_path / "reviewers.toml"
    anna = new_token(path, "anna", tenants=["clinic", "bank"])
    odd = new_token(path, 'o"dd\\ name', tenants=["clinic"], persona="ADVISOR", clients=["c 1"])
    text = path.read_text("utf-8")
    assert anna not in text
    assert token_hash(anna) in text
    assert os.stat(path).st_mode & 0o077 == 0
    file = ReviewersFile(path)
    found = file.with_token(anna)
    assert found is not None
    assert (found.name, found.tenants) == ("anna", ["bank", "clinic"])
    other = file.with_token(odd)
    assert other is not None
    assert (other.name, other.principal.clients) == ('o"dd\\ name', frozenset({"c 1"}))
    assert file.with_token("guess") is None
    assert file.with_token("") is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("reviewers = 3", "must be tables"),
        ("[reviewers.anna]\n", "names no tenant"),
        ('[reviewers."agent:x"]\ntenants = ["a"]\n', "is no reviewer"),
        ('[reviewers.anna]\ntenants = "a"\n', "must be a list"),
        ('[reviewers.anna]\ntenants = ["a"]\npersona = "CLIENT"\n', "does not review"),
        ('[reviewers.anna]\ntenants = ["a"]\ntoken_sha256 = "x"\n', "not a SHA-256"),
        ('[reviewers.anna]\ntenants = ["a"]\ncolour = "x"\n', "is not known"),
        ('[reviewers.anna]\ntenants = ["a", "b"]\npersona = "ADVISOR"\n', "one tenant only"),
        ("[reviewers", "Cannot read"),
    ],
)
def test_a_file_that_is_not_sound_lets_nobody_in(tmp_path: Path, text: str, what: str) -> None:
    """Each fault is named; nothing is guessed."""
    path = tmp_path / "reviewers.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=what):
        ReviewersFile(path).all()


def test_a_missing_file_has_nobody_in_it(tmp_path: Path) -> None:
    """And a file that appears is read at once."""
    file = ReviewersFile(tmp_path / "reviewers.toml")
    assert file.all() == {}
    new_token(file.path, "anna", tenants=["clinic"])
    assert set(file.all()) == {"anna"}
