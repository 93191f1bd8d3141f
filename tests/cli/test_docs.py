"""The reference pages say what the program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.cli.docs import PAGES, commands, error_tree, write_pages
from memory_assets.settings import SETTINGS

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_is_up_to_date(name: str) -> None:
    """The page in the repository is what the program would write now."""
    found = (DOCS / name).read_text(encoding="utf-8")
    assert found == PAGES[name](), "run `python -m memory_assets.cli.docs docs`"


def test_every_command_and_option_is_documented() -> None:
    """Each has its place on the page of commands."""
    page = PAGES["cli.md"]()
    for path, command in commands():
        assert f"## {path}\n" in page
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.opts[0] in page, f"{path} {parameter.opts[0]}"
                assert parameter.help, f"{path} {parameter.opts[0]} says nothing"


def test_every_setting_is_documented() -> None:
    """Name, variable and meaning of each."""
    page = PAGES["settings.md"]()
    for setting in SETTINGS:
        assert f"| `{setting.name}` | `{setting.variable}` |" in page


def test_every_error_is_documented() -> None:
    """Each code with its exit code; a child is listed after its parent."""
    page = PAGES["errors.md"]()
    seen: set[str] = set()
    for parent, error in error_tree():
        assert f"| `{error.code}` |" in page
        assert parent is None or parent.code in seen
        assert error.code not in seen, "codes are unique"
        seen.add(error.code)


def test_pages_are_written_anew(tmp_path: Path) -> None:
    """What was there before is replaced."""
    (tmp_path / "cli.md").write_text("old")
    assert [p.name for p in write_pages(tmp_path)] == list(PAGES)
    assert (tmp_path / "cli.md").read_text(encoding="utf-8") == PAGES["cli.md"]()
