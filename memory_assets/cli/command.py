"""How a function becomes a command: common options, output and errors are added in one place."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memory_assets.cli.failures import guarded, tell
from memory_assets.cli.output import View, show
from memory_assets.errors import UsageError

if TYPE_CHECKING:
    from memory_assets.pipeline.workspace import Workspace

HOME_VARIABLE: Final = "MEMORY_ASSETS_HOME"
LEDGERS_VARIABLE: Final = "MEMORY_ASSETS_LEDGERS"
Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        envvar=HOME_VARIABLE,
        metavar="DIR",
        show_default=".home in the working folder",
        help="Folder of the registry, the index and all derived data.",
    ),
]
Ledgers = Annotated[
    Path | None,
    typer.Option(
        "--ledgers",
        envvar=LEDGERS_VARIABLE,
        metavar="DIR",
        help="Folder that holds <tenant>/<session>.jsonl.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
Lines = Annotated[bool, typer.Option("--nl", help="Print one JSON object per line.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Tenant = Annotated[
    str | None,
    typer.Option("--tenant", metavar="TENANT", help="Tenant: the folder of its ledgers."),
]

Function = Callable[..., View]


@dataclass(frozen=True)
class Run:
    """One invocation of a command: what it works on, and when it was started."""

    home: Path | None
    ledgers: Path | None
    as_json: bool
    now: datetime

    @cached_property
    def flags(self) -> dict[str, str | None]:
        """Values of the common options, without those that the environment gave.

        Settings look at the environment themselves, so that ``doctor`` can name the origin.
        """
        return {
            "home": _unless_from(HOME_VARIABLE, self.home),
            "ledgers": _unless_from(LEDGERS_VARIABLE, self.ledgers),
        }

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace of ``--home`` and ``--ledgers``.

        Raises:
            SettingsError: a setting is not valid.
        """
        from memory_assets.pipeline.workspace import Workspace

        return Workspace.load(**self.flags)

    @contextmanager
    def progress(self) -> Iterator[Callable[[str, int, int], None]]:
        """A callback that draws progress bars on stderr, if that is a terminal."""
        from memory_assets.cli.progress import bars

        with bars() as told:
            yield told


def command(
    app: typer.Typer, name: str, *, lists: bool = False, writes: bool = False
) -> Callable[[Function], Function]:
    """A decorator that makes a command of ``function(run, …) -> View``.

    Every command gets ``--home``, ``--ledgers``, ``--json`` and ``--debug``; one that ``lists``
    rows also ``--nl``. ``writes`` marks commands that change something, for the documentation.
    """

    def decorate(function: Function) -> Function:
        call = _wrapped(function, lists=lists)
        vars(call)["declared"] = Declared(lists=lists, writes=writes)
        app.command(name, short_help=(call.__doc__ or "").partition("\n")[0])(call)
        return function

    return decorate


def group(app: typer.Typer, name: str, help: str) -> typer.Typer:
    """A group of commands, added to the application."""
    made = typer.Typer(help=help, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(made, name=name)
    return made


@dataclass(frozen=True)
class Declared:
    """What was said when a command was declared; the attribute ``declared`` of its callback."""

    lists: bool
    writes: bool


def _wrapped(function: Function, *, lists: bool) -> Callable[..., None]:
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

    def call(**given: Any) -> None:
        home, ledgers = given.pop("home"), given.pop("ledgers")
        as_json, debug = given.pop("as_json"), given.pop("debug")
        as_lines = given.pop("as_lines", False)
        run = Run(home, ledgers, as_json or as_lines, datetime.now(UTC))

        def work() -> int:
            _require_text(given)
            view = function(run, **given)
            show(view, as_json=as_json, as_lines=as_lines)
            if view.failure is not None:
                tell(view.failure)
                return view.failure.exit_code
            return view.exit_code

        raise typer.Exit(guarded(work, as_json=as_json or as_lines, debug=debug))

    common = [_option("home", Home, None), _option("ledgers", Ledgers, None)]
    common.append(_option("as_json", Json, False))
    if lists:
        common.append(_option("as_lines", Lines, False))
    common.append(_option("debug", Debug, False))
    parameters = [*(p.replace(kind=p.KEYWORD_ONLY) for p in own), *common]
    vars(call)["__signature__"] = inspect.Signature(parameters)
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__name__, call.__doc__ = function.__name__, _flowing(function.__doc__ or "")
    return call


def _require_text(given: Mapping[str, Any]) -> None:
    """Nothing when every argument is text; bytes of another encoding can be stored nowhere.

    Raises:
        UsageError: one of them is not; paths may be, as the file system has them.
    """
    for name, value in given.items():
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, str) and not one.isascii():
                try:
                    one.encode()
                except UnicodeEncodeError:
                    raise UsageError(
                        f"{name.replace('_', '-')} is not UTF-8 text.",
                        remedy="write it in UTF-8; terminals and files may have another encoding.",
                    ) from None


def _flowing(docstring: str) -> str:
    """The docstring with every paragraph on one line, to be wrapped where it is shown."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(" ".join(p.split()) for p in paragraphs)


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _unless_from(variable: str, value: Path | None) -> str | None:
    if value is None or os.environ.get(variable) == str(value):
        return None
    return str(value)
