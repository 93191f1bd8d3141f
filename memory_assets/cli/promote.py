"""``promote`` and ``save-one``: for people who come from the system that had these commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, text
from memory_assets.cli.review_verdicts import Reason, Reviewer

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.review.promote import Saved

Session = Annotated[
    str, typer.Option("--session", metavar="SESSION", help="The session to promote from.")
]
Publish = Annotated[
    bool, typer.Option("--publish", help="Run the night now, instead of waiting for it.")
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""

    @command(app, "promote", writes=True)
    def promote(
        run: Run,
        session: Session,
        tenant: Tenant = None,
        preview: Annotated[
            bool, typer.Option("--preview", help="Show what would be accepted; write nothing.")
        ] = False,
        publish: Publish = False,
        reason: Reason = "",
        reviewer: Reviewer = None,
    ) -> View:
        """Accept everything that a session offers; without a cap of five.

        --preview prints what `preview` prints. Otherwise the same filters as in review hold, and
        only a reviewer may do it, never an agent.
        """
        if preview:
            from memory_assets.cli.decisions import preview_view
            from memory_assets.pipeline.inspect.preview import preview_session

            return preview_view(preview_session(run.workspace, session, tenant_id=tenant))
        return _save(run, session, tenant, None, publish, reason, reviewer)

    @command(app, "save-one", writes=True)
    def save_one(
        run: Run,
        session: Session,
        seq: Annotated[
            int, typer.Option("--seq", min=1, metavar="N", help="The ledger row to accept.")
        ],
        tenant: Tenant = None,
        publish: Publish = False,
        reason: Reason = "",
        reviewer: Reviewer = None,
    ) -> View:
        """Accept one decision of a session, if the preview offers it."""
        return _save(run, session, tenant, seq, publish, reason, reviewer)


def _save(
    run: Run,
    session: str,
    tenant: str | None,
    seq: int | None,
    publish: bool,
    reason: str,
    reviewer: str | None,
) -> View:
    from memory_assets.pipeline.review.decide import named_reviewer
    from memory_assets.pipeline.review.promote import save_session

    saved = save_session(
        run.workspace,
        session,
        tenant_id=tenant,
        seq=seq,
        reviewer=named_reviewer(reviewer),
        now=run.now,
        reason=reason,
    )
    if publish and saved.accepted:
        from memory_assets.defs.run_nightly import run_nightly

        run_nightly(run.workspace)
        saved = saved.published(run.workspace)
    return View(saved.to_dict(), lambda out: _saved(out, saved))


def _saved(out: Console, saved: Saved) -> None:
    for row in saved.accepted:
        name = row["memory_id"] or "accepted"
        out.print(text(f"{name}  {row['item_id']}  {row['subject']}"), soft_wrap=True)
    for refused in saved.refused:
        told = f"refused  {refused.item_id}  {refused.code}: {refused.reason}"
        out.print(text(told), soft_wrap=True)
    for note in saved.notes:
        out.print(text(f"note: {note}"), soft_wrap=True)
    if not saved.accepted and not saved.refused:
        out.print("The session offers nothing.")
    elif not saved.waits and any(row["memory_id"] is None for row in saved.accepted):
        out.print("The next run publishes this: memory-assets nightly")
