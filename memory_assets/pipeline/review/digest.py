"""A digest for reviewers: what is new, what waits, what conflicts; as Markdown or HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from memory_assets.domain.boundaries import listing_refusal
from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.visibility import Principal, Rule, rule_for
from memory_assets.errors import CorruptStore
from memory_assets.pipeline.inspect.markdown import inline, render
from memory_assets.pipeline.review.state import Item, QueueFilter, ReviewState, refused_lines
from memory_assets.steps.registry.view import RegistryView

NIGHT: Final = timedelta(hours=24)
LISTED: Final = 50
"""Items that a section quotes; the counts are always complete."""
_CONFLICTS: Final = ("conflicts", "refines")


@dataclass(frozen=True, slots=True)
class Digest:
    """What a reviewer should know, for one tenant."""

    tenant_id: str
    now: datetime
    since: datetime
    generation: int
    published: tuple[int, ...]
    """Generations published since then."""
    new: tuple[dict[str, Any], ...]
    seen_again: tuple[dict[str, Any], ...]
    gone: tuple[dict[str, Any], ...]
    """Memories superseded or retired since then."""
    waiting: tuple[Item, ...]
    conflicts: tuple[Item, ...]
    """Of those that wait: conflicts, refinements and proposals about published memories."""
    oldest: str | None
    refused_lines: int

    def to_dict(self) -> dict[str, Any]:
        """The digest as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "since": self.since.isoformat(),
            "generation": self.generation,
            "published": list(self.published),
            "new": list(self.new),
            "seen_again": list(self.seen_again),
            "gone": list(self.gone),
            "waiting": list(self.waiting),
            "conflicts": list(self.conflicts),
            "oldest": self.oldest,
            "refused_lines": self.refused_lines,
        }

    def to_markdown(self) -> str:
        """The digest as a Markdown document; content in it is quoted, never formatting."""
        return "\n".join(self._lines()) + "\n"

    def to_html(self) -> str:
        """The same as one HTML page that needs nothing from anywhere."""
        title = f"Review digest of {self.tenant_id}"
        return _PAGE.format(title=_plain(title), body=render(self.to_markdown()))

    def _lines(self) -> Iterator[str]:
        yield f"# Review digest of {inline(self.tenant_id)}"
        yield ""
        yield (
            f"{self.now:%Y-%m-%d %H:%M} UTC, generation {self.generation}; news since "
            f"{self.since:%Y-%m-%d %H:%M} UTC."
        )
        yield from _section("New memories", len(self.new), map(_memory, self.new))
        yield from _section("Seen again", len(self.seen_again), map(_again, self.seen_again))
        if self.gone:
            yield from _section("No longer found", len(self.gone), map(_gone, self.gone))
        yield from _section(
            "Conflicts and proposals", len(self.conflicts), map(_waiting, self.conflicts)
        )
        waiting = map(_waiting, self.waiting)
        yield from _section("Waiting for a reviewer", len(self.waiting), waiting)
        if self.oldest:
            yield from ("", f"The oldest waits since {self.oldest[:10]}.")
        if self.refused_lines:
            what = f"{self.refused_lines} line(s) of the review file do not count"
            yield from ("", f"{what}: `memory-assets review refused` says why.")
        yield from ("", f"To review: `memory-assets review --tenant {self.tenant_id}`")


def make_digest(
    state: ReviewState, principal: Principal, tenant_id: str, *, since: datetime | None = None
) -> Digest:
    """The digest of one tenant as the principal may see it; by default of the last 24 hours.

    Raises:
        UnknownTenantError, AccessDenied: the principal may not review that tenant.
    """
    rule = rule_for(principal, tenant_id, "review")
    start = since or state.now - NIGHT
    published = _published_since(state, start)
    first = min(published, default=state.registry.generation + 1)
    queue = state.queue(principal, QueueFilter(tenant_id))
    lines = refused_lines(state.assessment, state.proposals)
    everything = rule == rule_for(Principal.local(tenant_id), tenant_id, "review")
    return Digest(
        tenant_id=tenant_id,
        now=state.now,
        since=start,
        generation=state.registry.generation,
        published=tuple(published),
        new=tuple(_new(state, rule, tenant_id, first)),
        seen_again=tuple(_seen(state.registry, rule, tenant_id, first)),
        gone=tuple(_lost(state.registry, rule, tenant_id, first)),
        waiting=queue.items,
        conflicts=tuple(
            i for i in queue.items if i["kind"] != "candidate" or i["label"].startswith(_CONFLICTS)
        ),
        oldest=queue.oldest,
        refused_lines=len(lines) if everything else 0,
    )


def _published_since(state: ReviewState, start: datetime) -> list[int]:
    store = state.workspace.generations
    current, _ = store.current()
    found = []
    for number in sorted(store.kept(current)):
        try:
            one = current if number == current.number else store.load(number)
        except CorruptStore:
            continue
        if one.number and datetime.fromisoformat(one.published_at) >= start:
            found.append(number)
    return found


def _readable(state: ReviewState, rule: Rule, tenant_id: str) -> pl.DataFrame:
    rows = state.registry.status().filter((pl.col("tenant_id") == tenant_id) & rule.expr())
    names = SchemaNames(state.workspace.tenant_rules(tenant_id).patterns)
    kept = [
        listing_refusal(kind, subject, names) is None
        for kind, subject in rows.select("type", "subject").iter_rows()
    ]
    return rows.filter(pl.Series(kept, dtype=pl.Boolean))


def _new(state: ReviewState, rule: Rule, tenant_id: str, first: int) -> Iterator[dict[str, Any]]:
    rows = _readable(state, rule, tenant_id).filter(pl.col("promoted_generation") >= first)
    columns = ["memory_id", "subject", "detail", "origin", "verdict_by", "session_id", "status"]
    yield from rows.select(columns).to_dicts()


def _seen(
    registry: RegistryView, rule: Rule, tenant_id: str, first: int
) -> Iterator[dict[str, Any]]:
    owners = registry.status().select(
        "tenant_id", "memory_id", "user_id", "client_id", "audience", "tier"
    )
    rows = registry.corroborations.filter(
        pl.col("tenant_id") == tenant_id, pl.col("generation") >= first
    ).join(owners, on=["tenant_id", "memory_id"], how="inner")
    shown = rows.filter(rule.expr()).sort("memory_id", "session_id", "decision_seq")
    yield from shown.select("memory_id", "kind", "subject", "session_id", "verdict_by").to_dicts()


def _lost(
    registry: RegistryView, rule: Rule, tenant_id: str, first: int
) -> Iterator[dict[str, Any]]:
    recent = (pl.col("tenant_id") == tenant_id) & (pl.col("generation") >= first)
    changed = {
        *registry.retirements.filter(recent)["memory_id"],
        *registry.supersessions.filter(recent, ~pl.col("retracted"))["memory_id"],
    }
    rows = registry.status().filter(
        (pl.col("tenant_id") == tenant_id)
        & pl.col("memory_id").is_in(sorted(changed))
        & (pl.col("status") != "active")
        & rule.expr()
    )
    yield from rows.select("memory_id", "status", "superseded_by", "subject").to_dicts()


def _section(title: str, count: int, lines: Iterator[str]) -> Iterator[str]:
    yield from ("", f"## {title} ({count})", "")
    if not count:
        yield "None."
        return
    yield from (line for line, _ in zip(lines, range(LISTED), strict=False))
    if count > LISTED:
        yield f"* … and {count - LISTED} more"


def _memory(row: Mapping[str, Any]) -> str:
    return f"* **{row['memory_id']}** {inline(row['subject'])}: {inline(row['detail'])}"


def _again(row: Mapping[str, Any]) -> str:
    where = inline(row["session_id"])
    return f"* **{row['memory_id']}** {inline(row['subject'])} ({row['kind']}, {where})"


def _gone(row: Mapping[str, Any]) -> str:
    by = f" by {row['superseded_by']}" if row["superseded_by"] else ""
    return f"* **{row['memory_id']}** {inline(row['subject'])}: {row['status']}{by}"


def _waiting(item: Item) -> str:
    later = ", put off" if item["state"] == "deferred" else ""
    why = f" ({inline(item['why'])})" if item.get("why") else ""
    return (
        f"* `{_code(item['item_id'])}` *{inline(item['label'])}{later}* "
        f"{inline(item['subject'])}: {inline(item['detail'])}{why}"
    )


def _code(text: str) -> str:
    return text.replace("`", "'")


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root{{color-scheme:light dark}}body{{font:16px/1.5 system-ui,sans-serif;max-width:52rem;
margin:2rem auto;padding:0 1rem}}code{{font-size:.9em}}li{{margin:.3rem 0}}</style></head>
<body>
{body}</body></html>
"""
