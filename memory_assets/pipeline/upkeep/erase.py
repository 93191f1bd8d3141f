"""Erasure on request: a person, or a memory, is gone from every file that is ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl

from memory_assets.domain.events import REUSABLE_TYPES, LedgerEvent
from memory_assets.domain.intents import Remove
from memory_assets.domain.keys import cited_memories
from memory_assets.domain.parsing import ParsedLedger
from memory_assets.domain.promotion import PromotionKey
from memory_assets.domain.schemas import PROMOTION_KEY, SESSIONS, TableSpec
from memory_assets.errors import LedgerUnreadable, UnknownMemoryError, UsageError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.registry.receipts import Receipt, write_receipt
from memory_assets.steps.registry.view import frame_of_keys
from memory_assets.steps.tables.blanking import WHOLE_SESSION
from memory_assets.storage.intents import append_intents
from memory_assets.storage.ledgers import SessionFiles, read_ledger, scan_ledgers
from memory_assets.storage.locks import exclusive
from memory_assets.storage.redaction import drop_lines, redact_in_place

_SHOWN: Final = 1_000
_TEXTS: Final = (
    *("session_id", "subject", "detail", "rationale", "question_context", "tables", "concepts"),
    *("metadata", "edited_from", "verdict_by"),
)
"""Columns of a memory in which a person may be named."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Who or what is to be erased within one tenant; exactly one of the three is named."""

    tenant_id: str
    client_id: str | None = None
    user_id: str | None = None
    memory_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if sum((bool(self.client_id), bool(self.user_id), bool(self.memory_ids))) != 1:
            raise UsageError(
                "It is not clear what to erase.",
                remedy="name one client, or one user, or memories of one tenant.",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Identifiers that must not be found anywhere afterwards."""
        return tuple(n for n in (self.client_id, self.user_id) if n)

    @property
    def names_it(self) -> re.Pattern[str] | None:
        """Finds an identifier as a word of its own; None where memories are named."""
        if not self.names:
            return None
        return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, self.names))})(?![\w-])")

    @property
    def column(self) -> str:
        """The column that holds the person's identifier."""
        return "client_id" if self.client_id else "user_id"

    def speaks_of(self, event: LedgerEvent) -> bool:
        """Whether a ledger row is about the person."""
        client, user = event.row.client_id or None, event.row.user_id or None
        return bool(self.client_id and client == self.client_id) or bool(
            self.user_id and user == self.user_id
        )

    def in_other_letters(self, known: set[str]) -> list[str]:
        """Identifiers of ``known`` that differ from the person's in case and blanks alone."""
        mine = {name.strip().casefold() for name in self.names}
        return sorted(i for i in known - set(self.names) if i.strip().casefold() in mine)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """A line that only its owner may change."""

    path: str
    line: int
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The line as ``--json`` prints it; no content."""
        return {"path": self.path, "line": self.line, "why": self.why}


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """What an erasure takes away, and what is left to the owner of the ledgers; no content."""

    tenant_id: str
    memory_ids: tuple[str, ...]
    keys: tuple[PromotionKey, ...]
    """Decisions and other rows that must never be promoted, each without its content."""
    ledger_lines: tuple[LedgerLine, ...]
    companion_lines: tuple[LedgerLine, ...]
    mentions: tuple[LedgerLine, ...]
    """Lines that name the person without being about them: look at these by hand."""
    naming: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Memories that are not about the person and name them, each with the columns that do."""

    @property
    def empty(self) -> bool:
        """Whether nothing of it is on record."""
        return not (self.memory_ids or self.keys or self.mentions or self.naming)

    def to_dict(self) -> dict[str, Any]:
        """The plan as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "memories": len(self.memory_ids),
            "memory_ids": list(self.memory_ids),
            "rows": len(self.keys),
            "ledger_lines": [line.to_dict() for line in self.ledger_lines],
            "companion_lines": len(self.companion_lines),
            "mentions": [line.to_dict() for line in self.mentions],
            "memories_that_name_it": [
                {"memory_id": memory, "columns": list(columns)} for memory, columns in self.naming
            ],
        }


@dataclass(frozen=True, slots=True)
class ErasureResult:
    """What was erased; the receipt is on disk, unless there was nothing to erase."""

    plan: ErasurePlan
    generation: int
    published: bool
    """Whether that generation is a new one, and the ones before were destroyed for it."""
    redacted_ledger_lines: int
    receipt: Path | None
    left: tuple[LedgerLine, ...] = field(default=())
    """Lines of ledgers that still hold it."""

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            **self.plan.to_dict(),
            "generation": self.generation,
            "published": self.published,
            "redacted_ledger_lines": self.redacted_ledger_lines,
            "left_to_the_owner": [line.to_dict() for line in self.left[:_SHOWN]],
            "receipt": str(self.receipt) if self.receipt else None,
        }


def plan_erasure(workspace: Workspace, subject: Subject) -> ErasurePlan:
    """What would be erased: every ledger of the tenant is read anew, so nothing is missed.

    Raises:
        UnknownMemoryError: a named memory is not in the registry.
        UsageError: nothing is about this person, but about one whose identifier differs in case.
    """
    view = workspace.registry().of_tenant(subject.tenant_id)
    memories = view.memories
    if subject.memory_ids:
        held = memories.filter(pl.col("memory_id").is_in(list(subject.memory_ids)))
        lost = set(subject.memory_ids) - set(held["memory_id"].to_list())
        if lost:
            raise UnknownMemoryError(
                f"The registry of {subject.tenant_id!r} has no {', '.join(sorted(lost))}.",
                remedy="`memory-assets registry list --all` shows what it has.",
            )
    else:
        held = memories.filter(pl.col(subject.column).is_in(list(subject.names)))
    ids = tuple(held["memory_id"].to_list())
    keys: set[PromotionKey] = set(held.select(PROMOTION_KEY).rows())
    seen_again = view.corroborations.filter(pl.col("memory_id").is_in(list(ids)))
    keys.update(seen_again.select(PROMOTION_KEY).rows())
    found = _Found()
    for files in _sessions(workspace, subject.tenant_id):
        refs = {seq for _, session, seq, _ in keys if session == files.session_id}
        found.look(files, subject, refs, frozenset(ids))
    keys.update(found.keys)
    if subject.names and held.is_empty() and not found.spoken_of:
        known = found.people | set(memories[subject.column].drop_nulls().to_list())
        _require_right_letters(subject, known)
    if subject.names_it is not None:  # who applied a memory is on record with the use
        keys.update(
            r[:-1]
            for r in view.uses.select(*PROMOTION_KEY, "used_by").rows()
            if subject.names_it.search(r[-1])
        )
    found.mentions += _own_mentions(workspace, subject, keys)
    return ErasurePlan(
        subject.tenant_id,
        ids,
        tuple(sorted(keys)),
        tuple(found.ledger),
        tuple(found.companion),
        tuple(found.mentions),
        tuple(_naming_memories(memories, subject, ids)),
    )


def _require_right_letters(subject: Subject, known: set[str]) -> None:
    alike = subject.in_other_letters(known)
    if alike:
        kind, name = subject.column.removesuffix("_id"), subject.names[0]
        raise UsageError(
            f"Nothing is about a {kind} {name!r}, but rows of {subject.tenant_id!r} are about "
            f"{', '.join(map(repr, alike))}.",
            remedy="identifiers are compared letter by letter: write the one that is meant.",
        )


def _naming_memories(
    memories: pl.DataFrame, subject: Subject, ids: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Memories that stay although one of their texts names the person."""
    if subject.names_it is None:
        return
    stay = memories.filter(~pl.col("memory_id").is_in(list(ids))).sort("memory_id")
    for row in stay.select("memory_id", *_TEXTS).iter_rows(named=True):
        told = tuple(name for name in _TEXTS if subject.names_it.search(_as_text(row[name])))
        if told:
            yield row["memory_id"], told


def _as_text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def erase(
    workspace: Workspace, subject: Subject, *, now: datetime, by: str, redact_ledgers: bool
) -> ErasureResult:
    """What was erased; a new generation is published and all earlier ones are destroyed.

    The receipt is on disk before anything is: one that names no generation is of a request that
    was cut short. Without anything to erase there is no receipt, and only what a kill left is
    ended.

    Whatever a kill leaves is ended by running the same command again; once the request is on
    record the next night ends it too. ``redact_ledgers`` blanks the person's rows in the ledgers
    in place: the one exception to never touching a ledger.

    Raises:
        UnknownMemoryError: a named memory is not in the registry.
        PublisherBusy, StoreError: see ``Publisher.publish``.
    """
    plan = plan_erasure(workspace, subject)
    redacted = _redact_files(plan, ledgers=redact_ledgers)
    _drop_named_lines(workspace, subject)
    if redact_ledgers and plan.ledger_lines:
        _reset_watermarks(workspace, plan)
    generation = workspace.generations.current()[0]
    digests = _digests_of(workspace, plan)
    buried = set(workspace.registry().tombstones.select(PROMOTION_KEY).rows())
    new = [key for key in plan.keys if key not in buried]
    receipt = Receipt(
        kind="erasure",
        tenant_id=plan.tenant_id,
        at=now,
        by=by,
        generation=None,
        counts={
            "memories": len(plan.memory_ids),
            "rows": len(plan.keys),
            "redacted_ledger_lines": redacted,
            "redacted_companion_lines": len(plan.companion_lines),
        },
        digests=digests,
    )
    gone = bool(plan.memory_ids or plan.keys or redacted)
    path = write_receipt(workspace.home, receipt) if gone else None
    if plan.memory_ids or new:
        wish = Remove(
            tenant_id=plan.tenant_id,
            decided_by=by,
            decided_at=now,
            memory_ids=plan.memory_ids,
            keys=tuple((s, n, f) for _, s, n, f in new),
            removal="erasure",
        )
        append_intents(workspace.home, [wish], after=generation.intents_through)
    workspace.publish(run_id="erasure", now=now)
    workspace.write_views()
    number = workspace.generations.current()[0].number
    if gone:
        path = write_receipt(workspace.home, replace(receipt, generation=number))
    left = () if redact_ledgers else plan.ledger_lines
    published = number != generation.number
    return ErasureResult(plan, number, published, redacted, path, (*left, *plan.mentions))


class _Found:
    """What the ledgers of a tenant hold of the subject."""

    def __init__(self) -> None:
        self.keys: set[PromotionKey] = set()
        self.spoken_of = False
        self.people: set[str] = set()
        self.ledger: list[LedgerLine] = []
        self.companion: list[LedgerLine] = []
        self.mentions: list[LedgerLine] = []

    def look(
        self, files: SessionFiles, subject: Subject, refs: set[int], ids: frozenset[str]
    ) -> None:
        """Adds one session; ``refs`` are rows known to be concerned, ``ids`` the memories.

        A row that proposes or reuses such a memory holds its words, accepted or not.
        """
        names = {"tenant_id": files.tenant_id, "session_id": files.session_id}
        both = [
            (files.ledger, read_ledger(files.ledger, **names, origin="ledger"), self.ledger),
            (
                files.companion,
                read_ledger(files.companion, **names, origin="companion"),
                self.companion,
            ),
        ]
        events = [e for _, parsed, _ in both for e in parsed.events]
        about = {e.ref for e in events if subject.speaks_of(e)}
        self.spoken_of |= bool(about)
        self.people |= {v for e in events if (v := getattr(e.row, subject.column))}
        hit = refs | about | {e.ref for e in events if _repeats(e, ids)}
        quoting = {e.ref for e in events if e.target in hit}
        for path, parsed, lines in both:
            concerned = {e.line: e.ref for e in parsed.events if e.ref in hit | quoting}
            lines += [LedgerLine(str(path), n, "is about it") for n in sorted(concerned)]
            for number in _naming(parsed, subject.names):
                if number not in concerned:
                    self.mentions.append(LedgerLine(str(path), number, "names it"))
                    self.keys.add((*files.key, WHOLE_SESSION, 0))
        self.keys.update((*files.key, ref, 0) for ref in hit)


def _repeats(event: LedgerEvent, ids: frozenset[str]) -> bool:
    if event.type == "memory_proposed":
        return event.detail.strip() in ids
    return event.type in REUSABLE_TYPES and not ids.isdisjoint(cited_memories(event.rationale))


def _own_mentions(
    workspace: Workspace, subject: Subject, keys: set[PromotionKey]
) -> Iterator[LedgerLine]:
    """Lines of settings and verdicts that name the person: they are people's own words.

    Verdicts about what is erased go with it. Who reviews is no subject of the registry.
    """
    pattern, home = subject.names_it, workspace.home
    if pattern is None:
        return
    for path in (home.tenants_file, home.root / "settings.toml"):
        for number, text in enumerate(_lines(path), 1):
            if pattern.search(text):
                yield LedgerLine(str(path), number, "names it")
    for number, text in enumerate(_lines(home.review_decisions), 1):
        row = _object(text)
        key = tuple(row.get(name, 0 if name == "fact_no" else None) for name in PROMOTION_KEY)
        said = [v for name, v in row.items() if name not in ("reviewer", "tenant_id")]
        mine = row.get("tenant_id", subject.tenant_id) == subject.tenant_id
        if mine and key not in keys and any(pattern.search(str(v)) for v in said):
            yield LedgerLine(str(home.review_decisions), number, "names it")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return []


def _object(text: str) -> Mapping[str, object]:
    try:
        row = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"line": text}
    return row if isinstance(row, dict) else {"line": text}


def _naming(parsed: ParsedLedger, names: Sequence[str]) -> Iterator[int]:
    """Numbers of the lines in whose bytes an identifier occurs, readable or not."""
    wanted = [name.encode() for name in names]
    for number, raw in enumerate(parsed.data.split(b"\n"), 1):
        if any(name in raw for name in wanted):
            yield number


def _sessions(workspace: Workspace, tenant_id: str) -> Iterator[SessionFiles]:
    noted: list[Any] = []
    for files in scan_ledgers(workspace.settings.ledgers, noted):
        if files.tenant_id == tenant_id:
            yield files
    blocked = [p for p in noted if p.tenant_id == tenant_id]
    if blocked:
        raise LedgerUnreadable(
            f"Not every ledger of {tenant_id!r} can be read: {blocked[0].message}",
            remedy="an erasure must see them all; mend that and run it again.",
        )


def _redact_files(plan: ErasurePlan, *, ledgers: bool) -> int:
    """Blanks companion rows, which are ours, and ledger rows if that was asked for."""
    for path, numbers in _by_path(plan.companion_lines).items():
        redact_in_place(path, numbers)
    if not ledgers:
        return 0
    return sum(redact_in_place(path, n) for path, n in _by_path(plan.ledger_lines).items())


def _by_path(lines: Sequence[LedgerLine]) -> dict[Path, set[int]]:
    found: dict[Path, set[int]] = {}
    for line in lines:
        found.setdefault(Path(line.path), set()).add(line.line)
    return found


def _drop_named_lines(workspace: Workspace, subject: Subject) -> None:
    """Lines of our own logs that name the person, whatever they are about; verdicts stay."""
    pattern, home = subject.names_it, workspace.home
    if pattern is None:
        return

    def names(row: Mapping[str, object]) -> bool:
        mine = row.get("tenant_id", subject.tenant_id) == subject.tenant_id
        return mine and any(pattern.search(str(value)) for value in row.values())

    for folder in (home.review_decisions.parent, home.access_log, home.logs, home.preflight):
        for path in sorted(folder.rglob("*.jsonl")):
            if path != home.review_decisions:
                drop_lines(path, names)


def _reset_watermarks(workspace: Workspace, plan: ErasurePlan) -> None:
    """Redacted ledgers are read as new ones: that an accepted row changed is meant this time."""
    sessions = {Path(line.path).stem for line in plan.ledger_lines}

    def forget(spec: TableSpec, frame: pl.DataFrame) -> pl.DataFrame:
        if spec.name != SESSIONS.name:
            return frame
        concerned = (pl.col("tenant_id") == plan.tenant_id) & pl.col("session_id").is_in(
            sorted(sessions)
        )
        return frame.filter(~concerned)

    with exclusive(workspace.home.derived_lock, purpose="resetting watermarks", wait=True):
        workspace.derived.rewrite(forget)


def _digests_of(workspace: Workspace, plan: ErasurePlan) -> list[str]:
    """What identifies each erased thing without saying what it was; the receipt adds a key."""
    view = workspace.registry().of_tenant(plan.tenant_id)
    keys = frame_of_keys(set(plan.keys))
    held = view.memories.filter(pl.col("memory_id").is_in(list(plan.memory_ids)))
    contents = held.select("memory_id", "content_sha256").rows()
    rows = keys.sort(PROMOTION_KEY).rows()
    return ["\x1f".join(map(str, row)) for row in (*contents, *rows)]
