"""What every command has in common: options, JSON, errors; enumerated, so none is forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from memory_assets.cli.app import build
from memory_assets.cli.command import Declared
from memory_assets.cli.docs import commands
from tests.cli.conftest import Cli

PLACE = "clinica/2026-02-11-impianti.jsonl:5"
EXAMPLES: dict[str, list[str]] = {
    "decisions": [],
    "diff": ["1", "1", "--tenant", "clinica"],
    "doctor": [],
    "embedding status": [],
    "export-registry": ["--tenant", "clinica"],
    "generations": [],
    "history": ["mem-0001", "--tenant", "banca"],
    "ledger lint": ["{ledgers}/banca/2026-01-13-aum.jsonl"],
    "ledger schema": [],
    "preview": ["--session", "2026-01-14-cardioversioni"],
    "quarantine list": [],
    "quarantine show": [PLACE, "--tenant", "clinica"],
    "registry list": ["--tenant", "clinica"],
    "registry show": ["mem-0001", "--tenant", "clinica"],
    "review list": ["--tenant", "clinica"],
    "review refused": [],
    "summary": ["--session", "2026-01-12-ablazioni", "--tenant", "clinica"],
    "version": [],
}
"""Arguments with which each command of this folder that only reads answers on the samples."""
TESTED_ELSEWHERE = frozenset(
    {
        *("core", "digest", "evaluate", "export", "facts", "mcp", "merge", "review"),
        *("search", "tiers"),
    }
)
"""First words of commands that have test modules of their own for all this."""
FOR_COPYING = frozenset({"export-registry", "ledger lint", "ledger schema", "review refused"})
"""Commands whose text holds paths or JSON, which must not be broken."""
NEEDS_A_TENANT = [
    "diff",
    "export-registry",
    "history",
    "quarantine show",
    "registry list",
    "registry show",
]


def _declared(app: typer.Typer, prefix: str = "") -> Iterator[tuple[str, Declared]]:
    for info in app.registered_commands:
        callback: Callable[..., Any] | None = info.callback
        assert callback is not None
        yield f"{prefix}{info.name}", vars(callback)["declared"]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from _declared(group.typer_instance, f"{prefix}{group.name} ")


READS = {name: made for name, made in _declared(build()) if not made.writes}


def _arguments(cli: Cli, name: str) -> list[str]:
    return [*name.split(), *(a.format(ledgers=cli.ledgers) for a in EXAMPLES[name])]


def test_every_reading_command_has_an_example() -> None:
    """A new command that only reads is tried below, or is known to be tried elsewhere."""
    untried = {name for name in READS if name.split()[0] not in TESTED_ELSEWHERE} - set(EXAMPLES)
    assert untried == set()
    assert set(EXAMPLES) <= set(READS)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_reading_command_speaks_json(published: Cli, name: str) -> None:
    """With --json exactly one JSON value is on stdout, and nothing on stderr."""
    done = published(*_arguments(published, name), "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json()


@pytest.mark.parametrize("name", sorted(n for n in EXAMPLES if READS[n].lists))
def test_every_list_speaks_lines(published: Cli, name: str) -> None:
    """With --nl every line is a JSON object: the rows of what --json holds."""
    arguments = _arguments(published, name)
    rows = published(*arguments, "--nl").lines()
    whole = published(*arguments, "--json").json()
    if isinstance(whole, dict):
        assert rows in [v for v in whole.values() if isinstance(v, list)]
    else:
        assert rows == whole
    assert all(isinstance(row, dict) for row in rows)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_text_for_people_fits_80_columns(published: Cli, name: str) -> None:
    """No colour codes and no long lines when nobody watches; long values wrap inside tables."""
    done = published(*_arguments(published, name))
    assert done.code == 0
    assert "\x1b" not in done.out
    if name not in FOR_COPYING:
        assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("name", NEEDS_A_TENANT)
def test_content_is_shown_for_a_named_tenant_only(published: Cli, name: str) -> None:
    """Without --tenant, and for an unknown one, the answer is the named error and exit code 2."""
    arguments = [
        a for a in _arguments(published, name) if a not in ("--tenant", "clinica", "banca")
    ]
    for more in ([], ["--tenant", "nobody"], ["--tenant", ""]):
        done = published(*arguments, *more, "--json")
        assert done.code == 2
        assert done.json()["error"] == "unknown-tenant"
        assert "Ablazione" not in done.out + done.err


def test_every_command_has_the_common_options() -> None:
    """--home, --ledgers, --json and --debug everywhere; the variables are in the help."""
    for name, command in commands():
        options = {o for p in command.params for o in p.opts}
        assert options >= {"--home", "--ledgers", "--json", "--debug"}, name
        assert command.help, name


def test_the_environment_is_in_the_help(published: Cli) -> None:
    """Whoever asks for help learns which variables stand for the options."""
    said = " ".join(published("nightly", "--help").out.split())
    assert "MEMORY_ASSETS_HOME" in said
    assert "MEMORY_ASSETS_LEDGERS" in said


def test_a_flag_comes_before_the_environment(published: Cli, fresh: Cli) -> None:
    """The origin of a setting is named as what it was: a flag, or a variable."""
    done = published("doctor", "--home", str(fresh.home), "--json").json()
    rows = {row["name"]: row for row in done["settings"]}
    assert rows["home"]["value"] == str(fresh.home)
    assert rows["home"]["origin"] == "flag --home"
    assert rows["ledgers"]["origin"] == "variable MEMORY_ASSETS_LEDGERS"


def test_a_json_error_is_one_object(published: Cli) -> None:
    """An error under --json: the object on stdout for programs, the sentence on stderr for logs."""
    done = published("preview", "--session", "none", "--json")
    assert done.code == 2
    found = json.loads(done.out)
    assert found == {**found, "error": "unknown-session", "exit_code": 2}
    assert found["remedy"]
    assert "unknown-session" in done.err


def test_an_error_for_people_says_what_where_and_what_to_do(published: Cli) -> None:
    """Three lines on stderr, nothing on stdout."""
    done = published("registry", "show", "mem-9999", "--tenant", "clinica")
    assert (done.code, done.out) == (2, "")
    what, where, remedy = done.err.splitlines()
    assert what.startswith("Error (unknown-memory): ")
    assert where.strip().startswith("where:")
    assert "registry list" in remedy


def test_an_unknown_option_is_a_usage_error(published: Cli) -> None:
    """The command line itself answers, with the same exit code as other usage errors."""
    assert published("registry", "list", "--no-such-option").code == 2
    assert published("no-such-command").code == 2
