"""``memory-assets propose``, ``apply`` and ``feedback``: memories in use, and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli.acting import ActingUser, OwnClients, PersonaName, principal
from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, text
from memory_assets.cli.registry import MemoryId
from memory_assets.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.domain.visibility import Principal
    from memory_assets.steps.search.reuse import UseResult

Session = Annotated[
    str, typer.Option("--session", metavar="SESSION", help="The session that would use it.")
]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who says so.")]
Why = Annotated[str | None, typer.Option(metavar="WHY")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""

    @command(app, "propose", writes=True)
    def propose(
        run: Run,
        memory: MemoryId,
        session: Session,
        tenant: Tenant = None,
        by: By = "agent:cli",
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
    ) -> View:
        """Propose a memory in a session: decides nothing, counts no use."""
        from memory_assets.steps.search.reuse import propose_use

        done = propose_use(
            run.workspace.searcher,
            principal(tenant, persona, as_user, own_client),
            memory,
            tenant_id=tenant,
            session_id=session,
            proposed_by=by,
            now=run.now,
        )
        return View(done.to_dict(), lambda out: _told(out, done, "proposed"))

    @command(app, "apply", writes=True)
    def apply(
        run: Run,
        memory: MemoryId,
        session: Session,
        reviewer: Annotated[
            str, typer.Option("--reviewer", metavar="NAME", help="The person who chose it.")
        ],
        tenant: Tenant = None,
        reason: Annotated[str, typer.Option("--reason", help="Why it fits.")] = "",
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
    ) -> View:
        """Apply a memory in a session: a reviewer's choice, recorded beside the ledger."""
        from memory_assets.steps.search.reuse import apply_memory

        done = apply_memory(
            run.workspace.searcher,
            principal(tenant, persona, as_user, own_client),
            memory,
            tenant_id=tenant,
            session_id=session,
            reviewer=reviewer,
            now=run.now,
            access_log=run.workspace.home.access_log,
            reason=reason,
        )
        return View(done.to_dict(), lambda out: _told(out, done, "applied"))

    @command(app, "feedback", writes=True)
    def feedback(
        run: Run,
        memory: Annotated[
            str | None, typer.Argument(metavar="MEMORY", help="Without it: list what waits.")
        ] = None,
        tenant: Tenant = None,
        wrong: Annotated[
            str | None, typer.Option("--wrong", metavar="WHY", help="It is not true.")
        ] = None,
        outdated: Annotated[
            str | None, typer.Option("--outdated", metavar="WHY", help="It was true once.")
        ] = None,
        useful: Annotated[
            str | None, typer.Option("--useful", metavar="WHY", help="It helped.")
        ] = None,
        by: By = "local user",
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
    ) -> View:
        """Say that a memory is wrong, outdated or useful; that changes nothing by itself."""
        from memory_assets.steps.search.feedback import give_feedback

        who = principal(tenant, persona, as_user, own_client)
        given = {"wrong": wrong, "outdated": outdated, "useful": useful}
        said = [(kind, why) for kind, why in given.items() if why is not None]
        if memory is None and not said:
            items = _given(run, who, tenant)
            return View(items, lambda out: _items(out, items))
        if memory is None:
            raise UsageError(
                "No memory is named, so nothing was recorded.",
                remedy=f'name it: memory-assets feedback mem-0001 --{said[0][0]} "why".',
            )
        if len(said) != 1:
            raise UsageError(
                "Say one thing about the memory.",
                remedy='add --wrong "why", --outdated "why" or --useful "why".',
            )
        item = give_feedback(
            run.workspace.searcher,
            who,
            memory,
            tenant_id=tenant,
            kind=said[0][0],  # type: ignore[arg-type]
            why=said[0][1],
            given_by=by,
            now=run.now,
        )
        data = {"feedback_id": item.feedback_id, "memory_id": memory, "kind": item.kind}
        return View(data, lambda out: out.print(f"{item.feedback_id} waits for a reviewer."))


def _told(out: Console, done: UseResult, what: str) -> None:
    state = what if done.written else f"not {what}"
    row = f" ({done.ref})" if done.ref else ""
    out.print(text(f"{done.memory_id} {state} in {done.session_id}{row}: {done.why}"))


def _given(run: Run, who: Principal, tenant: str | None) -> list[dict[str, Any]]:
    """What was said of memories that the principal may see, and waits for a reviewer."""
    from memory_assets.pipeline.review.state import QueueFilter, ReviewState

    wanted = QueueFilter(tenant or who.tenant, label="feedback")
    return list(ReviewState(run.workspace, now=run.now).queue(who, wanted).items)


def _items(out: Console, items: Sequence[Mapping[str, Any]]) -> None:
    if not items:
        out.print("No feedback waits.")
        return
    for item in items:
        out.print(text(f"{item['item_id']}  [{item['label']}]  {item['subject']}"))
        out.print(text(f"    {item['why']}"))
    out.print(f"\n{len(items)} wait: memory-assets review --label feedback")
