"""The command ``memory-assets``: every use case of the pipeline, for people and for scripts."""

from __future__ import annotations

import signal

import typer

from memory_assets.cli import (
    decisions,
    detach,
    digest,
    doctor,
    embedding,
    exchange,
    facts,
    history,
    ledger,
    merge,
    migrate,
    nightly,
    promote,
    quarantine,
    rebuild,
    recover,
    registry,
    review,
    samples,
    search,
    storage,
    summary,
    tiers,
    version,
)

_HELP = (
    "Consolidates agents' session ledgers into one reviewed, deduplicated, searchable registry of "
    "memories."
)


def build() -> typer.Typer:
    """The application with all its commands; nothing heavy is imported for it."""
    app = typer.Typer(
        name="memory-assets",
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for module in (
        nightly,
        decisions,
        review,
        promote,
        summary,
        digest,
        registry,
        search,
        history,
        quarantine,
        merge,
        recover,
        storage,
        migrate,
        rebuild,
        detach,
        exchange,
        facts,
        tiers,
        embedding,
        doctor,
        ledger,
        samples,
        version,
    ):
        module.register(app)
    return app


def main() -> None:
    """Runs the command line and exits with its code."""
    # What a service manager sends ends a command as Control-C does: at once, told, nothing torn.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    build()()
