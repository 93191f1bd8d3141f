"""The reference pages under ``docs/`` that are written by the program itself.

``python -m memory_assets.cli.docs DIR`` writes them anew; a test compares them with the code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import typer

from memory_assets.cli.app import build
from memory_assets.cli.docs_reference import events_page, tables_page
from memory_assets.cli.failures import INTERRUPTED, PIPE_CLOSED
from memory_assets.domain.tenants import FIELDS, Retention, TenantSettings
from memory_assets.errors import MemoryAssetsError
from memory_assets.settings import DEFAULT_HOME, SETTINGS

_NOTE: Final = (
    "<!-- Written by `python -m memory_assets.cli.docs docs`: change the code, not this. -->"
)
_PRECEDENCE: Final = (
    "A flag comes before its environment variable, and that one before "
    "[`settings.toml`](settings.md). Results go to stdout, everything else (errors, progress) to "
    "stderr. With `--json` an error is a JSON object on stdout as well. Exit codes are listed in "
    "[errors.md](errors.md)."
)
_ORIGINS: Final = (
    "Precedence: command-line flag, environment variable, `<home>/settings.toml`, default. "
    "`memory-assets doctor` shows every value with its origin. API keys are no settings: providers "
    "read them from environment variables of their own."
)
_TENANTS: Final = (
    "`<home>/tenants.toml` holds one table per tenant, named like the folder of its ledgers. It is "
    "checked as a whole, and every problem is reported at once. A folder without an entry is "
    "reported and not consolidated; without the file every folder is a tenant with the defaults."
)
_MESSAGES: Final = (
    "A message says what happened, where, and what to do. The code is stable: scripts and alerts "
    "may refer to it. With `--json` an error is one object: `error`, `what`, `where`, `remedy`, "
    "`exit_code`."
)
_COMMON: Final = ("--home", "--ledgers", "--json", "--nl", "--debug", "--help")


def cli_page() -> str:
    """The command reference: usage, meaning, arguments and options of every command."""
    lines = [
        "# Commands",
        "",
        _NOTE,
        "",
        "Every command takes these options:",
        "",
        *_options(_common_options()),
        "",
        _PRECEDENCE,
    ]
    for path, command in sorted(commands()):
        lines += ["", f"## {path}", "", *_command(path, command)]
    return "\n".join(lines) + "\n"


def settings_page() -> str:
    """The settings reference: name, variable, default and meaning of each."""
    lines = [
        "# Settings",
        "",
        _NOTE,
        "",
        _ORIGINS,
        "",
        "| setting | variable | default | meaning |",
        "|---|---|---|---|",
    ]
    for setting in SETTINGS:
        default = f"`{setting.default}`" if setting.default else "none"
        cells = (f"`{setting.name}`", f"`{setting.variable}`", default, _cell(setting.meaning))
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def tenants_page() -> str:
    """The reference of ``tenants.toml``: form, default and meaning of each tenant setting."""
    usual = TenantSettings("")
    lines = ["# Tenants", "", _NOTE, "", _TENANTS, "", "| key | form | default | meaning |"]
    lines.append("|---|---|---|---|")
    for declared in FIELDS:
        default = _default(getattr(usual, declared.name))
        cells = (f"`{declared.name}`", declared.form, default, _cell(declared.meaning))
        lines.append(_row(cells))
    example = files("memory_assets.samples").joinpath("tenants-example.toml").read_text("utf-8")
    return "\n".join([*lines, "", "## Example", "", "```toml", example.rstrip(), "```"]) + "\n"


def _default(value: Any) -> str:
    """A tenant setting's default as ``tenants.toml`` would write it."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Retention):
        return f"`core_days = {value.core_days}, recall_days = {value.recall_days}`"
    if isinstance(value, str):
        return f"`{value}`"
    return f"`{', '.join(value)}`" if value else "none"


def errors_page() -> str:
    """The error reference: code, exit code and meaning of each named error, and all exit codes."""
    lines = [
        "# Errors and exit codes",
        "",
        _NOTE,
        "",
        _MESSAGES,
        "",
        "| code | kind of | exit | meaning |",
        "|---|---|---|---|",
    ]
    for parent, error in error_tree():
        kind = f"`{parent.code}`" if parent else ""
        meaning = _cell(_first_paragraph(error.__doc__ or ""))
        lines.append(_row((f"`{error.code}`", kind, str(error.exit_code), meaning)))
    lines += [
        "",
        "| exit | when |",
        "|---|---|",
        _row(("0", "the command did what was asked")),
        _row(("1", "an unexpected error, or `doctor` found one")),
        _row(("2", "the command line is not valid, or one of the usage errors above")),
        _row(("3", "an error of the ledgers, or `ledger lint` found one")),
        _row(("4", "an error of the home folder; or markers are owed, see `recover`")),
        _row(("5", "another process is publishing, or has just published")),
        _row(("6", "a check refused the new generation")),
        _row(("7", "an error of the embedding model")),
        _row((str(INTERRUPTED), "interrupted by Control-C or SIGTERM; run again to go on")),
        _row((str(PIPE_CLOSED), "whoever read the output has closed the pipe")),
    ]
    return "\n".join(lines) + "\n"


PAGES: Final[dict[str, Callable[[], str]]] = {
    "cli.md": cli_page,
    "settings.md": settings_page,
    "tenants.md": tenants_page,
    "errors.md": errors_page,
    "events.md": events_page,
    "tables.md": tables_page,
}


def commands() -> Iterator[tuple[str, Any]]:
    """(full name, command) of every command that does something; groups are walked through."""
    yield from _walk("memory-assets", typer.main.get_command(build()))


_Error = type[MemoryAssetsError]


def error_tree() -> Iterator[tuple[_Error | None, _Error]]:
    """(parent, error class) of the whole tree, each parent before its children.

    Adapters may refine an error for their own use; those refinements carry its code.
    """

    def walk(error: _Error, parent: _Error | None) -> Iterator[tuple[_Error | None, _Error]]:
        yield parent, error
        for child in error.__subclasses__():
            if child.__module__ == MemoryAssetsError.__module__:
                yield from walk(child, error)

    yield from walk(MemoryAssetsError, None)


def write_pages(folder: Path) -> list[Path]:
    """The pages that were written, replacing what was there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")
    return [folder / name for name in PAGES]


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from _walk(f"{path} {name}", child)


def _command(path: str, command: Any) -> Iterator[str]:
    own = [p for p in command.params if not set(p.opts) & set(_COMMON)]
    arguments = [p for p in own if p.param_type_name == "argument"]
    options = [p for p in own if p.param_type_name == "option"]
    usage = " ".join([path, *(p.metavar or p.name.upper() for p in arguments), "[OPTIONS]"])
    yield from ("```", usage, "```", "")
    yield command.help
    if any("--nl" in p.opts for p in command.params):
        yield from ("", "Lists rows, so `--nl` prints one JSON object per line.")
    if arguments:
        yield from ("", "| argument | meaning |", "|---|---|")
        yield from (_row((f"`{p.metavar}`", _cell(p.help or ""))) for p in arguments)
    if options:
        yield ""
        yield from _options(options)


def _options(options: list[Any]) -> Iterator[str]:
    yield from ("| option | meaning |", "|---|---|")
    for option in options:
        value = "" if option.is_flag else " " + (option.metavar or "VALUE").replace("|", "\\|")
        name = ", ".join(option.opts) + value
        notes = [option.help or ""]
        if option.required:
            notes.append("Required.")
        if option.envvar:
            notes.append(f"Variable: `{option.envvar}`.")
        if "--home" in option.opts:
            notes.append(f"Default: `{DEFAULT_HOME}`.")
        yield _row((f"`{name}`", _cell(" ".join(notes))))


def _common_options() -> list[Any]:
    found = {p.opts[0]: p for _, command in commands() for p in command.params}
    return [found[name] for name in _COMMON if name in found]


def _first_paragraph(docstring: str) -> str:
    return docstring.strip().partition("\n\n")[0]


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("``", "`").replace("<", "&lt;")).strip()


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    for written in write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs")):
        print(written)
