"""``memory-assets review``: candidates and conflicts in front of a person, without a cap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from memory_assets.cli import review_serve, review_verdicts, review_walk
from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, table, text
from memory_assets.cli.review_verdicts import Session

if TYPE_CHECKING:
    from rich.console import Console

_MOST: Final = 1_200


class WalkByDefault(TyperGroup):
    """The group alone means its command ``walk``; options of that command may follow."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, led by the command that is meant."""
        helps = {"-h", "--help"}
        if not args or (args[0].startswith("-") and args[0] not in helps):
            args = ["walk", *args]
        return super().parse_args(ctx, args)


class State(StrEnum):
    """States that a list can be narrowed to."""

    PENDING = "pending"
    WAITING = "waiting"
    DEFERRED = "deferred"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    ALL = "all"


def register(app: typer.Typer) -> None:
    """Adds the group of commands."""
    group = typer.Typer(
        help="Decide what becomes memory: candidates and proposals, without a cap. Alone it walks "
        "through everything that waits.",
        cls=WalkByDefault,
        rich_markup_mode=None,
    )
    app.add_typer(group, name="review")
    review_walk.register(group)
    _list(group)
    _show(group)
    review_verdicts.register(group)
    _refused(group)
    review_serve.register(group)


def _list(group: typer.Typer) -> None:
    @command(group, "list", lists=True)
    def list_(
        run: Run,
        tenant: Tenant = None,
        session: Annotated[
            str | None, typer.Option("--session", metavar="SESSION", help="Only this session.")
        ] = None,
        label: Annotated[
            str | None,
            typer.Option(
                "--label", metavar="LABEL", help="Only labels that begin so, such as duplicate."
            ),
        ] = None,
        state: Annotated[
            State,
            typer.Option(
                "--state",
                metavar="pending|waiting|deferred|accepted|declined|all",
                help="pending is what waits, deferred items included.",
            ),
        ] = State.PENDING,
        older_than: Annotated[
            float | None,
            typer.Option("--older-than", min=0, metavar="DAYS", help="Only items of that age."),
        ] = None,
        limit: Annotated[
            int | None, typer.Option("--limit", min=1, metavar="N", help="Show so many (text).")
        ] = None,
    ) -> View:
        """List what waits for a reviewer, oldest session first.

        Without --tenant every tenant of the installation is listed, each by itself.
        """
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.pipeline.review.state import QueueFilter, ReviewState, queues_of

        age = None if older_than is None else timedelta(days=older_than)
        now = ReviewState(run.workspace, now=run.now)
        tenants = now.tenants() if tenant is None else [require_tenant(run.workspace, tenant)]
        found = queues_of(now, tenants, lambda t: QueueFilter(t, session, label, state.value, age))
        items = [item for queue in found for item in queue.items]
        waiting = sum(queue.waiting for queue in found)
        oldest = min((queue.oldest for queue in found if queue.oldest), default=None)
        data = {"items": items, "waiting": waiting, "oldest": oldest}
        return View(data, lambda out: _listing(out, items, waiting, limit), rows=items)


def _show(group: typer.Typer) -> None:
    @command(group, "show")
    def show(
        run: Run,
        item: Annotated[str, typer.Argument(metavar="ITEM", help="Its id, as list prints it.")],
        tenant: Tenant = None,
        session: Session = None,
    ) -> View:
        """Show one item in full: content, context, nearest memories, and what differs."""
        from memory_assets.domain.visibility import Principal
        from memory_assets.pipeline.review.state import ReviewState

        state = ReviewState(run.workspace, now=run.now)
        found = state.named_item(Principal.local, item, tenant_id=tenant, session_id=session)
        return View(found, lambda out: print_item(out, found))


def _refused(group: typer.Typer) -> None:
    @command(group, "refused", lists=True)
    def refused(run: Run) -> View:
        """List the lines of the review file that do not count, each with its reason.

        A verdict on something that changed, is not offered, or comes from an agent is refused by
        itself; all other lines are applied.
        """
        from memory_assets.pipeline.review.state import (
            ReviewState,
            overridden_lines,
            refused_lines,
        )

        state = ReviewState(run.workspace, now=run.now)
        lines = refused_lines(state.assessment, state.proposals)
        data = {
            "file": str(run.workspace.home.review_decisions),
            "refused": lines,
            "overridden": overridden_lines(state.assessment, state.proposals),
        }
        return View(data, lambda out: _refused_lines(out, data), rows=lines)


def _listing(
    out: Console, items: Sequence[Mapping[str, Any]], waiting: int, limit: int | None
) -> None:
    place = ""
    for item in items[:limit]:
        here = f"{item['tenant_id']}/{item['session_id']}"
        if here != place:
            place = here
            out.print(text(f"\n{place}"), style="bold")
        state = "" if item["state"] == "waiting" else f"  ({item['state']})"
        name = item["item_id"].removeprefix(f"{here}/")
        out.print(text(f"  {name}  [{item['label']}]{state}  {item['subject']}"))
        out.print(text(f"      {_short(item['detail'])}"))
        if item["why"]:
            out.print(text(f"      why: {_short(item['why'])}"))
    if limit is not None and len(items) > limit:
        out.print(f"\nand {len(items) - limit} more")
    out.print(f"\n{min(len(items), limit or len(items))} shown; {waiting} wait for a reviewer.")


def _short(content: str) -> str:
    """The beginning of a long text; ``show`` prints all of it."""
    return content if len(content) <= _MOST else content[:_MOST].rstrip() + " …"


def print_item(out: Console, found: Mapping[str, Any]) -> None:
    """Prints one item with its nearest memories."""
    rows = table("", "")
    rows.show_header = False
    rows.columns[0].no_wrap = True
    for name, value in found.items():
        if name not in ("neighbours", "nearest") and value not in (None, "", [], False):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            rows.add_row(name, text(shown))
    out.print(rows)
    if found.get("neighbours"):
        out.print("\nNearest memories", style="bold")
    for near in found.get("neighbours", ()):
        cosine = "" if near["cosine"] is None else f"  cosine {near['cosine']:.3f}"
        out.print(text(f"{near['memory_id']}  {near['relation']}{cosine}  {near['subject']}"))
        out.print(text(f"    {near['detail']}"))
        for verdict in near["verdicts"]:
            here, there = (", ".join(verdict[side]) or "-" for side in ("only_a", "only_b"))
            note = f"  ({verdict['note']})" if verdict["note"] else ""
            out.print(text(f"    {verdict['guard']}: {here} | {there}{note}"))


def _refused_lines(out: Console, data: Mapping[str, Any]) -> None:
    for row in data["refused"]:
        out.print(text(f"line {row['line']}  {row['code']}: {row['reason']}"), style="bold")
        out.print(text(f"  {row['raw'][:300]}"), soft_wrap=True)
    count = len(data["refused"])
    out.print(text(f"{count} line(s) of {data['file']} do not count."), soft_wrap=True)
    if data["overridden"]:
        out.print(f"{len(data['overridden'])} more were replaced by later verdicts, as is usual.")
