"""The runbook answers for every error that the program can name."""

from __future__ import annotations

import re
from pathlib import Path

from memory_assets.cli.docs import commands, error_tree

RUNBOOK = Path(__file__).resolve().parents[2] / "docs" / "runbook.md"


def _errors() -> str:
    return RUNBOOK.read_text(encoding="utf-8").partition("\n# Nights")[0]


def _headings() -> list[str]:
    return re.findall(r"^## (\S+)$", _errors(), flags=re.MULTILINE)


def _sections() -> dict[str, str]:
    text = _errors()
    parts = re.split(r"^## (\S+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_error_has_one_section_and_no_section_is_about_nothing() -> None:
    """Who is called at night with a code finds what to do; and no advice outlives its error."""
    codes = [error.code for _, error in error_tree()]
    assert sorted(_headings()) == sorted(codes)


def test_each_section_says_something_to_do() -> None:
    """More than a heading."""
    assert all(len(text.split()) > 5 for text in _sections().values())


def test_the_commands_of_the_runbook_exist() -> None:
    """What is typed from here at night is not answered with "no such command"."""
    known = {path for path, _ in commands()}
    named = set(re.findall(r"`(memory-assets (?:[a-z-]+)(?: [a-z]+)?)", RUNBOOK.read_text("utf-8")))
    assert named
    for command in named:
        assert any(
            k == command or k.startswith(command + " ") or command.startswith(k + " ")
            for k in known
        ), command
