"""How values reach a terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from memory_assets.cli.output import View, console, show, table, text


@given(st.text())
def test_no_control_character_reaches_the_terminal(value: str) -> None:
    """Content can move no cursor, hide no text and ring no bell; line feeds and tabs may stay."""
    assert all(c.isprintable() or c in "\n\t" for c in text(value))


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], codec="utf-8")))
def test_what_is_printable_stays_as_it_is(value: str) -> None:
    """Letters of any script, figures, signs and spaces are shown unchanged."""
    if value.isprintable():
        assert text(value) == value


def test_escapes_can_be_read() -> None:
    """An escape sequence and a right-to-left override are shown as what they are."""
    assert text("a\x1b[31mb") == "a\\x1b[31mb"
    assert text("a\u202eb") == "a\\u202eb"
    assert text(None) == ""


def test_content_is_never_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """Brackets in a definition are brackets, in a line and in a table."""
    out = console()
    out.print("[bold]x[/bold] :smile:")
    rows = table("a")
    rows.add_row("[red]y[/red]")
    out.print(rows)
    said = capsys.readouterr().out
    assert "[bold]x[/bold] :smile:" in said
    assert "[red]y[/red]" in said


def test_numbers_never_wrap() -> None:
    """A narrow terminal breaks the words, not the figures."""
    rows = table("count", "note", right=["count"])
    rows.add_row("1,234,567", "some words that are too long for the width")
    printed = io.StringIO()
    Console(file=printed, width=24).print(rows)
    assert "1,234,567" in printed.getvalue()


def test_a_view_that_has_spoken_itself_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A server that owns stdout adds no JSON value at its end."""
    for as_json in (True, False):
        show(View(None, lambda out: out.print("no"), silent=True), as_json=as_json, as_lines=False)
    assert capsys.readouterr().out == ""


def test_accents_are_written_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON keeps Italian readable."""
    show(View({"subject": "qualità"}, lambda out: None), as_json=True, as_lines=False)
    assert "qualità" in capsys.readouterr().out
