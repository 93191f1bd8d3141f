"""Progress bars on stderr for work that takes a while; silent when nobody is watching."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memory_assets.cli.output import console


@contextmanager
def bars() -> Iterator[Callable[[str, int, int], None]]:
    """A callback (what, done, total) with one bar per kind of work; they vanish at the end."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as shown:
        tasks: dict[str, TaskID] = {}

        def told(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=total)
            shown.update(tasks[what], completed=done, total=total)

        yield told


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """Shows that work whose length is not known goes on; vanishes at the end."""
    if not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(what):
        yield
