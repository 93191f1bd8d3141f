"""``memory-assets digest``: what reviewers should know, as a document to send around."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, text

if TYPE_CHECKING:
    from memory_assets.pipeline.review.digest import Digest


class Format(StrEnum):
    """What the digest is written as."""

    MARKDOWN = "md"
    HTML = "html"


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "digest", lists=True)
    def digest(
        run: Run,
        tenant: Tenant = None,
        days: Annotated[
            float, typer.Option("--days", min=0, metavar="DAYS", help="News of the last DAYS.")
        ] = 1.0,
        format: Annotated[
            Format, typer.Option("--format", metavar="md|html", help="Markdown or HTML.")
        ] = Format.MARKDOWN,
        output: Annotated[
            Path | None,
            typer.Option("--output", metavar="FILE", help="Write it there instead of printing it."),
        ] = None,
    ) -> View:
        """Write a digest for reviewers: what is new, what waits, what conflicts."""
        from memory_assets.domain.visibility import Principal
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.pipeline.review.digest import make_digest
        from memory_assets.pipeline.review.state import ReviewState

        name = require_tenant(run.workspace, tenant)
        state = ReviewState(run.workspace, now=run.now)
        found = make_digest(state, Principal.local(name), name, since=_since(run.now, days))
        if output is not None:
            from memory_assets.storage.files import write_atomically

            write_atomically(output, _written(found, format).encode())
            data = {**found.to_dict(), "file": str(output)}
            return View(data, lambda out: out.print(text(f"Written: {output}")), rows=[data])
        document = _written(found, format)
        return View(
            found.to_dict(),
            lambda out: out.print(text(document), soft_wrap=True),
            rows=found.waiting,
        )


def _since(now: datetime, days: float) -> datetime:
    return now - timedelta(days=days)


def _written(found: Digest, format: Format) -> str:
    return found.to_html() if format is Format.HTML else found.to_markdown()
