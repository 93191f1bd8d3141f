"""How results reach people and programs: tables for the one, JSON for the other."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from memory_assets.errors import MemoryAssetsError

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class View:
    """A command's result: the data for ``--json``, and how a person reads the same."""

    data: Any
    human: Callable[[Console], None]
    rows: Iterable[Mapping[str, Any]] | None = None
    """The rows of ``--nl``; None when the data itself is the list of rows."""
    failure: MemoryAssetsError | None = None
    """What went wrong although there is a result: told on stderr, and it sets the exit code."""
    exit_code: int = 0
    silent: bool = False
    """Nothing is printed: the command has spoken on stdout itself."""


def show(view: View, *, as_json: bool, as_lines: bool) -> None:
    """Prints a view: one JSON value, one JSON object per line, or text for people."""
    if view.silent:
        return
    if as_lines:
        for row in view.data if view.rows is None else view.rows:
            sys.stdout.write(_line(row))
    elif as_json:
        data = view.data if isinstance(view.data, Mapping) else list(view.data)
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")
    else:
        view.human(console())
    sys.stdout.flush()


def console(*, stderr: bool = False) -> Console:
    """A console without markup, so that no content can pose as formatting.

    Colours only on a terminal, and not when NO_COLOR is set; a pipe gets 80 columns unless COLUMNS
    says otherwise.
    """
    from rich.console import Console

    class Plain(Console):
        """Leaves a closed pipe to the one place that turns errors into exit codes."""

        def on_broken_pipe(self) -> None:
            """Called while the error is handled: raises it again."""
            raise  # noqa: PLE0704

    return Plain(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=False)


def table(*headers: str, right: Iterable[str] = ()) -> Table:
    """An empty table; columns named in ``right`` hold numbers and never wrap."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    numbers = set(right)
    for header in headers:
        number = header in numbers
        made.add_column(
            header,
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    return made


def text(value: object) -> str:
    """A value as a terminal may show it.

    Control characters, which could move the cursor or hide what follows, become visible escapes.
    """
    found = "" if value is None else str(value)
    return "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in found)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
