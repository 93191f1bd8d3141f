"""The parts of ``doctor`` that look at the home folder and compare it with the ledgers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import polars as pl

from memory_assets.domain.schemas import PROMOTION_KEY, SESSIONS
from memory_assets.domain.tenants import tenant_table
from memory_assets.errors import CorruptStore, MemoryAssetsError, SchemaTooOld
from memory_assets.pipeline.health.findings import Finding, error, info, ok, warning
from memory_assets.pipeline.health.machine import is_writable
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.ledgers.decide import current_decisions
from memory_assets.steps.promotion.extract import current_facts
from memory_assets.steps.promotion.markers import owed_markers
from memory_assets.storage.access_log import read_uses
from memory_assets.storage.allocations import read_allocations
from memory_assets.storage.backup import disk_use
from memory_assets.storage.feedback_log import read_feedback
from memory_assets.storage.generations import Generation
from memory_assets.storage.home import Home
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.ledgers import scan_ledgers
from memory_assets.storage.lock_state import holder_of
from memory_assets.storage.migrations import refuse_older
from memory_assets.storage.review_log import read_review_log

NIGHTLY: Final = "memory-assets nightly"
REINDEX: Final = "memory-assets reindex"
REPAIR: Final = "memory-assets repair-index"
"""Also for an index that cannot be read."""
_NAMED: Final = 5
_MEND: Final = {
    "append-only-violation": "restore the ledger from a copy, then run `memory-assets nightly`.",
    "unreadable": "give this user permission to read the file, then run `memory-assets nightly`.",
    "missing": "restore the ledger, or leave it: what it gave stays published.",
}


def storage(workspace: Workspace) -> Iterator[Finding]:
    """Whether the home can be written, and is what was published last; every part is hashed."""
    home = workspace.home
    if not is_writable(home.root):
        yield error(
            "home", f"{home.root} is not writable for this user", f"chmod u+rwx {home.root}"
        )
    current, _ = workspace.generations.current(verify=True)
    try:
        refuse_older(home)
    except SchemaTooOld as failure:
        yield error(failure.code, failure.what, failure.remedy)
    if current.number == 0:
        yield info("generation", "nothing has been published yet", NIGHTLY)
        return
    yield ok(
        "generation",
        f"generation {current.number} of {current.published_at}, run {current.run_id}; all its "
        "files are as they were published",
    )
    yield from _index(workspace, current)
    for number in workspace.generations.kept(current):
        if number != current.number and workspace.generations.find(number) is None:
            yield warning(
                "older-generation",
                f"the manifest of generation {number} cannot be read, so --as-of cannot show it",
                f"restore {workspace.generations.manifest_path(number)}, or leave it.",
            )
    try:
        read_allocations(home)
    except CorruptStore as failure:
        yield error("allocations", failure.what, failure.remedy)
    refused = read_review_log(home.review_decisions).refused
    if refused:
        yield warning(
            "review-file",
            f"{len(refused)} line(s) of the review file cannot be read, the first is line "
            f"{refused[0].line}: {refused[0].reason}",
            f"repair the line in {home.review_decisions}.",
        )
    yield from _said_in_vain(home)


def _said_in_vain(home: Home) -> Iterator[Finding]:
    """Feedback that reaches no reviewer, and uses that count for nothing."""
    unread = read_feedback(home.feedback).refused
    if unread:
        yield warning(
            "feedback-file",
            f"{unread} line(s) of the feedback file cannot be read, so no reviewer sees them",
            f"repair them in {home.feedback}.",
        )
    refused = read_uses(home.access_log).refused
    if refused:
        yield warning(
            "access-log",
            f"{len(refused)} line(s) of the access log count as no use, the first is line "
            f"{refused[0].line} of {refused[0].file}: {refused[0].reason}",
            f"repair the line below {home.access_log}, or take it out.",
        )


def _index(workspace: Workspace, current: Generation) -> Iterator[Finding]:
    served = current.serving
    if served is None:
        yield error("index", "the published generation has no search index", REINDEX)
        return
    try:
        keys = PinnedIndex(workspace.home.index, served.table, served.version).keys()
    except MemoryAssetsError as failure:
        yield error("index", failure.what, REPAIR if isinstance(failure, CorruptStore) else REINDEX)
        return
    active = workspace.registry().active()
    wanted = active.select(pl.concat_str("tenant_id", pl.lit("/"), "memory_id").alias("row_key"))
    lost = wanted.join(keys, on="row_key", how="anti").height
    foreign = keys.join(wanted, on="row_key", how="anti").height
    twice = keys.height - keys["row_key"].n_unique()
    if lost or foreign or twice:
        yield error(
            "index",
            f"registry and index disagree: {lost} missing, {foreign} unknown, {twice} twice",
            REINDEX,
        )
        return
    yield ok("index", f"{keys.height} rows, the same as active memories")
    pending = keys.filter(~pl.col("has_vector")).height
    if pending:
        yield warning(
            "pending-vectors", f"{pending} memories are not searchable by vector", REINDEX
        )


def disk(home: Home) -> Iterator[Finding]:
    """Bytes of each part of the home, largest first; each embedding space by itself."""
    used = disk_use(home)
    yield info("total", _size(sum(used.values())))
    for name, count in used.items():
        yield info(name, _size(count))
        if name == home.index.name:
            for table in sorted(home.index.glob("*.lance")):
                space = sum(p.stat().st_size for p in table.rglob("*") if p.is_file())
                yield info(f"{name}/{table.stem}", _size(space))


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB ({count:,} bytes)"


def locks(home: Home) -> Iterator[Finding]:
    """Who is at work; a lock cannot outlive its process."""
    held = {p.name: holder_of(p) for p in sorted((home.root / "locks").glob("*.lock"))}
    busy = {name: who for name, who in held.items() if who is not None}
    if not busy:
        yield ok("locks", "nobody is at work on this home")
    for name, who in busy.items():
        yield info(name, f"held: {who}", "wait until it has ended.")


def drift(workspace: Workspace, *, now: datetime) -> Iterator[Finding]:
    """Where ledgers, tables and companion files have moved apart."""
    sessions = workspace.derived.read(ingest.GROUP, SESSIONS)
    if not workspace.settings.values["ledgers"]:
        return  # told under settings
    waiting = len(workspace.waiting_sessions().sessions)
    if waiting:
        what = f"{waiting} finished session(s) are new or have grown since the last night"
        yield info("ledgers", what, NIGHTLY)
    else:
        yield ok("ledgers", f"all finished sessions are read; {sessions.height} are known")
    yield from _blocked(sessions)
    yield from _unknown_tenants(workspace)
    quarantined = int(sessions["quarantined"].sum())
    if quarantined:
        yield warning(
            "quarantine",
            f"{quarantined} refused line(s) in {sessions.filter(pl.col('quarantined') > 0).height} "
            "session(s)",
            "memory-assets quarantine list",
        )
    registry = workspace.registry()
    assessment = workspace.assess(now=now)
    owed = owed_markers(workspace.derived, registry, assessment)
    if owed.height:
        yield warning(
            "markers",
            f"{owed.height} published verdict(s) are missing from companion files",
            "memory-assets recover",
        )
    unread = {r.line for r in read_review_log(workspace.home.review_decisions).refused}
    refused = [r for r in assessment.refused_reviews if r.line not in unread]  # told under storage
    if refused:
        yield warning(
            "review-file",
            f"{len(refused)} review decision(s) are not applied, the first in "
            f"line {refused[0].line}: {refused[0].reason}",
            "decide on the candidate as it is now; `memory-assets review refused` lists them all.",
        )
    columns = [*PROMOTION_KEY, "in_force"]
    decisions = pl.concat(
        [
            current_decisions(workspace.derived, sessions, columns),
            current_facts(workspace.derived, sessions, columns),
        ]
    ).filter(~pl.col("in_force"))
    ended = registry.active().join(decisions, on=PROMOTION_KEY, how="semi").height
    if ended:
        yield info(
            "ended-decisions",
            f"{ended} active memories stand on a decision that is no longer in force",
            "a reviewer decides; `memory-assets history` shows what ended it.",
        )
    if assessment.candidates.height:
        yield info(
            "review",
            f"{assessment.candidates.height} candidates wait for a reviewer",
            "memory-assets review list --tenant TENANT",
        )


def _blocked(sessions: pl.DataFrame) -> Iterator[Finding]:
    blocked = sessions.filter(pl.col("status") != "ok").sort("tenant_id", "session_id")
    for (status,), rows in blocked.group_by("status", maintain_order=True):
        names = [f"{t}/{s}" for t, s in rows.select("tenant_id", "session_id").iter_rows()]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        make = warning if status == "missing" else error
        yield make(
            str(status),
            f"{len(names)} session(s) are blocked: {', '.join(names[:_NAMED])}{more}",
            _MEND.get(str(status), "see the night's report."),
        )


def _unknown_tenants(workspace: Workspace) -> Iterator[Finding]:
    settings = workspace.settings
    found = Counter(
        f.tenant_id
        for f in scan_ledgers(settings.ledgers, [])
        if not settings.is_known(f.tenant_id) and not settings.is_switched_off(f.tenant_id)
    )
    for tenant, count in sorted(found.items()):
        yield warning(
            "unknown-tenant",
            f"{count} session(s) of {tenant!r} are not consolidated: the tenant has no entry",
            f"add {tenant_table(tenant)} to {workspace.settings.tenants_file}.",
        )
