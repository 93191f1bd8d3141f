"""Strict parsing of ledger bytes: every line becomes an event, or a quarantined line with a reason.

Tolerant readers lose exactly what matters here: a line that vanishes may be the withdrawal of a
decision. So bytes are split on line feeds only and each line must be strict UTF-8 and a JSON object
without duplicate keys, NaN or overflowing numbers, with the right types. Nothing is skipped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec
import orjson
from msgspec import UNSET

from memory_assets.domain.events import (
    EVENT_TYPES,
    KNOWN_FIELDS,
    LedgerEvent,
    RawRow,
    format_ref,
    parse_ref,
)

Origin = Literal["ledger", "companion"]
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 100
"""Levels of lists and objects: far below what any decoder on the way can bear."""
_EPOCH_MS_FLOOR: Final = 100_000_000_000  # smaller numbers could be seconds: not guessed
_INTEGERS: Final = range(-(2**63), 2**64)  # wider ones would silently become floats
_BOM: Final = b"\xef\xbb\xbf"
_TORN_CODES: Final = frozenset({"not-utf8", "not-json"})
_DECODE: Final = msgspec.json.Decoder(RawRow).decode
_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode
_NEEDS_REFERENCE: Final = frozenset(n for n, e in EVENT_TYPES.items() if e.reference)
_NEEDS_PHASE: Final = frozenset(n for n, e in EVENT_TYPES.items() if e.phase_required)


class BadLine(Exception):
    """Why one line was refused; becomes a quarantined line."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class QuarantinedLine:
    """One refused line with all that is needed to repair it."""

    line: int
    offset: int
    code: str
    reason: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class ParsedLedger:
    """What a ledger (or companion) file holds."""

    tenant_id: str
    session_id: str
    origin: Origin
    events: tuple[LedgerEvent, ...]
    digests: bytes
    """8 bytes per accepted row, in order: its canonical content, whatever the white space."""
    quarantined: tuple[QuarantinedLine, ...]
    torn_tail: QuarantinedLine | None
    """A last line without line end that does not parse: somebody is still writing."""
    size: int
    sha256: str
    notes: tuple[str, ...] = ()
    data: bytes = field(default=b"", repr=False)
    """The bytes themselves, for whoever must quote a line."""

    def refuse(self, line: int, code: str, reason: str) -> QuarantinedLine:
        """A line that parses but was refused later on, with its place and raw bytes."""
        offset, raw = next((o, raw) for number, o, raw in _lines(self.data) if number == line)
        return QuarantinedLine(line, offset, code, reason, raw)


def parse_ledger(
    data: bytes, *, tenant_id: str, session_id: str, origin: Origin = "ledger"
) -> ParsedLedger:
    """All rows of one file, accepted or quarantined, in file order.

    ``tenant_id`` is the folder's name and ``session_id`` the file's; a row that names another one
    is quarantined, since accepting it would let one tenant write into another's registry. A last
    line without line end counts when it parses, and means "still being written" when it does not.
    """
    parser = _Parser(tenant_id, session_id, origin, plain=_is_plain(data))
    quarantined = []
    torn: QuarantinedLine | None = None
    for number, offset, raw in _lines(data):
        line = raw[:-1] if raw.endswith(b"\r") else raw
        if not line or line.isspace():
            continue
        try:
            parser.accept(line, number)
        except BadLine as bad:
            refused = QuarantinedLine(number, offset, bad.code, str(bad), raw)
            if offset + len(raw) >= len(data) and bad.code in _TORN_CODES:
                torn = refused
            else:
                quarantined.append(refused)
    return ParsedLedger(
        tenant_id=tenant_id,
        session_id=session_id,
        origin=origin,
        events=tuple(parser.events),
        digests=b"".join(parser.digests),
        quarantined=tuple(quarantined),
        torn_tail=torn,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        notes=("bom",) if data.startswith(_BOM) else (),
        data=data,
    )


def _lines(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(line number, byte offset, bytes) of each line; only a line feed ends a line."""
    offset = len(_BOM) if data.startswith(_BOM) else 0
    for number, raw in enumerate((data[offset:] if offset else data).split(b"\n"), 1):
        yield number, offset, raw
        offset += len(raw) + 1


class _Parser:
    """State of one file: what was accepted so far, for order and references."""

    def __init__(self, tenant_id: str, session_id: str, origin: Origin, *, plain: bool) -> None:
        self.tenant_id = tenant_id
        self.session_id = session_id
        self.companion = origin == "companion"
        self.plain = plain
        self.events: list[LedgerEvent] = []
        self.digests: list[bytes] = []
        self._last_seq = 0
        self._last_after = 0
        self._seen: set[int] = set()

    def accept(self, line: bytes, number: int) -> None:
        """Append the event of one line.

        Raises:
            BadLine: the line is not an acceptable row.
        """
        row, canonical, extra = decode_row(line, plain=self.plain)
        seq = row.seq
        if seq <= self._last_seq:
            raise BadLine(
                "seq-order",
                f"seq {seq} repeats or is below an earlier one (last accepted: {self._last_seq})",
            )
        if row.tenant_id != self.tenant_id and row.tenant_id:
            raise BadLine(
                "foreign-tenant",
                f"tenant_id {row.tenant_id[:80]!r} is not the folder's ({self.tenant_id!r})",
            )
        if row.session_id != self.session_id and row.session_id:
            raise BadLine(
                "foreign-session",
                f"session_id {row.session_id[:80]!r} is not the file's ({self.session_id!r})",
            )
        if row.type in _NEEDS_PHASE and not row.phase:
            raise BadLine("bad-phase", f"{row.type} needs a phase, F1 to F8")
        ts, note = parse_time(row.ts)
        after = self._after(row) if self.companion else seq
        target = self._target(row) if row.type in _NEEDS_REFERENCE else None
        ref = -seq if self.companion else seq
        self._seen.add(ref)
        self._last_seq = seq
        self._last_after = after
        self.events.append(
            LedgerEvent(
                row, self.tenant_id, self.session_id, ref, after, ts, note, target, number, extra
            )
        )
        self.digests.append(hashlib.sha256(canonical).digest()[:8])

    def _after(self, row: RawRow) -> int:
        after = row.after_seq
        if after is UNSET:
            raise BadLine("bad-after-seq", "a companion row needs after_seq, an integer from 0 up")
        if after < self._last_after:
            raise BadLine(
                "after-seq-order",
                f"after_seq {after} is below the one of the row before ({self._last_after})",
            )
        return after

    def _target(self, row: RawRow) -> int | None:
        detail = row.detail or ""
        target = parse_ref(detail)
        if target is None:
            kind = EVENT_TYPES[row.type].reference
            if kind == "decision_or_memory" and detail.strip().startswith("mem-"):
                return None
            raise BadLine(
                "bad-reference", f"detail of {row.type} must be seq:N or m:N, not {detail[:80]!r}"
            )
        # A row that names the other file's rows is judged by the replay, which sees both.
        if (target < 0) == self.companion and target not in self._seen:
            raise BadLine(
                "bad-reference", f"{format_ref(target)} names no earlier accepted row of this file"
            )
        return target


def decode_row(line: bytes, *, plain: bool = False) -> tuple[RawRow, bytes, str]:
    r"""The row on one line, its canonical bytes, and the unknown fields as a JSON object (or "").

    ``plain`` promises that the line has no ``\u00`` escape. Then every quote of a kept text stands
    in the line and in the re-encoded row alike, while a repeated or unknown key leaves at least two
    quotes behind that the re-encoded row does not have: equal counts prove that every key was kept.
    Any doubt takes the slow, exact way.

    Raises:
        BadLine: not UTF-8, not JSON, not an object, duplicate keys, NaN, overflow, NUL, bad types,
            or nested too deeply.
    """
    if len(line) > MAX_LINE_BYTES:
        raise BadLine("too-long", f"{len(line):,} bytes; the limit is {MAX_LINE_BYTES:,}")
    if plain or _is_plain(line):
        try:
            row = _DECODE(line)
            canonical = _ENCODE(row)
            if line.count(b'"') == canonical.count(b'"') and row.metadata is UNSET:
                return row, canonical, ""
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    return decode_row_exactly(line)


def decode_row_exactly(line: bytes) -> tuple[RawRow, bytes, str]:
    """The same as ``decode_row``, always by the slow way that sees every key and every number.

    Raises:
        BadLine: as ``decode_row``, which has checked the length.
    """
    obj = _decode_exactly(line)
    try:
        row = msgspec.convert(obj, RawRow)
    except msgspec.ValidationError as error:
        raise BadLine("bad-field", f"{error}") from None
    canonical = _ENCODE(row)
    extra = ""
    if not obj.keys() <= KNOWN_FIELDS:
        unknown = {k: v for k, v in obj.items() if k not in KNOWN_FIELDS}
        extra = orjson.dumps(unknown, option=orjson.OPT_SORT_KEYS).decode()
        canonical += extra.encode()
    return row, canonical, extra


def parse_time(value: str | int) -> tuple[datetime, str]:
    """The instant in UTC, and a note: ``""``, ``naive`` (taken as UTC) or ``epoch_ms``.

    Raises:
        BadLine: not RFC 3339, outside the years 1 to 9999, or a number that may be seconds.
    """
    if isinstance(value, int):
        if abs(value) < _EPOCH_MS_FLOOR:
            raise BadLine("bad-time", f"ts {value} is no RFC 3339 time, and too small for epoch ms")
        try:
            return datetime.fromtimestamp(value / 1000, UTC), "epoch_ms"
        except (OverflowError, ValueError, OSError):
            raise BadLine("bad-time", f"ts {value} is outside the calendar") from None
    try:
        moment = datetime.fromisoformat(value[:-1] + "Z" if value.endswith("z") else value)
        # fromisoformat also takes dates alone, week dates and compact forms: RFC 3339 does not
        if value[4] != "-" or value[7] != "-" or value[10] not in "Tt " or value[16] != ":":
            raise ValueError("use the form 2026-01-31T10:00:00Z")
        zone = moment.tzinfo
        if zone is UTC:
            return moment, ""
        if zone is None:
            return moment.replace(tzinfo=UTC), "naive"
        return moment.astimezone(UTC), ""
    except (ValueError, OverflowError, IndexError) as error:
        why = f"{error}"[:120]  # it quotes the value, which may be megabytes of something else
        raise BadLine("bad-time", f"ts {value[:60]!r} is not an RFC 3339 time: {why}") from None


def _is_plain(data: bytes) -> bool:
    return b"\\u00" not in data


def _decode_exactly(line: bytes) -> dict[str, Any]:
    try:
        obj = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _explain(line, error) from None
    if type(obj) is not dict:
        raise BadLine("not-an-object", f"valid JSON, but a {_json_kind(obj)}, not an object")
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _too_deep(obj):
        raise BadLine("too-deep", f"lists and objects nest deeper than {MAX_DEPTH} levels")
    json.loads(line, object_pairs_hook=_refuse_repeated_keys, parse_int=_exact_integer)
    if b"\\u0000" in line and _has_nul(obj):
        raise BadLine("nul", "a text holds a NUL character")
    return obj


def _refuse_repeated_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in items:
        if key in found:
            raise BadLine("duplicate-key", f"the key {key[:60]!r} appears twice")
        found[key] = value
    return found


def _exact_integer(digits: str) -> int:
    number = int(digits)
    if number not in _INTEGERS:
        raise BadLine("bad-number", f"{digits[:60]} needs more than 64 bits: write it as a text")
    return number


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(k) or _has_nul(v) for k, v in value.items())
    if isinstance(value, list):
        return any(_has_nul(v) for v in value)
    return False


def _explain(line: bytes, error: Exception) -> BadLine:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as bad:
        return BadLine("not-utf8", f"not valid UTF-8 at byte {bad.start} of the line: {bad.reason}")
    if not line.strip(b"\0"):
        return BadLine("not-json", f"a block of {len(line):,} NUL bytes")
    return BadLine("not-json", f"not valid JSON: {error}")


def _json_kind(value: Any) -> str:
    kinds: dict[type, str] = {list: "list", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")
