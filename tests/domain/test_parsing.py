"""Strict parsing: every line is an event, or refused with its reason and its bytes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.parsing import (
    MAX_DEPTH,
    MAX_LINE_BYTES,
    BadLine,
    ParsedLedger,
    parse_ledger,
    parse_time,
)
from tests.building import SESSION, TENANT, close, jsonl, note, parse, row


def _codes(parsed: ParsedLedger) -> list[str]:
    return [q.code for q in parsed.quarantined]


def _line(**fields: Any) -> bytes:
    return json.dumps(row(3) | fields, ensure_ascii=False).encode()


def _raw(tail: bytes) -> bytes:
    """A row that is sound up to its last fields, given as bytes."""
    return b'{"seq":3,"ts":"2026-01-31T10:00:00Z","type":"memory_event",' + tail + b"}"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param(b"not json", "not-json", id="words"),
        pytest.param(b"[]", "not-an-object", id="list"),
        pytest.param(b'"text"', "not-an-object", id="string"),
        pytest.param(b"null", "not-an-object", id="null"),
        pytest.param(b"3", "not-an-object", id="number"),
        pytest.param(b"{}", "bad-field", id="no event"),
        pytest.param(b'{"a": 1}', "bad-field", id="other object"),
        pytest.param(b"\0" * 512, "not-json", id="block of NULs"),
        pytest.param(b"\0\0" + _line(), "not-json", id="NULs before a row"),
        pytest.param(_line() + _line(), "not-json", id="two rows on one line"),
        pytest.param(_line() + b",", "not-json", id="trailing comma"),
        pytest.param(b"\xef\xbb\xbf" + _line(), "not-json", id="BOM in the middle"),
        pytest.param(_raw(b'"detail":"a\xff"'), "not-utf8", id="bad byte"),
        pytest.param(_raw(b'"unknown":"a\xff"'), "not-utf8", id="bad byte in an unknown field"),
        pytest.param(_raw(b'"detail":"\xed\xa0\x80"'), "not-utf8", id="encoded surrogate"),
        pytest.param(_raw(b'"detail":"\xc0\x80"'), "not-utf8", id="overlong NUL"),
        pytest.param(_raw(b'"detail":"\\ud83d"'), "not-json", id="lone surrogate"),
        pytest.param(_raw(b'"metadata":{"a":"\\udc00"}'), "not-json", id="lone low surrogate"),
        pytest.param(_raw(b'"detail":"a\tb"'), "not-json", id="raw control character"),
        pytest.param(_raw(b'"detail":"a\0b"'), "not-json", id="raw NUL"),
        pytest.param(_raw(b'"detail":"a\\u0000b"'), "nul", id="escaped NUL"),
        pytest.param(_raw(b'"metadata":{"a":["\\u0000"]}'), "nul", id="NUL in metadata"),
        pytest.param(_raw(b'"x\\u0000":1'), "nul", id="NUL in an unknown key"),
        pytest.param(_raw(b'"metadata":{"a":NaN}'), "not-json", id="NaN"),
        pytest.param(_raw(b'"metadata":{"a":Infinity}'), "not-json", id="infinity"),
        pytest.param(_raw(b'"metadata":{"a":1e400}'), "not-json", id="overflow"),
        pytest.param(_raw(b'"unknown":-1e400'), "not-json", id="overflow in an unknown field"),
        pytest.param(_raw(b'"unknown":' + b"9" * 5000), "not-json", id="5000 digits"),
        pytest.param(_raw(b'"metadata":{"a":18446744073709551616}'), "bad-number", id="65 bits"),
        pytest.param(_raw(b'"unknown":[-9223372036854775809]'), "bad-number", id="64 bits, minus"),
        pytest.param(_raw(b'"metadata":null'), "bad-field", id="metadata null"),
        pytest.param(_raw(b'"metadata":[]'), "bad-field", id="metadata list"),
        pytest.param(_raw(b'"tables":"fact_a"'), "bad-field", id="tables string"),
        pytest.param(_raw(b'"tables":[1]'), "bad-field", id="tables of numbers"),
        pytest.param(_raw(b'"tables":[null]'), "bad-field", id="tables of nulls"),
        pytest.param(_raw(b'"subject":null'), "bad-field", id="subject null"),
        pytest.param(_raw(b'"detail":7'), "bad-field", id="detail number"),
        pytest.param(_raw(b'"phase":"F9"'), "bad-field", id="unknown phase"),
        pytest.param(_raw(b'"phase":"f1"'), "bad-field", id="phase in small letters"),
        pytest.param(_raw(b'"source":"chat"'), "bad-field", id="unknown source"),
        pytest.param(_raw(b'"audience":"all"'), "bad-field", id="unknown audience"),
        pytest.param(_line(seq=True), "bad-field", id="seq true"),
        pytest.param(_line(seq=1.0), "bad-field", id="seq with fraction"),
        pytest.param(_line(seq="1"), "bad-field", id="seq text"),
        pytest.param(_line(seq=0), "bad-field", id="seq 0"),
        pytest.param(_line(seq=-1), "bad-field", id="seq negative"),
        pytest.param(_line(seq=2**63), "bad-field", id="seq 2**63"),
        pytest.param(_line(seq=None), "bad-field", id="seq null"),
        pytest.param(_line(type=""), "bad-field", id="type empty"),
        pytest.param(_line(ts=True), "bad-field", id="ts true"),
        pytest.param(_line(ts=None), "bad-field", id="ts null"),
        pytest.param(_line(ts=1.7e12), "bad-field", id="ts with fraction"),
        pytest.param(_line(phase=None), "bad-phase", id="clarification without phase"),
        pytest.param(_line(type="phase_reopened", phase=None), "bad-phase", id="reopening of none"),
        pytest.param(_line(tenant_id="bank"), "foreign-tenant", id="foreign tenant"),
        pytest.param(_line(tenant_id="Clinic"), "foreign-tenant", id="tenant in other case"),
        pytest.param(_line(session_id="s2"), "foreign-session", id="foreign session"),
        pytest.param(_line(type="decision_withdrawn", detail="1"), "bad-reference", id="bare ref"),
        pytest.param(_line(type="decision_withdrawn"), "bad-reference", id="no ref"),
        pytest.param(_line(type="memory_promoted", detail="mem-0001"), "bad-reference", id="mem"),
        pytest.param(_line(type="memory_promoted", detail="seq:3"), "bad-reference", id="itself"),
        pytest.param(_line(type="memory_promoted", detail="seq:9"), "bad-reference", id="a later"),
        pytest.param(_line(type="memory_promoted", detail="seq:0"), "bad-reference", id="seq:0"),
        pytest.param(_line(type="memory_promoted", detail="seq:-1"), "bad-reference", id="seq:-1"),
        pytest.param(_line(type="memory_promoted", detail="seq:²"), "bad-reference", id="seq:²"),
        pytest.param(_line(type="memory_rejected", detail="no"), "bad-reference", id="legacy word"),
    ],
)
def test_a_bad_line_in_the_middle_is_quarantined_and_the_rest_is_read(
    line: bytes, code: str
) -> None:
    """The refused line keeps its place, reason and bytes; its neighbours are accepted."""
    first = jsonl([row(1)])
    parsed = parse(first + line + b"\n" + jsonl([row(5)]))
    assert [e.ref for e in parsed.events] == [1, 5]
    assert len(parsed.digests) == 16
    (bad,) = parsed.quarantined
    assert (bad.code, bad.line, bad.offset, bad.raw) == (code, 2, len(first), line)
    assert 10 < len(bad.reason) < 400
    assert parsed.torn_tail is None


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"seq":3,"seq":3,"ts":"2026-01-31T10:00:00Z","type":"x"}', id="same value"),
        pytest.param(b'{"seq":3,"ts":"2026-01-31T10:00:00Z","type":"x","seq":4}', id="at the end"),
        pytest.param(_raw(b'"detail":"a","detail":"b"'), id="known text"),
        pytest.param(_raw(b'"detail":"\\"\\"","detail":""'), id="quotes in the lost text"),
        pytest.param(_raw(b'"detail":"","detail":"\\"\\""'), id="quotes in the kept text"),
        pytest.param(_raw(b'"detail":"\\u0022","detail":"b"'), id="escaped quote by number"),
        pytest.param(_raw(b'"detail":"\\u0022\\u0022","detai\\u006c":""'), id="escaped key"),
        pytest.param(_raw(b'"detail":"b","\\u0064etail":"\\u0022"'), id="escaped key, quote kept"),
        pytest.param(_raw(b'"phase":"F1","phase":null'), id="then null"),
        pytest.param(_raw(b'"phase":null,"phase":"F1"'), id="first null"),
        pytest.param(_raw(b'"tables":[],"tables":["a"]'), id="lists"),
        pytest.param(_raw(b'"tables":["a"],"tables":[]'), id="lists, the empty one kept"),
        pytest.param(_raw(b'"after_seq":1,"after_seq":1'), id="numbers"),
        pytest.param(_raw(b'"unknown":1,"unknown":2'), id="unknown field"),
        pytest.param(_raw(b'"":1,"":2'), id="empty key"),
        pytest.param(_raw(b'"unknown":{"a":1,"a":1}'), id="inside an unknown field"),
        pytest.param(_raw(b'"metadata":{"a":{"b":1,"b":1}}'), id="inside metadata"),
        pytest.param(_raw(b'"metadata":{"a":[{"b":1,"\\u0062":2}]}'), id="deep, escaped"),
        pytest.param(_raw(b'"metadata":{"a":1},"metadata":{}'), id="metadata twice"),
    ],
)
def test_no_key_may_be_written_twice(line: bytes) -> None:
    """Whatever stands in the two values, and however the key is spelled, the row is refused."""
    assert _codes(parse(line + b"\n")) == ["duplicate-key"]


@pytest.mark.parametrize("depth", [MAX_DEPTH, 300, 990, 1020, 5_000, 200_000])
@pytest.mark.parametrize("where", [b'"unknown":', b'"metadata":{"a":1},"x":', b'"tables":', b""])
@pytest.mark.parametrize("brackets", [b"[]", b'{"a":1}'])
def test_deep_nesting_is_refused_and_ends_nothing(
    depth: int, where: bytes, brackets: bytes
) -> None:
    """A row that no decoder could bear is one refused line, not the end of the run."""
    opening = b"[" if brackets == b"[]" else b'{"a":'
    nested = opening * depth + b"1" + brackets[-1:] * depth
    parsed = parse((_raw(where + nested) if where else nested) + b"\n" + jsonl([row(5)]))
    assert [e.ref for e in parsed.events] == [5]
    assert len(parsed.quarantined) == 1


def test_nesting_up_to_the_limit_is_kept() -> None:
    """The row's own object counts as one level, so MAX_DEPTH - 1 lists may stand in a field."""
    depth = MAX_DEPTH - 1
    parsed = parse(_raw(b'"unknown":' + b"[" * depth + b"]" * depth) + b"\n")
    assert parsed.events[0].extra == json.dumps({"unknown": _nested(depth)}, separators=(",", ":"))


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\u202eright to left\u202c\u200f", id="direction marks"),
        pytest.param(
            "\U0001f469\u200d\u2695\ufe0f \U0001f3f3\ufe0f\u200d\U0001f308", id="emoji joined"
        ),
        pytest.param("e\u0300 ≠ è", id="combining"),
        pytest.param("\ufeff\u0085\u2028\u2029\x7f\uffff", id="odd characters"),
        pytest.param('"\\"\\\\" {}[],:', id="quotes and braces"),
        pytest.param("\r\n\t\b\f", id="escaped controls"),
        pytest.param("\\u0000 \\ud800", id="looks like an escape"),
        pytest.param("é" * 2_000_000, id="4 MB"),
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_any_text_is_stored_as_it_is(text: str, ascii_only: bool) -> None:
    """Escaped or raw, the characters of a text come back unchanged."""
    fields = row(1, detail=text, metadata={"k": text[:99]})
    parsed = parse(json.dumps(fields, ensure_ascii=ascii_only).encode() + b"\n")
    (event,) = parsed.events
    assert event.detail == text
    assert json.loads(event.metadata) == {"k": text[:99]}


def test_a_line_beyond_the_limit_is_refused() -> None:
    """The limit keeps one row from filling the memory of the whole night."""
    parsed = parse(_raw(b'"detail":"' + b"x" * MAX_LINE_BYTES + b'"') + b"\n")
    assert _codes(parsed) == ["too-long"]


@pytest.mark.parametrize("cut", [1, 2, 20, 60, -1])
def test_a_torn_last_line_means_still_being_written(cut: int) -> None:
    """Without a line end, what does not parse is neither an event nor a refused line."""
    last = _line(detail="perché")
    parsed = parse(jsonl([row(1)]) + last[:cut])
    assert [e.ref for e in parsed.events] == [1]
    assert parsed.quarantined == ()
    assert parsed.torn_tail is not None
    assert parsed.torn_tail.raw == last[:cut]


def test_a_line_torn_inside_a_character_is_torn() -> None:
    """The first byte of a two-byte character is no reason to refuse the line for good."""
    last = _line(detail="perché")
    parsed = parse(last[: last.index(b"\xc3") + 1])
    assert (parsed.quarantined, parsed.torn_tail is not None) == ((), True)


def test_a_complete_last_line_counts_without_its_line_end() -> None:
    """Some writers end a file without a line feed; the row is complete all the same."""
    parsed = parse(jsonl([row(1)])[:-1])
    assert [e.ref for e in parsed.events] == [1]
    assert parsed.torn_tail is None


def test_a_complete_last_line_that_is_refused_goes_to_quarantine() -> None:
    """Valid JSON cannot be torn: waiting would not help it."""
    for line in (_line(ts="soon"), b"[]", b'{"a":1,"a":2}'):
        parsed = parse(line)
        assert (len(parsed.quarantined), parsed.torn_tail) == (1, None)


def test_a_bad_last_line_with_its_line_end_goes_to_quarantine() -> None:
    """A line feed says that the writer was done with the line."""
    parsed = parse(jsonl([row(1)]) + b'{"seq": 2,\n')
    assert (_codes(parsed), parsed.torn_tail) == (["not-json"], None)


@pytest.mark.parametrize("data", [b"", b"\n", b"\n \r\n\t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_a_file_without_rows_is_empty(data: bytes) -> None:
    """Blank lines and a byte order mark are no rows, good or bad."""
    parsed = parse(data)
    assert (parsed.events, parsed.quarantined, parsed.torn_tail) == ((), (), None)
    assert parsed.size == len(data)


def test_a_repeated_or_lower_seq_is_refused() -> None:
    """The first row of a number holds; a gap is allowed."""
    parsed = parse(jsonl([row(2), row(2, detail="other"), row(1), row(9), close(10)]))
    assert [e.ref for e in parsed.events] == [2, 9, 10]
    assert _codes(parsed) == ["seq-order", "seq-order"]
    assert [q.line for q in parsed.quarantined] == [2, 3]


def test_a_reference_to_a_refused_row_is_refused() -> None:
    """A withdrawal of a row that was never accepted names nothing."""
    rows = [row(1, ts="?"), note(2, "decision_withdrawn", "seq:1"), row(3)]
    parsed = parse(jsonl(rows))
    assert _codes(parsed) == ["bad-time", "bad-reference"]


def test_rows_may_name_their_own_tenant_and_session_or_none() -> None:
    """The folder and the file name are the defaults."""
    rows = [row(1, tenant_id=TENANT, session_id=SESSION), row(2), row(3, tenant_id="")]
    assert [e.tenant_id for e in parse(jsonl(rows)).events] == [TENANT] * 3


def test_unknown_fields_are_kept() -> None:
    """A field of a later version survives, with its keys sorted."""
    parsed = parse(jsonl([row(1, zeta=1, alpha={"y": [2**64 - 1, -(2**63), 0.5], "x": None})]))
    assert parsed.events[0].extra == (
        '{"alpha":{"x":null,"y":[18446744073709551615,-9223372036854775808,0.5]},"zeta":1}'
    )


def test_unknown_types_are_events() -> None:
    """A type of a later version is accepted; the replay counts it as ignored."""
    assert [e.type for e in parse(jsonl([row(1, "concept_merged")])).events] == ["concept_merged"]


# --- times ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ts", "utc", "mark"),
    [
        ("2026-01-31T10:00:00Z", datetime(2026, 1, 31, 10, tzinfo=UTC), ""),
        ("2026-01-31t10:00:00z", datetime(2026, 1, 31, 10, tzinfo=UTC), ""),
        ("2026-01-31T10:00:00+02:00", datetime(2026, 1, 31, 8, tzinfo=UTC), ""),
        ("2026-01-31T00:30:00+02:00", datetime(2026, 1, 30, 22, 30, tzinfo=UTC), ""),
        ("2026-01-31T10:00:00-00:00", datetime(2026, 1, 31, 10, tzinfo=UTC), ""),
        ("2026-01-31T10:00:00.123456789Z", datetime(2026, 1, 31, 10, 0, 0, 123456, UTC), ""),
        ("2026-01-31T10:00:00", datetime(2026, 1, 31, 10, tzinfo=UTC), "naive"),
        ("2026-01-31 10:00:00", datetime(2026, 1, 31, 10, tzinfo=UTC), "naive"),
        # the hour that a DST night has twice: the offset tells them apart, and naive means UTC
        ("2026-10-25T02:30:00+02:00", datetime(2026, 10, 25, 0, 30, tzinfo=UTC), ""),
        ("2026-10-25T02:30:00+01:00", datetime(2026, 10, 25, 1, 30, tzinfo=UTC), ""),
        ("2026-03-29T02:30:00", datetime(2026, 3, 29, 2, 30, tzinfo=UTC), "naive"),
        ("2999-12-31T23:59:59Z", datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC), ""),
        (1_769_853_600_123, datetime(2026, 1, 31, 10, 0, 0, 123000, UTC), "epoch_ms"),
        (-1_000_000_000_000, datetime(1938, 4, 24, 22, 13, 20, tzinfo=UTC), "epoch_ms"),
    ],
)
def test_times_are_stored_as_utc(ts: str | int, utc: datetime, mark: str) -> None:
    """Every accepted form names one instant; forms that had to be read are marked."""
    assert parse_time(ts) == (utc, mark)
    (event,) = parse(jsonl([row(1, ts=ts)])).events
    assert (event.ts, event.ts.tzinfo, event.ts_note) == (utc, UTC, mark)


@pytest.mark.parametrize(
    "ts",
    [
        "", "yesterday", "2026-01-31", "2026-01-31T10", "2026-01-31T10:00Z", "20260131T100000Z",
        "2026-W05-6T10:00:00Z", "2026-02-30T10:00:00Z", "2026-01-31T25:00:00Z",
        "2026-01-31T10:00:61Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00",
        "1769853600123", "2026-01-31T10:00:00Zulu", "２０２６-01-31T10:00:00Z",
        "2026-01-31T10:00:00Z" * 1000,
        0, 1_769_853_600, 99_999_999_999, 10**17, -(10**17), 10**30, 10**400,
    ],
)  # fmt: skip
def test_times_that_are_none_are_refused(ts: str | int) -> None:
    """No guess is made, least of all about numbers that may be seconds."""
    with pytest.raises(BadLine) as caught:
        parse_time(ts)
    assert caught.value.code == "bad-time"
    assert len(str(caught.value)) < 700
    assert len(parse(jsonl([row(1, ts=ts)])).quarantined) == 1


# --- files as a whole -------------------------------------------------------------------------


def test_white_space_key_order_line_ends_and_bom_change_no_digest() -> None:
    """The same rows exported by another program have the same canonical content."""
    rows = [row(1, metadata={"b": 1, "a": "x"}, zeta=1, alpha=2), row(2, detail="età €"), close(3)]
    plain = parse(jsonl(rows))
    turned = [dict(reversed(list(r.items()))) for r in rows]
    turned[0]["metadata"] = {"a": "x", "b": 1}
    spaced = b"\r\n\r\n".join(
        json.dumps(r, separators=(" ,", " :  ")).encode() + b" \t" for r in turned
    )
    other = parse(b"\xef\xbb\xbf" + spaced + b"\r\n")
    assert other.digests == plain.digests
    assert other.notes == ("bom",)
    assert [e.extra for e in other.events] == [e.extra for e in plain.events]


@pytest.mark.parametrize(
    "change",
    [
        {"detail": "other"}, {"detail": "definition 1 "}, {"ts": "2026-01-31T10:00:01Z"},
        {"phase": "F2"}, {"zeta": 1}, {"metadata": {"a": 1}}, {"tables": ["a"]}, {"user_id": "u"},
        {"type": "memory_event"}, {"subject": "Concept 1"}, {"seq": 2},
    ],
)  # fmt: skip
def test_any_change_of_content_changes_the_digest(change: dict[str, Any]) -> None:
    """Append-only is checked on these digests, so nothing may slip through them."""
    assert parse(jsonl([row(1) | change])).digests != parse(jsonl([row(1)])).digests


def test_offsets_and_lines_point_at_the_bytes_of_the_file() -> None:
    """With a byte order mark, blank lines and CRLF the place of a bad line is still exact."""
    data = b"\xef\xbb\xbf" + jsonl([row(1)]) + b"\r\n\n" + b"bad\r\n" + b"worse\n"
    for bad in parse(data).quarantined:
        assert data[bad.offset : bad.offset + len(bad.raw)] == bad.raw
        assert data[: bad.offset].count(b"\n") == bad.line - 1


def test_a_later_refusal_quotes_the_line() -> None:
    """A row that only the replay can refuse is quarantined with the same particulars."""
    data = b"\xef\xbb\xbf" + jsonl([row(1), note(2, "decision_withdrawn", "m:7"), row(3)])
    bad = parse(data).refuse(2, "bad-reference", "no such row")
    assert (bad.line, bad.code, bad.reason) == (2, "bad-reference", "no such row")
    assert data[bad.offset :].startswith(bad.raw + b"\n")
    assert json.loads(bad.raw)["detail"] == "m:7"


def test_a_line_ends_with_a_line_feed_only() -> None:
    """Other characters that look like line ends belong to the text."""
    texts = ["a\u2028b", "a\u0085b", "a\x0bb", "a\x0cb", "a\x1cb"]
    parsed = parse(jsonl([row(n, detail=t) for n, t in enumerate(texts, 1)]))
    assert [e.detail for e in parsed.events] == texts


def test_companion_rows_have_their_own_numbers_and_a_place() -> None:
    """A companion row needs after_seq, which never goes down; refs are negative."""
    rows = [
        note(1, "memory_promoted", "seq:1", after_seq=1),
        note(2, "decision_withdrawn", "m:1", after_seq=4),
        note(3, "memory_promoted", "seq:1"),
        note(4, "memory_promoted", "seq:1", after_seq=3),
        note(5, "memory_promoted", "seq:1", after_seq=-1),
        note(6, "decision_withdrawn", "m:9", after_seq=4),
        note(7, "memory_promoted", "seq:99", after_seq=4),
    ]
    parsed = parse(jsonl(rows), origin="companion")
    assert [(e.ref, e.after_seq, e.target) for e in parsed.events] == [
        (-1, 1, 1),
        (-2, 4, -1),
        (-7, 4, 99),
    ]
    assert _codes(parsed) == ["bad-after-seq", "after-seq-order", "bad-field", "bad-reference"]


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from([_line(), b"\0" * 8, b"[]", b"{", b'{"seq":1}', b"\xff", b" \r", b""]),
            st.text(max_size=30).map(lambda t: _line(detail=t)),
            st.integers(-3, 12).map(lambda n: _line(seq=n)),
        ),
        max_size=12,
    ).map(b"\n".join)
)
def test_parsing_never_raises_and_loses_no_line(data: bytes) -> None:
    """Every line that is not blank is an event, a refused line, or the torn tail."""
    parsed = parse(data)
    body = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
    lines = [n for n, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    torn = [parsed.torn_tail] if parsed.torn_tail else []
    found = [e.line for e in parsed.events] + [q.line for q in (*parsed.quarantined, *torn)]
    assert sorted(found) == lines
    for bad in (*parsed.quarantined, *torn):
        assert data[bad.offset : bad.offset + len(bad.raw)] == bad.raw
        assert (data[bad.offset + len(bad.raw) :] or b"\n")[:1] == b"\n"


def test_the_tenant_and_session_of_the_file_are_kept() -> None:
    """A result says which file it is about, also when nothing was in it."""
    parsed = parse_ledger(b"", tenant_id="bank", session_id="x", origin="companion")
    assert (parsed.tenant_id, parsed.session_id, parsed.origin) == ("bank", "x", "companion")
