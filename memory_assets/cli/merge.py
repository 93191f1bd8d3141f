"""``memory-assets merge``: find, explain, apply and undo merges of memories that say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, table, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.merge.semantic import SemanticMerge
    from memory_assets.steps.merge.evaluate import PairEvaluation
    from memory_assets.steps.merge.types import MergeChange, MergePlan

First = Annotated[str, typer.Argument(metavar="A", help="A memory id, such as mem-0001.")]
Second = Annotated[str, typer.Argument(metavar="B", help="Another one.")]
Reviewer = Annotated[
    str, typer.Option("--reviewer", metavar="NAME", help="The person who decides.")
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept on record.")]


def register(app: typer.Typer) -> None:
    """Adds the command group."""
    group = typer.Typer(
        help="Find, explain, apply and undo merges of memories that say the same.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    app.add_typer(group, name="merge")
    _plan(group)
    _apply(group)
    _undo(group)
    _explain(group)
    _report(group)
    _evaluate(group)


def _plan(group: typer.Typer) -> None:
    @command(group, "plan", writes=True)
    def plan(
        run: Run,
        tenant: Tenant = None,
        new_only: Annotated[
            bool, typer.Option("--new-only", help="Compare new memories only, as every night.")
        ] = False,
        limit: Annotated[
            int, typer.Option("--limit", min=0, help="Show at most so many proposals.")
        ] = 20,
    ) -> View:
        """Search a tenant's memories for duplicates and propose what to do about them.

        Nothing is merged. Groups that review has earned are marked auto: merge apply carries them
        out. Every other proposal waits for a person.
        """
        from memory_assets.pipeline.merge.view import proposal_views

        with run.progress() as told:
            merge, tenant_id = _merge(run, tenant, told)
            found = merge.plan([tenant_id], full=not new_only)
        views = proposal_views(merge, tenant_id, limit=limit)
        data = {
            "tenant_id": tenant_id,
            **found.to_metadata(),
            "unreadable_verdicts": list(merge.unreadable()),
            "calibration": found.calibrations[0].to_dict(),
            "proposals": views,
        }
        return View(data, lambda out: _planned(out, found, views, data["unreadable_verdicts"]))


def _apply(group: typer.Typer) -> None:
    @command(group, "apply", writes=True)
    def apply(
        run: Run,
        tenant: Tenant = None,
        accept: Annotated[
            str | None, typer.Option("--accept", metavar="PROPOSAL", help="Merge this proposal.")
        ] = None,
        decline: Annotated[
            str | None,
            typer.Option("--decline", metavar="PROPOSAL", help="Remember that they differ."),
        ] = None,
        reviewer: Reviewer = "",
        reason: Reason = "",
    ) -> View:
        """Ask the next publication for merges: the earned ones, or one that you accept.

        Without --accept or --decline every group that review has earned is merged. The content of
        the memory that stays never changes, and merge undo takes any merge back.
        """
        from memory_assets.errors import UsageError

        if accept is not None and decline is not None:
            raise UsageError("--accept and --decline exclude each other.", remedy="name one.")
        merge, tenant_id = _merge(run, tenant)
        if accept is not None:
            found = merge.accept(tenant_id, accept, reviewer=reviewer, reason=reason, now=run.now)
        elif decline is not None:
            found = merge.decline(tenant_id, decline, reviewer=reviewer, reason=reason, now=run.now)
        else:
            found = merge.apply([tenant_id], now=run.now)[0]
        return View(found.to_dict(), lambda out: _changed(out, found))


def _undo(group: typer.Typer) -> None:
    @command(group, "undo", writes=True)
    def undo(
        run: Run,
        a: First,
        b: Second,
        tenant: Tenant = None,
        reviewer: Reviewer = "",
        reason: Reason = "",
    ) -> View:
        """Take a merge back; the two are remembered as no duplicates."""
        merge, tenant_id = _merge(run, tenant)
        found = merge.undo(tenant_id, a, b, reviewer=reviewer, reason=reason, now=run.now)
        return View(found.to_dict(), lambda out: _changed(out, found))


def _explain(group: typer.Typer) -> None:
    @command(group, "explain")
    def explain(run: Run, a: First, b: Second, tenant: Tenant = None) -> View:
        """Show what speaks for and against merging two memories."""
        merge, tenant_id = _merge(run, tenant)
        found = merge.explain(tenant_id, a, b)
        return View(found, lambda out: _explained(out, found))


def _report(group: typer.Typer) -> None:
    @command(group, "report", writes=True)
    def report(
        run: Run,
        tenant: Tenant = None,
        out: Annotated[
            Path, typer.Option("--out", metavar="FILE", help="Where the page goes.")
        ] = Path("merge-report.html"),
        limit: Annotated[
            int, typer.Option("--limit", min=1, help="Show at most so many proposals.")
        ] = 500,
    ) -> View:
        """Write one self-contained page about the last plan of a tenant.

        Groups side by side with the tokens that differ, precision and recall of reviewed pairs,
        counts and cost.
        """
        from memory_assets.errors import StoreWriteFailed
        from memory_assets.pipeline.merge.report import merge_report

        merge, tenant_id = _merge(run, tenant)
        page = merge_report(merge, tenant_id, now=run.now, limit=limit)
        try:
            out.write_text(page, encoding="utf-8")
        except OSError as error:
            raise StoreWriteFailed(
                f"The report cannot be written: {error.strerror}.",
                where=str(out),
                remedy="name a file in a folder that can be written, with --out.",
            ) from error
        data = {"tenant_id": tenant_id, "file": str(out), "bytes": len(page.encode())}
        return View(data, lambda console: console.print(f"Report: {out}"))


def _evaluate(group: typer.Typer) -> None:
    @command(group, "evaluate")
    def evaluate(
        run: Run,
        file: Annotated[Path, typer.Argument(metavar="FILE", help="Labelled pairs, JSON lines.")],
        embedding: Annotated[
            str | None,
            typer.Option("--embedding", metavar="PROVIDER:MODEL", help="Instead of the setting."),
        ] = None,
        target: Annotated[
            float,
            typer.Option("--target", min=0.5, max=0.9999, help="Precision to be proven."),
        ] = 0.95,
    ) -> View:
        """Say what merging would do with a file of labelled pairs.

        Each line holds a, b and same, and where known subject_a, subject_b and kind. A line
        without same counts as different.
        """
        from memory_assets.steps.merge.evaluate import evaluate_pairs, read_labelled

        pairs = read_labelled(file)
        workspace = run.workspace
        workspace.home.ensure()
        embedder = (
            workspace.embedding.chain((embedding,)).first if embedding else workspace.embedder
        )
        with run.progress() as told:
            found = evaluate_pairs(
                pairs,
                embedder,
                workspace.cache,
                target=target,
                progress=lambda done, total: told("embedding", done, total),
            )
        return View(found.to_dict(), lambda out: _evaluation(out, found))


def _merge(run: Run, tenant: str | None, told: Any = None) -> tuple[SemanticMerge, str]:
    from memory_assets.pipeline.inspect.tenants import require_tenant
    from memory_assets.pipeline.merge.semantic import SemanticMerge

    tenant_id = require_tenant(run.workspace, tenant)
    return SemanticMerge(run.workspace, told=told), tenant_id


def _planned(
    out: Console, found: MergePlan, views: list[dict[str, Any]], unreadable: Sequence[int]
) -> None:
    pairs, result = found.pairs, found.results[0]
    how = "by cells" if pairs.approximate else "exactly"
    out.print(
        f"{pairs.compared} memories compared {how}, {result.judged} pairs from cosine "
        f"{pairs.floor:.3f} judged, {result.apart} kept apart."
    )
    _earned(out, found)
    out.print(
        f"{result.count('same', 'auto')} groups merge by themselves; to review: "
        f"{result.count('same', 'review')} groups, {result.count('contains')} containments, "
        f"{result.count('conflicts')} conflicts."
    )
    if unreadable:
        lines = ", ".join(map(str, unreadable))
        out.print(
            f"Lines {lines} of review/pairs.jsonl cannot be read, and may hide that two memories "
            "differ: nothing merges by itself until they are mended or removed."
        )
    for view in views:
        out.print(f"\n{view['proposal_id']}  {view['kind']}, {view['route']}", style="bold")
        for member in view["members"]:
            stays = "  (stays)" if member["memory_id"] == view["survivor"] else ""
            out.print(text(f"  {member['memory_id']}{stays}  {member['subject']}"))
            out.print(text(f"      {member['detail']}"))
        for pair in view["pairs"]:
            why = f": {pair['because']}" if pair["because"] else ""
            out.print(
                text(f"  {pair['a']} – {pair['b']}  {pair['cosine']:.4f} {pair['relation']}{why}")
            )
    if len(views) < len(result.proposals):
        out.print(f"\n{len(result.proposals) - len(views)} more: see --limit, or merge report.")


def _earned(out: Console, found: MergePlan) -> None:
    point = found.calibrations[0].point
    if point.threshold is None:
        out.print(
            f"Equal texts apart, nothing merges by itself yet: {point.labels} reviewed pairs "
            f"passed every guard, precision at least {point.lower:.3f}, needed {point.target:g}."
        )
    else:
        out.print(f"Merges by itself from cosine {point.threshold:.4f} ({point.labels} labels).")


def _changed(out: Console, found: MergeChange) -> None:
    if not found.supersessions and not found.labels:
        out.print("Nothing to do.")
        return
    for row in found.supersessions:
        verb = "no longer replaces" if row.retracted else "replaces"
        out.print(f"{row.superseded_by} {verb} {row.memory_id}")
    if found.labels:
        out.print(f"{found.labels} pairs noted as reviewed.")
    if found.siblings:
        out.print(f"Near relatives that stay active: {', '.join(found.siblings)}")
    if found.intents:
        out.print("Takes effect with the next publication: memory-assets nightly.")


def _explained(out: Console, found: Mapping[str, Any]) -> None:
    for memory in found["memories"]:
        out.print(f"{memory['memory_id']}  {text(memory['subject'])}", style="bold")
        out.print(text(f"  {memory['detail']}"))
        out.print(f"  {memory['status']}, {memory['origin']}, decided {memory['decided_at'][:10]}")
    automatic = found["automatic_from"]
    earned = "not earned" if automatic is None else f"from {automatic:.4f}"
    out.print(
        f"cosine {found['cosine']:.4f} (review from {found['review_floor']:.3f}, automatic "
        f"{earned}) → {found['route']}, {found['relation']}"
    )
    if not found["same_scope"]:
        out.print("The two are not visible to the same people: they never merge.")
    if found["verdicts"]:
        shown = table("guard", "outcome", "only in A", "only in B", "note")
        for v in found["verdicts"]:
            cells = (", ".join(v["only_a"]), ", ".join(v["only_b"]), v["note"])
            shown.add_row(v["guard"], v["outcome"], *(text(c) for c in cells))
        out.print(shown)
    if found["reviewed"]:
        seen = found["reviewed"]
        out.print(f"Reviewed as {seen['verdict']} by {text(seen['reviewer'])}.")
    for row in found["supersessions"]:
        verb = "no longer replaces" if row["retracted"] else "replaces"
        out.print(
            f"Generation {row['generation']}: {row['superseded_by']} {verb} {row['memory_id']}, "
            f"{row['decided_by']}."
        )


def _evaluation(out: Console, found: PairEvaluation) -> None:
    same = sum(p.same for p in found.pairs)
    out.print(f"{len(found.pairs)} pairs, {same} of them the same, in {found.space_id}")
    point = found.point
    earned = "not earned" if point.threshold is None else f"from cosine {point.threshold:.4f}"
    out.print(
        f"Automatic merging: {earned} ({point.labels} labels passed every guard, {point.errors} "
        f"wrong; precision at least {point.lower:.3f}, needed {point.target:g}). Review from "
        f"cosine {found.floor:.3f}."
    )
    out.print("\nEvery pair from a threshold on merged, without and with guards:", style="bold")
    names = ("P", "R", "F1", "B3", "P guarded", "R", "F1", "B3")
    shown = table("threshold", *names, right=("threshold", *names))
    for plain, kept in zip(found.without_guards, found.with_guards, strict=True):
        cells = [f"{plain.threshold:.2f}"]
        for point_, guards in ((plain, False), (kept, True)):
            cells += [f"{x:.3f}" for x in (point_.precision, point_.recall, point_.f1)]
            cells.append(f"{found.clustering(point_.threshold, guards=guards)['f1']:.3f}")
        shown.add_row(*cells)
    out.print(shown)
    out.print("\nRouting, same / different by the labels:", style="bold")
    routes = table("kind", "auto", "review", "ignored", right=("auto", "review", "ignored"))
    for kind, by_route in (("all", found.routing()), *found.routing_by_kind().items()):
        cells = [f"{c['same']} / {c['different']}" for c in by_route.values()]
        routes.add_row(text(kind), *cells)
    out.print(routes)
