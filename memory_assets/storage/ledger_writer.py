"""Appending to a session's ledger: for agents, and for whoever else writes ledgers in Python.

A ledger is the only way in, so a row that the nightly run would refuse is refused here, before it
is written. The same parser judges it. Any number of processes may append to one session.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from memory_assets.domain.events import Audience, Phase, Source, parse_ref
from memory_assets.domain.parsing import ParsedLedger, parse_ledger
from memory_assets.errors import LedgerUnreadable, RowRefused, TornLedger, UsageError
from memory_assets.storage.files import fsync_folder, make_folder, write_errors
from memory_assets.storage.ledgers import (
    COMPANION_SUFFIX,
    LEDGER_SUFFIX,
    companion_path,
    ledger_path,
    read_ledger,
)

_STANDS_FOR_A_ROW: Final = '{{"seq": {}, "ts": "2000-01-01T00:00:00Z", "type": "row"}}\n'


def _utc_now() -> datetime:
    return datetime.now(UTC)


class LedgerWriter:
    """Appends rows to one session's ledger, each of them durable before its number comes back.

    Every append takes an exclusive lock on the file, reads what others appended meanwhile, checks
    the new row with the parser of the nightly run, writes it in one piece and syncs it to disk. A
    process that is killed leaves whole rows, and at the very most a torn last line.

    ::

        with LedgerWriter("ledgers", "clinic", "2026-01-31-ablations") as ledger:
            seq = ledger.append(
                "concept_clarified", phase="F1", subject="Ablation", detail="…", rationale="…"
            )
            ledger.append("session_closed", phase="F8")
    """

    def __init__(
        self,
        ledgers: Path | str,
        tenant_id: str,
        session_id: str,
        *,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        """``clock`` gives the time of rows that are appended without one.

        Raises:
            UsageError: tenant or session cannot be the name of a folder or file.
        """
        _check_name("tenant_id", tenant_id)
        _check_name("session_id", session_id)
        if f"{session_id}{LEDGER_SUFFIX}".endswith(COMPANION_SUFFIX):
            raise UsageError(
                f"session_id {session_id!r} would name a companion file.",
                remedy="choose an id that does not end in .markers.",
            )
        self.tenant_id = tenant_id
        self.session_id = session_id
        self.path = ledger_path(Path(ledgers), tenant_id, session_id)
        self._companion = companion_path(Path(ledgers), tenant_id, session_id)
        self._clock = clock
        self._handle: int | None = None
        self._guard = threading.Lock()
        self._size = -1
        self._next_seq = 1
        self._seen: set[int] = set()
        self._missing_line_end = False

    @classmethod
    def at(cls, path: Path | str, *, clock: Callable[[], datetime] = _utc_now) -> Self:
        """The writer of ``<ledgers>/<tenant>/<session>.jsonl``, by its path.

        Raises:
            UsageError: the path is not the one of a ledger.
        """
        path = Path(path).absolute()
        if path.suffix != LEDGER_SUFFIX:
            raise UsageError(
                "A ledger's name ends in .jsonl.",
                where=str(path),
                remedy="name <ledgers>/<tenant>/<session>.jsonl.",
            )
        return cls(path.parents[1], path.parent.name, path.stem, clock=clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file; a later append opens it again."""
        with self._guard:
            self._close()

    def append(
        self,
        type: str,
        *,
        ts: datetime | None = None,
        phase: Phase | None = None,
        subject: str | None = None,
        detail: str | None = None,
        rationale: str | None = None,
        question_context: str | None = None,
        tables: Sequence[str] | None = None,
        concepts: Sequence[str] | None = None,
        user_id: str | None = None,
        client_id: str | None = None,
        audience: Audience | None = None,
        source: Source | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> int:
        """The ``seq`` of the new row, once it is on disk.

        Fields that are None are left out; ``extra`` holds fields that this version does not know.
        The number is one above the last row's; lines in quarantine after it keep theirs free, so
        that they can be repaired.

        Raises:
            RowRefused: the row is not acceptable; nothing was written.
            TornLedger: the file ends in a torn line; nothing was written.
            LedgerUnreadable: the file cannot be opened or read.
            StoreWriteFailed: the row cannot be written; what was there is unchanged.
        """
        moment: object = self._clock() if ts is None else ts
        if not isinstance(moment, datetime):
            raise self._mistyped("ts", moment, "datetime with a zone")
        if moment.tzinfo is None:
            raise self._refusal("the time has no zone", "pass a datetime with one, such as UTC.")
        known: dict[str, Any] = {
            "ts": moment.isoformat().replace("+00:00", "Z"),
            "session_id": self.session_id,
            "tenant_id": self.tenant_id,
            "phase": phase,
            "type": type,
            "subject": subject,
            "detail": detail,
            "rationale": rationale,
            "question_context": question_context,
            "tables": self._texts("tables", tables),
            "concepts": self._texts("concepts", concepts),
            "user_id": user_id,
            "client_id": client_id,
            "audience": audience,
            "source": source,
            "metadata": self._fields("metadata", metadata),
        }
        fields = {k: v for k, v in known.items() if v is not None}
        for name, value in (self._fields("extra", extra) or {}).items():
            if name == "seq" or name in known:
                raise self._refusal(f"extra holds {name!r}", "pass it as an argument of its own.")
            fields[name] = value
        with self._guard, self._locked() as handle:
            line = self._encode({"seq": self._next_seq, **fields})
            self._check(line, str(detail or ""))
            self._write(handle, line)
            seq = self._next_seq
            self._seen.add(seq)
            self._next_seq += 1
            return seq

    def _texts(self, field: str, value: object) -> list[Any] | None:
        """The list that a row holds; a text is no list of its letters."""
        if value is None:
            return None
        if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
            raise self._mistyped(field, value, "list of texts")
        return list(value)

    def _fields(self, field: str, value: object) -> dict[Any, Any] | None:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self._mistyped(field, value, "dict")
        return dict(value)

    def _encode(self, row: dict[str, Any]) -> bytes:
        try:
            return json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
        except (TypeError, ValueError) as error:  # UnicodeEncodeError is a ValueError
            raise self._refusal(f"it is not JSON: {error}", "mend the field.") from None

    def _check(self, line: bytes, detail: str) -> None:
        """Lets the parser judge the row behind stand-ins for the earlier rows that it depends on.

        Parsing the whole file at every append would cost ever more with its length.
        """
        target = parse_ref(detail)
        needed = {self._next_seq - 1, target or 0} & self._seen
        before = "".join(_STANDS_FOR_A_ROW.format(n) for n in sorted(needed)).encode()
        parsed = self._parse(before + line)
        if parsed.quarantined:
            raise self._refusal(parsed.quarantined[0].reason, "mend the field and append again.")
        reference = parsed.events[-1].target
        if reference is not None and reference < 0:
            companion = read_ledger(
                self._companion,
                tenant_id=self.tenant_id,
                session_id=self.session_id,
                origin="companion",
            )
            if all(event.ref != reference for event in companion.events):
                raise self._refusal(
                    f"{detail.strip()} names no row of the companion file", "mend the reference."
                )

    def _write(self, handle: int, line: bytes) -> None:
        data = b"\n" + line if self._missing_line_end else line
        with write_errors(self.path):
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(handle, rest) :]
                os.fsync(handle)
            except OSError:
                # Half a row would look like one that is still being written.
                os.ftruncate(handle, self._size)
                raise
        self._size += len(data)
        self._missing_line_end = False

    @contextmanager
    def _locked(self) -> Iterator[int]:
        handle = self._open_and_lock()
        try:
            size = os.fstat(handle).st_size
            if size != self._size:
                self._read(handle, size)
            yield handle
        finally:
            if self._handle is not None:
                fcntl.flock(handle, fcntl.LOCK_UN)

    def _open_and_lock(self) -> int:
        """The locked file that the path names now; it may have been replaced meanwhile."""
        while True:
            if self._handle is None:
                make_folder(self.path.parent)
                with write_errors(self.path):
                    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                    self._handle = os.open(self.path, flags, 0o644)
                    fsync_folder(self.path.parent)
                self._size = -1
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            try:
                if os.path.samestat(os.fstat(self._handle), self.path.stat()):
                    return self._handle
            except FileNotFoundError:
                pass
            self._close()

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _read(self, handle: int, size: int) -> None:
        """Takes in what the file holds now."""
        try:
            data = os.pread(handle, size, 0)
        except OSError as error:
            raise LedgerUnreadable(
                f"A ledger cannot be read: {error.strerror}.",
                where=str(self.path),
                remedy="give this user permission to read it.",
            ) from error
        parsed = self._parse(data)
        if parsed.torn_tail is not None:
            torn = parsed.torn_tail
            raise TornLedger(
                "The last line is torn: a writer died in it, or one that takes no lock is at work.",
                where=f"{self.path}, line {torn.line}, from byte {torn.offset} on",
                remedy="if no other program writes this file, keep a copy of that line and cut the "
                f"file to {torn.offset} bytes, then append again; nothing was written.",
            )
        last_line = parsed.events[-1].line if parsed.events else 0
        last_seq = parsed.events[-1].ref if parsed.events else 0
        spare = sum(bad.line > last_line for bad in parsed.quarantined)
        self._next_seq = last_seq + spare + 1
        self._seen = {event.ref for event in parsed.events}
        self._missing_line_end = bool(data) and not data.endswith(b"\n")
        self._size = size

    def _parse(self, data: bytes) -> ParsedLedger:
        return parse_ledger(data, tenant_id=self.tenant_id, session_id=self.session_id)

    def _mistyped(self, field: str, value: object, wanted: str) -> RowRefused:
        return self._refusal(f"{field} is a {value.__class__.__name__}", f"pass a {wanted}.")

    def _refusal(self, why: str, remedy: str) -> RowRefused:
        return RowRefused(f"The row was not appended: {why}.", where=str(self.path), remedy=remedy)


def _check_name(field: str, name: str) -> None:
    """Raises UsageError unless the name is sound as one part of a path."""
    try:
        sound = bool(name) and not name.startswith(".") and not {"/", "\0"} & set(name)
        name.encode("utf-8")
    except UnicodeEncodeError:
        sound = False
    if not sound:
        raise UsageError(
            f"{field} {name!r} cannot be the name of a file.",
            remedy="use letters, digits and hyphens.",
        )
