"""Checking ledgers before the night does: every problem with its file, line and remedy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from memory_assets.domain.effective import EffectiveSession, IgnoredRow, effective_decisions
from memory_assets.domain.events import REUSABLE_TYPES
from memory_assets.domain.parsing import ParsedLedger
from memory_assets.errors import LedgerUnreadable, UsageError
from memory_assets.storage.ledgers import (
    COMPANION_SUFFIX,
    LEDGER_SUFFIX,
    ScanProblem,
    companion_path,
    ledger_path,
    read_ledger,
    scan_ledgers,
)

Level = Literal["error", "warning", "info"]
"""An error keeps rows out, or a session waiting for a reviewer; a warning is likely a mistake."""

REMEDIES: Final[dict[str, str]] = {
    "not-utf8": "Write the line as UTF-8; it may be repaired in place: it was never accepted.",
    "not-json": "Repair the line in place so that it is one JSON object: it was never accepted.",
    "not-an-object": "Write one JSON object on the line, with fields by name.",
    "duplicate-key": "Write each key once; which of the two was meant cannot be guessed.",
    "bad-number": "Keep numbers within 64 bits, or write them as texts: readers would disagree.",
    "too-deep": "Flatten metadata: nested this deep, nobody can read it.",
    "nul": "Remove the NUL character from the text.",
    "too-long": "Shorten the row: no single row needs megabytes.",
    "bad-field": "Give the field the type that the JSON Schema of a ledger row states.",
    "bad-phase": "Name the phase of the decision, F1 to F8.",
    "bad-time": "Write ts as RFC 3339 with an offset, such as 2026-01-31T10:00:00Z.",
    "seq-order": "Number rows upwards, each number once; repair the line or append it anew.",
    "foreign-tenant": "Move the row to its own tenant's folder, or correct tenant_id.",
    "foreign-session": "Move the row to its own session's file, or correct session_id.",
    "bad-reference": "Name an earlier, accepted row of the same session: seq:N, or m:N for a row "
    "of the companion file.",
    "bad-after-seq": "Write after_seq, the number of the ledger row that this one follows.",
    "after-seq-order": "Companion rows stand in replay order: after_seq never goes down.",
    "after-seq-unknown": "after_seq names a row that the ledger does not have yet: restore the "
    "ledger, or correct the number.",
    "companion-torn": "Delete the torn last line of the companion file; the next night writes the "
    "missing rows again.",
    "companion-without-ledger": "Restore the ledger; without it these rows have no effect.",
    "unreadable": "Restore the file, or give this user permission to read it.",
    "torn-tail": "Wait if a program is still writing; else complete the line or cut it off.",
    "no-line-end": "End the last line with a line feed, or the next row may be glued to it.",
    "naive-time": "Add the offset (Z for UTC); until then the time is taken as UTC.",
    "epoch-time": "Write ts as RFC 3339 with an offset; the number was taken as milliseconds.",
    "unknown-type": "Check the spelling; a row of a type that nobody knows has no effect.",
    "marker-not-reusable": "Nothing to repair: only a clarified concept can become memory, so the "
    "marker has no effect.",
    "byte-order-mark": "Nothing to repair; write UTF-8 without a byte order mark from now on.",
    "empty-clarification": "Append the clarification anew with subject and detail: without both it "
    "never becomes memory.",
    "stray-file": "Move it to <ledgers>/<tenant>/<session>.jsonl; it is not read where it lies.",
    "empty": "Nothing to repair; a session without rows is not consolidated.",
    "open-session": "Append session_closed when the session has ended; it is not consolidated "
    "before.",
}
_LEVELS: Final[dict[str, Level]] = {
    "torn-tail": "warning",
    "no-line-end": "warning",
    "naive-time": "warning",
    "epoch-time": "warning",
    "unknown-type": "warning",
    "marker-not-reusable": "warning",
    "after-seq-unknown": "warning",
    "empty-clarification": "warning",
    "stray-file": "warning",
    "byte-order-mark": "info",
    "empty": "info",
    "open-session": "info",
}
_LIKE_A_LEDGER: Final = re.compile(r"\.(jsonl|ndjson)(\.\w+)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend or to know, where it is, and how to mend it."""

    file: str
    line: int
    """Counted from 1; 0 when the whole file is meant."""
    level: Level
    code: str
    message: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """The problem as ``--json`` prints it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class LintReport:
    """What was read, and every problem in order of file and line."""

    sessions: int
    rows: int
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether the night would take every row; warnings do not stop it."""
        return not any(p.level == "error" for p in self.problems)

    def counts(self) -> dict[Level, int]:
        """Number of problems per level."""
        found = Counter(p.level for p in self.problems)
        return {level: found[level] for level in get_args(Level)}

    def to_dict(self) -> dict[str, Any]:
        """The report as ``--json`` prints it."""
        return {
            "sessions": self.sessions,
            "rows": self.rows,
            "ok": self.ok,
            "counts": self.counts(),
            "problems": [p.to_dict() for p in self.problems],
        }


def lint_ledgers(path: Path) -> LintReport:
    """Every problem of one ledger, of a tenant's folder, or of a whole ledgers folder.

    Nothing is written. The same parser and replay as in the night judge the rows, so what is
    reported here is what would be quarantined, ignored or left waiting there.

    Raises:
        UsageError: the path does not exist, or is no ledger.
        LedgerUnreadable: the folder itself cannot be listed.
    """
    path = path.absolute()
    ledgers, files = _files(path)
    problems = [
        _problem(file, 0, "stray-file", "The file lies in no tenant's folder.")
        for file in files
        if file.parent == ledgers
    ]
    problems += _unlisted(path)
    problems += [
        _problem(file, 0, "stray-file", "The name does not end in .jsonl, so nobody reads it.")
        for file in _misnamed(path)
    ]
    rows = 0
    sessions = sorted({(f.parent.name, _session_id(f)) for f in files if f.parent != ledgers})
    for tenant_id, session_id in sessions:
        check = _SessionCheck(ledgers, tenant_id, session_id)
        problems += check.run()
        rows += check.rows
    in_order = sorted(problems, key=lambda p: (p.file, p.line, p.code))
    return LintReport(len(sessions), rows, tuple(in_order))


def _files(path: Path) -> tuple[Path, list[Path]]:
    """The folder of all tenants that the path belongs to, and the files that it means."""
    pattern = f"[!.]*{LEDGER_SUFFIX}"
    if path.is_file():
        if path.name.endswith(LEDGER_SUFFIX):
            return path.parents[1], [path]
        raise UsageError(
            "This file is no ledger.",
            where=str(path),
            remedy="name a <session>.jsonl, a tenant's folder, or the folder of all tenants.",
        )
    here = list(path.glob(pattern))
    below = list(path.glob(f"[!.]*/{pattern}"))
    if here and not below:
        return path.parent, here
    scan_ledgers(path, [])  # says whether it is a folder that can be listed at all
    return path, here + below


def _unlisted(path: Path) -> Iterator[Problem]:
    """What the night cannot even list: tenants' folders, and files whose names are no text."""
    noted: list[ScanProblem] = []
    if path.is_dir():
        scan_ledgers(path, noted)
    for found in noted:
        place = path / found.tenant_id
        what = found.message.partition(" Where: ")[0]
        yield _problem(place if found.name == "*" else place / found.name, 0, "unreadable", what)


def _misnamed(path: Path) -> Iterator[Path]:
    """Files of a folder that look like ledgers, compressed or in capitals, say."""
    for pattern in ("[!.]*", "[!.]*/[!.]*") if path.is_dir() else ():
        for file in path.glob(pattern):
            if _LIKE_A_LEDGER.search(file.name) and not file.name.endswith(LEDGER_SUFFIX):
                yield file


def _session_id(file: Path) -> str:
    suffix = COMPANION_SUFFIX if file.name.endswith(COMPANION_SUFFIX) else LEDGER_SUFFIX
    return file.name.removesuffix(suffix)


class _SessionCheck:
    """The problems of one session's two files."""

    def __init__(self, ledgers: Path, tenant_id: str, session_id: str) -> None:
        self._names = {"tenant_id": tenant_id, "session_id": session_id}
        self._ledger = ledger_path(ledgers, tenant_id, session_id)
        self._companion = companion_path(ledgers, tenant_id, session_id)
        self.rows = 0

    def run(self) -> Iterator[Problem]:
        """The problems in no particular order; ``rows`` holds the accepted rows afterwards."""
        if _is_gone(self._ledger):
            yield _problem(self._companion, 0, "companion-without-ledger", "Its ledger is gone.")
            return
        try:
            ledger = read_ledger(self._ledger, **self._names, origin="ledger")
            companion = read_ledger(self._companion, **self._names, origin="companion")
        except LedgerUnreadable as error:
            yield _problem(Path(error.where), 0, "unreadable", error.what)
            return
        self.rows = len(ledger.events) + len(companion.events)
        yield from self._form(self._ledger, ledger)
        yield from self._form(self._companion, companion)
        yield from self._places(ledger, companion)
        session = effective_decisions([*ledger.events, *companion.events])
        for row in (*session.dangling, *session.ignored):
            yield self._row(row)
        yield from self._state(ledger, session)

    def _form(self, path: Path, parsed: ParsedLedger) -> Iterator[Problem]:
        """What the parser refused or only just accepted."""
        for bad in parsed.quarantined:
            yield _problem(path, bad.line, bad.code, bad.reason)
        torn = parsed.torn_tail
        if torn is not None:
            code = "torn-tail" if parsed.origin == "ledger" else "companion-torn"
            yield _problem(path, torn.line, code, f"The last line is torn: {torn.reason}")
        if "bom" in parsed.notes:
            yield _problem(path, 1, "byte-order-mark", "The file starts with a byte order mark.")
        for event in parsed.events:
            if event.ts_note:
                code = "naive-time" if event.ts_note == "naive" else "epoch-time"
                yield _problem(path, event.line, code, f"ts {event.row.ts!r} has no offset.")
            said = (event.subject.strip(), event.detail.strip())
            if event.type in REUSABLE_TYPES and not all(said):
                what = " and ".join(
                    n for n, v in zip(("subject", "detail"), said, strict=True) if not v
                )
                yield _problem(path, event.line, "empty-clarification", f"It has no {what}.")

    def _places(self, ledger: ParsedLedger, companion: ParsedLedger) -> Iterator[Problem]:
        last = ledger.events[-1].ref if ledger.events else 0
        for event in companion.events:
            if event.after_seq > last:
                what = f"after_seq {event.after_seq} is above the ledger's last row ({last})."
                yield _problem(self._companion, event.line, "after-seq-unknown", what)

    def _row(self, row: IgnoredRow) -> Problem:
        path = self._ledger if row.event.ref > 0 else self._companion
        return _problem(path, row.event.line, row.code, row.reason)

    def _state(self, ledger: ParsedLedger, session: EffectiveSession) -> Iterator[Problem]:
        """What the file as a whole amounts to."""
        if ledger.torn_tail is not None:
            return
        if not ledger.events:
            if not ledger.quarantined:
                yield _problem(self._ledger, 0, "empty", "The ledger holds no rows.")
            return
        if _lacks_line_end(self._ledger):
            line = max([e.line for e in ledger.events] + [q.line for q in ledger.quarantined])
            yield _problem(self._ledger, line, "no-line-end", "The last line has no line end.")
        if not session.finished:
            closed = any(event.type == "session_closed" for event in ledger.events)
            what = "Rows follow the last session_closed." if closed else "No session_closed."
            yield _problem(self._ledger, ledger.events[-1].line, "open-session", what)


def _is_gone(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False  # opening it will say why
    return False


def _lacks_line_end(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() != b"\n"


def _problem(path: Path, line: int, code: str, message: str) -> Problem:
    return Problem(str(path), line, _LEVELS.get(code, "error"), code, message, REMEDIES[code])
