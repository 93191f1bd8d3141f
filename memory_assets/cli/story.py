"""A night as a person reads it: the funnel, what was left out, where things are, what is next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from memory_assets.cli.output import table, text
from memory_assets.domain.reasons import in_words

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.inspect.quarantine import RefusedLine
    from memory_assets.pipeline.nightly.dry_run import DryRunReport
    from memory_assets.pipeline.nightly.night import NightReport
    from memory_assets.steps.ledgers.decide import DecideResult
    from memory_assets.steps.ledgers.ingest import IngestResult
    from memory_assets.steps.promotion.extract import ExtractResult
    from memory_assets.steps.promotion.publish import PublishResult

SHOWN: Final = 20
_INDENT: Final = "  "


def night_story(out: Console, report: NightReport, *, now: datetime) -> None:
    """Prints what one night did."""
    night, published = report.ingest, report.publish
    state = "published" if published.published else f"stands: {_unchanged(report)}"
    title = f"Night of {now:%Y-%m-%d %H:%M} UTC: generation {published.generation} {state}"
    out.print(title, style="bold")
    _funnel(
        out,
        [
            ("sessions", night.sessions, _sessions(night)),
            ("events", night.events, _events(night)),
            (
                "effective decisions",
                report.decide.in_force,
                _effective(report.decide),
            ),
            (
                "candidates",
                report.candidates,
                f"{sum(report.waiting.values())} wait for a reviewer",
            ),
            ("promoted", published.new_memories, _promoted(report)),
            ("memories", published.memories, _index(report)),
        ],
    )
    _dropped(out, report.dropped)
    _quarantine(out, night.quarantined, report.refused)
    more = [*_stopped(report), *_extraction(report.extract), *_unembedded(published)]
    more += _refused_reviews(published.assessment.refused_reviews)
    more += [
        f"change {r.no} ({r.kind}) was not applied: {r.reason}" for r in published.refused_intents
    ]
    if report.merge is not None and report.merge.problem:
        more.append(f"no search for new duplicates tonight: {report.merge.problem}")
    _attention(out, night, more)
    _heading(out, "Where")
    _pairs(out, report.paths.items())
    _heading(out, f"Time: {report.seconds:.1f} s")
    _pairs(out, ((name, _seconds(report, name)) for name in report.steps))
    _next(out, report.waiting, report.proposals)


def dry_run_story(out: Console, report: DryRunReport) -> None:
    """Prints what a night would do."""
    night = report.ingest
    out.print("Dry run: nothing was written.", style="bold")
    _funnel(
        out,
        [
            ("sessions", night.sessions, _sessions(night)),
            ("events", night.events, _events(night)),
            (
                "effective decisions",
                report.decide.in_force,
                _effective(report.decide),
            ),
            (
                "candidates",
                report.candidates,
                f"{report.assessment.candidates.height} would wait for a reviewer",
            ),
            (
                "to be promoted",
                len(report.plan.promotions.memories),
                f"{len(report.plan.promotions.corroborations)} seen again",
            ),
        ],
    )
    promoted = [*report.would_promote(), *report.would_corroborate()]
    _listed(out, "Would be promoted", promoted, ("memory_id", "kind", "place", "subject"))
    _listed(out, "Would wait for a reviewer", report.would_wait(), ("label", "place", "subject"))
    _listed(out, "Would be left out", report.left_out(), ("place", "subject", "reason"))
    _quarantine(out, night.quarantined, report.refused)
    _attention(out, night, _refused_reviews(report.assessment.refused_reviews))


def _funnel(out: Console, steps: Sequence[tuple[str, int, str]]) -> None:
    out.print()
    _counted(out, ((count, name, note) for name, count, note in steps))


def _counted(out: Console, rows: Iterable[tuple[int, str, str]]) -> None:
    shown = table("count", "what", "note", right=("count",))
    shown.show_header = False
    for count, what, note in rows:
        shown.add_row(f"{count:,}", what, note)
    out.print(shown)


def _effective(decided: DecideResult) -> str:
    return (
        f"of {decided.decisions}; {decided.clarifications_in_force} are clarifications, the others "
        "belong to their own question"
    )


def _sessions(night: IngestResult) -> str:
    off = sum(night.switched_off.values())
    also = f"; {off} more of tenants that are switched off" if off else ""
    return (
        f"{night.changed} new or changed since the last night; {night.open_sessions} not "
        f"finished{also}"
    )


def _events(night: IngestResult) -> str:
    own = f"; {night.companion_events:,} in companion files" if night.companion_events else ""
    return f"{night.new_events:,} new{own}; {_lines(night.quarantined)}"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'} in quarantine"


def _promoted(report: NightReport) -> str:
    origins = ", ".join(f"{n} {origin}" for origin, n in sorted(report.publish.by_origin.items()))
    seen = f"{report.publish.corroborated} seen again"
    return f"{origins}; {seen}" if origins else seen


def _index(report: NightReport) -> str:
    published = report.publish
    found = f"{published.embedded} texts embedded"
    if published.pending:
        found += (
            f"; {published.pending} memories are not searchable by vector until the next "
            "night, or `memory-assets reindex`, asks the model again"
        )
    if published.intents_applied:
        found += (
            f"; {published.intents_applied} changed (merged, retired, ...): `memory-assets diff "
            f"{published.generation - 1} {published.generation}`"
        )
    return found


def _dropped(out: Console, dropped: Mapping[str, int]) -> None:
    if not dropped:
        return
    _heading(out, "Clarifications that are no candidates")
    order = sorted(dropped.items(), key=lambda item: (-item[1], item[0]))
    _counted(out, ((count, code, in_words(code)) for code, count in order))


def _quarantine(out: Console, count: int, lines: Sequence[RefusedLine]) -> None:
    if not count:
        return
    _heading(out, f"Quarantine ({count})")
    for line in lines[:SHOWN]:
        out.print(f"{_INDENT}{text(line.place)}  {line.code}: {text(line.reason)}")
    if count > min(len(lines), SHOWN):
        out.print(f"{_INDENT}all of them: memory-assets quarantine list")


def _attention(out: Console, night: IngestResult, more: Iterable[str]) -> None:
    notes = [f"{t}/{s}: {status}: {why}" for t, s, status, why in night.problems]
    if night.fail_closed:
        notes.append(
            f"{night.fail_closed} session(s) with a refused line: a reviewer's word is needed there"
        )
    notes += [
        f"{tenant}: {n} session(s) not consolidated: the tenant is not in tenants.toml"
        for tenant, n in sorted(night.unknown_tenants.items())
    ]
    notes += more
    if notes:
        _heading(out, "Needs attention")
        for note in notes[:SHOWN]:
            out.print(_INDENT + text(note))
        if len(notes) > SHOWN:
            out.print(f"{_INDENT}and {len(notes) - SHOWN} more: memory-assets doctor")


def _stopped(report: NightReport) -> list[str]:
    """Tenants that the pre-flight check stopped; unknown ones are named elsewhere."""
    return [
        f"{tenant}: stopped by check {found['number']} ({found['name']}): {found['message']}; "
        f"{found['remedy']}"
        for tenant in report.held_up
        for found in [report.stopped[tenant]]
    ]


def _unchanged(report: NightReport) -> str:
    """Why no generation was published."""
    if not report.held_up:
        return "nothing had changed"
    return f"nothing new, and the pre-flight check stopped {', '.join(report.held_up)}"


def _unembedded(published: PublishResult) -> list[str]:
    """Models that did not do their work, so that rows wait for a vector."""
    return [
        f"{model}: {code}: what it did not embed waits for the next night; memory-assets doctor "
        "asks it"
        for model, code in sorted(published.problems.items())
    ]


def _extraction(extract: ExtractResult | None) -> list[str]:
    """Free-text events that gave no facts although they should have."""
    if extract is None:
        return []
    notes = []
    if extract.pending:
        why = "; ".join(extract.problems)
        notes.append(f"{extract.pending} free-text event(s) wait for a model's answer: {why}")
    if extract.refused_answers:
        notes.append(
            f"{extract.refused_answers} answer(s) of a model are in quarantine: "
            "memory-assets facts refused --tenant TENANT"
        )
    return notes


def _refused_reviews(refused: Iterable[Any]) -> list[str]:
    return [f"review decision in line {r.line} is not applied: {r.reason}" for r in refused]


def _seconds(report: NightReport, step: str) -> str:
    took = f"{report.steps[step]:.2f} s"
    if step != "publish":
        return took
    inner = ", ".join(f"{name} {s:.2f}" for name, s in report.publish.seconds.items() if s >= 0.01)
    return f"{took} ({inner})" if inner else took


def _listed(
    out: Console, title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> None:
    if not rows:
        return
    _heading(out, f"{title} ({len(rows)})")
    shown = table(*columns)
    for row in rows[:SHOWN]:
        place = f"{row['tenant_id']}/{row['session_id']} {row['ref']}"
        shown.add_row(*(text(place if c == "place" else row[c]) for c in columns))
    out.print(shown)
    if len(rows) > SHOWN:
        out.print(f"{_INDENT}and {len(rows) - SHOWN} more: add --json for all of them")


def _next(out: Console, waiting: Mapping[str, int], proposals: Mapping[str, int]) -> None:
    _heading(out, "Next")
    tenants = sorted({*waiting, *proposals})
    if not tenants:
        out.print(f"{_INDENT}Nothing waits for a reviewer.")
    for tenant in tenants:
        counts = (
            (waiting.get(tenant, 0), "candidate(s)"),
            (proposals.get(tenant, 0), "proposal(s) about published memories"),
        )
        what = " and ".join(f"{count} {kind}" for count, kind in counts if count)
        out.print(
            f"{_INDENT}{what} of {text(tenant)} wait for a reviewer: "
            f"memory-assets review list --tenant {text(tenant)}",
            soft_wrap=True,
        )


def _heading(out: Console, title: str) -> None:
    out.print()
    out.print(title, style="bold")


def _pairs(out: Console, pairs: Iterable[tuple[str, str]]) -> None:
    rows = table("", "")
    rows.show_header = False
    for name, value in pairs:
        rows.add_row(name, text(value))
    out.print(rows)
