"""``memory-assets review accept|decline|defer|reopen|undo``: verdicts from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, text
from memory_assets.errors import ReviewRefused, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.domain.review import Edit, ReviewVerdict
    from memory_assets.pipeline.review.decide import Decided, ReviewDesk, Verdict

REVIEWER_VARIABLE: Final = "MEMORY_ASSETS_REVIEWER"
Items = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ITEM]...",
        help="Ids such as TENANT/SESSION/seq:3, ranges such as TENANT/SESSION/seq:3-7.",
    ),
]
Session = Annotated[
    str | None,
    typer.Option("--session", metavar="SESSION", help="Session of items named as seq:3 alone."),
]
WholeSession = Annotated[
    str | None,
    typer.Option(
        "--all-from-session",
        metavar="[TENANT/]SESSION",
        help="Everything of this session that waits.",
    ),
]
Reviewer = Annotated[
    str | None,
    typer.Option(
        "--reviewer",
        envvar=REVIEWER_VARIABLE,
        metavar="NAME",
        show_default="the user of the operating system",
        help="Who decides; never an agent.",
    ),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept on record.")]


def register(group: typer.Typer) -> None:
    """Adds the commands to the group."""
    _accept(group)
    _others(group)
    _undo(group)


def _accept(group: typer.Typer) -> None:
    @command(group, "accept", writes=True)
    def accept(
        run: Run,
        items: Items = None,
        tenant: Tenant = None,
        session: Session = None,
        all_from_session: WholeSession = None,
        duplicate_of: Annotated[
            str | None,
            typer.Option(
                "--duplicate-of",
                metavar="MEMORY",
                help="It says the same as this memory, which then counts as seen again.",
            ),
        ] = None,
        subject: Annotated[
            str | None, typer.Option("--subject", metavar="TEXT", help="Accept under this subject.")
        ] = None,
        detail: Annotated[
            str | None, typer.Option("--detail", metavar="TEXT", help="Accept with this wording.")
        ] = None,
        rationale: Annotated[
            str | None, typer.Option("--rationale", metavar="TEXT", help="Accept for this reason.")
        ] = None,
        reason: Reason = "",
        reviewer: Reviewer = None,
    ) -> View:
        """Accept items: the next run publishes them as memories.

        Everything is filtered again, item by item; a declined one can be accepted later.
        """
        from memory_assets.pipeline.review.decide import Verdict

        desk, named = _desk(run, items, tenant, session, all_from_session, reviewer)
        edit = None
        if subject is not None or detail is not None or rationale is not None:
            edit = _edit(desk, named, subject, detail, rationale)
        kind: ReviewVerdict = "accept" if duplicate_of is None else "duplicate_of"
        return outcome(desk.decide(named, Verdict(kind, reason, edit, duplicate_of)))


def _others(group: typer.Typer) -> None:
    @command(group, "decline", writes=True)
    def decline(
        run: Run,
        items: Items = None,
        tenant: Tenant = None,
        session: Session = None,
        all_from_session: WholeSession = None,
        reason: Reason = "",
        reviewer: Reviewer = None,
    ) -> View:
        """Decline items: they stay decisions of their session and never become memory."""
        desk, named = _desk(run, items, tenant, session, all_from_session, reviewer)
        return outcome(desk.decide(named, _verdict("decline", reason)))

    @command(group, "defer", writes=True)
    def defer(
        run: Run,
        items: Items = None,
        tenant: Tenant = None,
        session: Session = None,
        all_from_session: WholeSession = None,
        reason: Reason = "",
        reviewer: Reviewer = None,
    ) -> View:
        """Put items off: they stay in the queue, marked as seen."""
        desk, named = _desk(run, items, tenant, session, all_from_session, reviewer)
        return outcome(desk.decide(named, _verdict("defer", reason)))

    @command(group, "reopen", writes=True)
    def reopen(
        run: Run,
        items: Items = None,
        tenant: Tenant = None,
        session: Session = None,
        reason: Reason = "",
        reviewer: Reviewer = None,
    ) -> View:
        """Take back what was said about items that are not published yet: they wait again."""
        desk, named = _desk(run, items, tenant, session, None, reviewer)
        return outcome(desk.decide(named, _verdict("reopen", reason)))


def _undo(group: typer.Typer) -> None:
    @command(group, "undo", writes=True)
    def undo(run: Run, tenant: Tenant = None, reviewer: Reviewer = None) -> View:
        """Take back the reviewer's last verdict."""
        desk, _ = _desk(run, None, tenant, None, None, reviewer, needed=False)
        return outcome(desk.undo())


def _desk(
    run: Run,
    items: Sequence[str] | None,
    tenant: str | None,
    session: str | None,
    whole: str | None,
    reviewer: str | None,
    *,
    needed: bool = True,
) -> tuple[ReviewDesk, list[Any]]:
    from memory_assets.pipeline.review.decide import ReviewDesk, named_reviewer
    from memory_assets.steps.review.items import SessionItems, parse_items

    named: list[Any] = parse_items(items or [], tenant_id=tenant, session_id=session)
    if whole is not None:
        given, _, name = whole.rpartition("/")
        if not (given or tenant):
            raise UsageError(
                f"{whole!r} does not say which tenant it means.",
                remedy="write TENANT/SESSION, or add --tenant.",
            )
        named.append(SessionItems(given or tenant or "", name))
    if needed and not named:
        raise UsageError("No item is named.", remedy="name some, or add --all-from-session.")
    desk = ReviewDesk(run.workspace, named_reviewer(reviewer), now=run.now)
    return desk, named


def _verdict(kind: ReviewVerdict, reason: str) -> Verdict:
    from memory_assets.pipeline.review.decide import Verdict

    return Verdict(kind, reason)


def _edit(
    desk: ReviewDesk,
    named: Sequence[Any],
    subject: str | None,
    detail: str | None,
    rationale: str | None,
) -> Edit:
    from memory_assets.domain.review import Edit

    row = desk.single(named)
    return Edit(
        row["subject"] if subject is None else subject,
        row["detail"] if detail is None else detail,
        rationale or "",
    )


def outcome(found: Decided) -> View:
    failure = None
    if found.refused:
        first = found.refused[0]
        failure = ReviewRefused(
            f"{len(found.refused)} verdict(s) were refused, the first: {first.reason}",
            where=first.item_id,
            remedy="look at the item again with `memory-assets review show`; "
            f"{len(found.recorded)} other verdict(s) are on record.",
        )
    return View(found.to_dict(), lambda out: _decided(out, found), failure=failure)


def _decided(out: Console, found: Decided) -> None:
    from memory_assets.pipeline.review.decide import line_item

    for line in found.recorded:
        out.print(text(f"{line.verdict}  {line_item(line)}  by {line.reviewer}"), soft_wrap=True)
    for refused in found.refused:
        out.print(text(f"refused  {refused.item_id}  {refused.code}: {refused.reason}"))
    for note in found.notes:
        out.print(text(f"note: {note}"))
    if any(line.verdict in ("accept", "duplicate_of", "decline") for line in found.recorded):
        out.print("The next run applies this: memory-assets nightly")
