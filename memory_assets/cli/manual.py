"""``memory-assets registry add``: a memory entered by hand, reviewed like every other one."""

from __future__ import annotations

import secrets
from enum import StrEnum
from typing import Annotated

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, text
from memory_assets.cli.review_verdicts import Reviewer


class Audience(StrEnum):
    """For whom an entry is meant."""

    TENANT = "tenant"
    CLIENT = "client"
    USER = "user"
    PROFILE = "profile"


def register(group: typer.Typer) -> None:
    """Adds the command to the group."""

    @command(group, "add", writes=True)
    def add(
        run: Run,
        subject: Annotated[str, typer.Option("--subject", metavar="TEXT", help="The concept.")],
        detail: Annotated[
            str, typer.Option("--detail", metavar="TEXT", help="Its definition, as Markdown.")
        ],
        tenant: Tenant = None,
        rationale: Annotated[
            str, typer.Option("--rationale", metavar="TEXT", help="Why it holds.")
        ] = "",
        concept: Annotated[
            list[str] | None,
            typer.Option("--concept", metavar="NAME", help="A related concept; repeatable."),
        ] = None,
        user: Annotated[
            str | None, typer.Option("--user", metavar="USER", help="Of this user alone.")
        ] = None,
        client: Annotated[
            str | None, typer.Option("--client", metavar="CLIENT", help="About this client.")
        ] = None,
        audience: Annotated[
            Audience | None,
            typer.Option(
                "--audience", metavar="tenant|client|user|profile", help="For whom it is meant."
            ),
        ] = None,
        reviewer: Reviewer = None,
    ) -> View:
        """Enter a memory by hand: it is filtered and reviewed like every other one.

        It becomes a small session of its own in the ledgers, and its memory has the origin manual.
        """
        from memory_assets.pipeline.review.decide import named_reviewer
        from memory_assets.pipeline.review.manual import add_by_hand

        made = add_by_hand(
            run.workspace,
            tenant_id=tenant,
            subject=subject,
            detail=detail,
            rationale=rationale,
            concepts=concept or (),
            user_id=user,
            client_id=client,
            audience=audience.value if audience else None,
            entered_by=named_reviewer(reviewer),
            now=run.now,
            suffix=secrets.token_hex(3),
        )
        waits = "is published" if made.policy == "automatic" else "waits for review"
        return View(
            made.to_dict(),
            lambda out: out.print(
                text(f"Entered as {made.item_id}; after the next run it {waits}."), soft_wrap=True
            ),
        )
