"""``memory-assets detach``: a corroboration that was no duplicate becomes its own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.review.detach import Detached


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "detach", writes=True)
    def detach(
        run: Run,
        item: Annotated[
            str,
            typer.Argument(metavar="ITEM", help="Its decision, such as TENANT/SESSION/seq:3."),
        ],
        by: Annotated[
            str, typer.Option("--by", metavar="NAME", help="Who decides; goes on record.")
        ],
        reason: Annotated[
            str, typer.Option("--reason", metavar="TEXT", help="Why; goes on record.")
        ] = "",
        tenant: Tenant = None,
    ) -> View:
        """Make a corroboration that was no duplicate a memory of its own, in its own words.

        It is published at once, and the pair is remembered as different.
        """
        from memory_assets.errors import UsageError
        from memory_assets.pipeline.review.detach import detach as carry_out
        from memory_assets.steps.review.items import ItemRef, parse_items

        named = parse_items([item], tenant_id=tenant)
        if len(named) != 1 or not isinstance(named[0], ItemRef):
            raise UsageError(
                f"{item!r} names no single decision.", remedy="write TENANT/SESSION/seq:3."
            )
        found = carry_out(run.workspace, named[0], by=by, reason=reason, now=run.now)
        return View(found.to_dict(), lambda out: _told(out, found))


def _told(out: Console, found: Detached) -> None:
    out.print(
        f"{found.detached_as} is a memory of its own since generation {found.generation}; "
        f"{found.memory_id} counts one corroboration less."
    )
