"""The quick way of decoding a row and the exact one: where the first accepts, both agree."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_assets.domain.events import KNOWN_FIELDS, PHASES
from memory_assets.domain.parsing import BadLine, decode_row, decode_row_exactly

TEXTS = st.text(st.sampled_from('ab"\\{}[]:,/ \n\té€😀\u200d\x7f'), max_size=8)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), TEXTS, st.floats(-9, 9)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXTS, inner, max_size=2)),
    max_leaves=4,
)
ROWS = st.fixed_dictionaries(
    {"seq": st.integers(1, 99), "ts": TEXTS, "type": TEXTS.filter(bool)},
    optional={
        "phase": st.sampled_from([None, *PHASES]),
        "subject": TEXTS,
        "detail": TEXTS,
        "tables": st.lists(TEXTS, max_size=3),
        "concepts": st.lists(TEXTS, max_size=3),
        "user_id": st.one_of(st.none(), TEXTS),
        "source": st.sampled_from([None, "CHAT", "TOOL_OUT"]),
        "after_seq": st.integers(0, 99),
        "metadata": st.dictionaries(TEXTS, VALUES, max_size=2),
        "zeta": VALUES,
        "": VALUES,
    },
)
FIELD = st.one_of(st.sampled_from(sorted(KNOWN_FIELDS)), TEXTS)


def _encode(fields: list[tuple[str, Any]], *, ascii_only: bool) -> bytes:
    """A JSON object that may hold a key more than once."""
    pairs = (
        json.dumps(k, ensure_ascii=ascii_only) + ":" + json.dumps(v, ensure_ascii=ascii_only)
        for k, v in fields
    )
    return ("{" + ",".join(pairs) + "}").encode()


def _outcome(decode: Any, line: bytes) -> tuple[Any, ...]:
    try:
        return ("row", *decode(line))
    except BadLine as bad:
        return ("refused", bad.code)


def _agree(line: bytes) -> tuple[Any, ...]:
    if b"\\u00" in line:
        # The promise that the quick way needs cannot be given; the parser sees that by itself.
        quick = _outcome(decode_row, line)
    else:
        quick = _outcome(lambda raw: decode_row(raw, plain=True), line)
    assert quick == _outcome(decode_row_exactly, line)
    return quick


@settings(max_examples=150)
@given(ROWS, st.booleans(), st.randoms(use_true_random=False))
def test_both_ways_read_a_sound_row_alike(fields: dict[str, Any], ascii_only: bool, r: Any) -> None:
    """Row, canonical bytes and unknown fields are the same, whatever the order of the keys."""
    pairs = list(fields.items())
    r.shuffle(pairs)
    got = _agree(_encode(pairs, ascii_only=ascii_only))
    assert got[0] == "row"
    assert got[2] == _agree(_encode(list(fields.items()), ascii_only=not ascii_only))[2]
    assert json.loads(got[3] or "{}") == {k: fields[k] for k in fields.keys() - KNOWN_FIELDS}


@settings(max_examples=150)
@given(ROWS, FIELD, VALUES, st.integers(0, 12), st.booleans())
@example({"seq": 1, "ts": "", "type": "x", "detail": '""'}, "detail", "", 0, False)
@example({"seq": 1, "ts": "", "type": "x", "detail": '"\\"'}, "detail", '"', 9, False)
def test_both_ways_refuse_a_repeated_key(
    fields: dict[str, Any], key: str, value: Any, at: int, ascii_only: bool
) -> None:
    """A pair put anywhere into a sound row: a key that was there already is always noticed."""
    pairs = list(fields.items())
    pairs.insert(at, (key, value))
    got = _agree(_encode(pairs, ascii_only=ascii_only))
    if key in fields:
        assert got == ("refused", "duplicate-key")


@settings(max_examples=250)
@given(
    ROWS,
    st.lists(
        st.tuples(
            st.integers(0, 300),
            st.integers(0, 3),
            st.one_of(
                st.sampled_from(
                    [b'"', b"\\", b"\\u0022", b"\\u0000", b"\\ud800", b"\xff", b"\0", b"{", b"}"],
                ),
                st.sampled_from(
                    [b",", b":", b"0", b"1e999", b"-", b".", b"null", b'"seq":1,', b'"a":1,']
                ),
                st.binary(max_size=3),
            ),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_both_ways_judge_a_damaged_row_alike(
    fields: dict[str, Any], changes: list[tuple[int, int, bytes]]
) -> None:
    """Bytes put in, overwritten or cut out: accepted by both as the same row, or by neither."""
    line = _encode(list(fields.items()), ascii_only=False)
    for at, cut, new in changes:
        line = line[:at] + new + line[at + cut :]
    _agree(line.replace(b"\n", b" "))
