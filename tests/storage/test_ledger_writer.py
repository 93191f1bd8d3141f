"""LedgerWriter: what it appends, what it refuses, and what is left when things go wrong."""

from __future__ import annotations

import inspect
import json
import os
import stat
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.domain.events import PHASES, RawRow
from memory_assets.domain.parsing import ParsedLedger
from memory_assets.errors import RowRefused, TornLedger, UsageError
from memory_assets.storage.ledger_writer import LedgerWriter
from memory_assets.storage.ledgers import read_ledger

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


def _writer(root: Path, session_id: str = "s") -> LedgerWriter:
    return LedgerWriter(root, "t", session_id, clock=lambda: NOON)


def _parsed(writer: LedgerWriter) -> ParsedLedger:
    return read_ledger(
        writer.path, tenant_id=writer.tenant_id, session_id=writer.session_id, origin="ledger"
    )


def test_rows_are_numbered_and_read_back(tmp_path: Path) -> None:
    """The nightly run reads exactly what was appended, numbered from one."""
    with _writer(tmp_path) as ledger:
        assert ledger.append("concept_clarified", phase="F1", subject="Età", detail="anni") == 1
        assert ledger.append("decision_withdrawn", phase="F1", detail="seq:1") == 2
        assert ledger.append("session_closed", phase="F8") == 3
    parsed = _parsed(ledger)
    assert [(e.ref, e.type, e.target) for e in parsed.events] == [
        (1, "concept_clarified", None),
        (2, "decision_withdrawn", 1),
        (3, "session_closed", None),
    ]
    assert parsed.events[0].subject == "Età"
    assert parsed.events[0].ts == NOON
    assert not parsed.quarantined
    assert parsed.torn_tail is None


def test_every_field_of_a_row_can_be_given() -> None:
    """A field added to the format is an argument of append, unless the writer sets it itself."""
    own = {"seq", "session_id", "tenant_id", "after_seq"}
    arguments = set(inspect.signature(LedgerWriter.append).parameters) - {"self", "extra"}
    assert arguments == set(RawRow.__struct_fields__) - own


def test_all_fields_arrive(tmp_path: Path) -> None:
    """No argument is lost on the way, unknown fields included."""
    given_fields: dict[str, Any] = {
        "phase": "F1",
        "subject": "s",
        "detail": "d",
        "rationale": "r",
        "question_context": "q",
        "tables": ["fact_visits"],
        "concepts": ["c"],
        "user_id": "u",
        "client_id": "c-1",
        "audience": "client",
        "source": "CHAT",
        "metadata": {"a": 1},
    }
    with _writer(tmp_path) as ledger:
        ledger.append("memory_event", **given_fields, extra={"tool": "desk"})
    row = json.loads(ledger.path.read_text(encoding="utf-8"))
    assert row == {
        "seq": 1,
        "ts": "2026-01-31T12:00:00Z",
        "session_id": "s",
        "tenant_id": "t",
        "type": "memory_event",
        **given_fields,
        "tool": "desk",
    }


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"type": ""}, "length >= 1"),
        ({"type": "concept_clarified"}, "needs a phase"),
        ({"type": "concept_clarified", "phase": "F9"}, "F9"),
        ({"type": "memory_event", "audience": "everybody"}, "everybody"),
        ({"type": "decision_withdrawn", "detail": "seq:7"}, "seq:7"),
        ({"type": "decision_withdrawn", "detail": "seq:2"}, "seq:2"),
        ({"type": "decision_withdrawn", "detail": "the first one"}, "seq:N"),
        ({"type": "memory_promoted", "detail": "m:1"}, "companion"),
        ({"type": "memory_event", "detail": "a\0b"}, "NUL"),
        ({"type": "memory_event", "detail": "\ud800"}, "not JSON"),
        ({"type": "memory_event", "metadata": {"a": float("nan")}}, "not JSON"),
        ({"type": "memory_event", "metadata": {"a": {1}}}, "not JSON"),
        ({"type": "memory_event", "detail": 7}, "detail"),
        ({"type": "memory_event", "extra": {"seq": 9}}, "seq"),
        ({"type": "memory_event", "extra": {"subject": "x"}}, "subject"),
        ({"type": "memory_event", "ts": datetime(2026, 1, 31)}, "zone"),  # noqa: DTZ001
        ({"type": "memory_event", "ts": "2026-01-31T00:00:00Z"}, "ts is a str"),
        ({"type": "memory_event", "tables": "fact_x"}, "tables is a str"),
        ({"type": "memory_event", "concepts": {"a": 1}}, "concepts is a dict"),
        ({"type": "memory_event", "concepts": 7}, "concepts is a int"),
        ({"type": "memory_event", "metadata": [("a", 1)]}, "metadata is a list"),
        ({"type": "memory_event", "extra": "tool"}, "extra is a str"),
    ],
    ids=repr,
)
def test_a_bad_row_is_refused_before_it_is_written(
    tmp_path: Path, row: dict[str, Any], reason: str
) -> None:
    """What the nightly run would quarantine never reaches the file, and the reason is said."""
    with _writer(tmp_path) as ledger:
        ledger.append("memory_event", detail="first")
        before = ledger.path.read_bytes()
        with pytest.raises(RowRefused, match=reason):
            ledger.append(**row)
        assert ledger.path.read_bytes() == before
        assert ledger.append("session_closed") == 2


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a\0b", "\ud800"], ids=repr)
def test_names_that_are_no_file_names_are_refused(tmp_path: Path, name: str) -> None:
    """A tenant or session can never reach outside its folder or hide from the nightly run."""
    with pytest.raises(UsageError):
        LedgerWriter(tmp_path, name, "s")
    with pytest.raises(UsageError):
        LedgerWriter(tmp_path, "t", name)


def test_a_session_cannot_pose_as_a_companion_file(tmp_path: Path) -> None:
    """`x.markers.jsonl` holds the project's own rows about session x."""
    with pytest.raises(UsageError, match="companion"):
        LedgerWriter(tmp_path, "t", "x.markers")


def test_a_ledger_can_be_named_by_its_path(tmp_path: Path) -> None:
    """`at` finds tenant and session in the path, and takes ledgers only."""
    ledger = LedgerWriter.at(tmp_path / "ledgers" / "bank" / "kyc.jsonl")
    assert (ledger.tenant_id, ledger.session_id) == ("bank", "kyc")
    assert ledger.path == tmp_path / "ledgers" / "bank" / "kyc.jsonl"
    with pytest.raises(UsageError, match=r"\.jsonl"):
        LedgerWriter.at(tmp_path / "bank" / "kyc.json")


def test_an_existing_ledger_is_continued(tmp_path: Path) -> None:
    """Numbers go on after gaps, and earlier rows of another writer can be referred to."""
    path = tmp_path / "t" / "s.jsonl"
    path.parent.mkdir()
    path.write_text(
        '{"seq": 3, "ts": "2026-01-01T00:00:00Z", "type": "memory_event"}\r\n'
        '{"seq": 8, "ts": "2026-01-01T00:00:00Z", "type": "memory_event"}',
        encoding="utf-8",
    )
    with _writer(tmp_path) as ledger:
        assert ledger.append("decision_withdrawn", detail="seq:3") == 9
    parsed = _parsed(ledger)
    assert [e.ref for e in parsed.events] == [3, 8, 9]  # the missing line end was supplied
    assert parsed.events[-1].target == 3


def test_nothing_is_appended_to_a_torn_line(tmp_path: Path) -> None:
    """A row glued to half a row would lose both; the message says where to cut."""
    with _writer(tmp_path) as ledger:
        ledger.append("memory_event", detail="whole")
        whole = ledger.path.stat().st_size
        with ledger.path.open("ab") as out:
            out.write(b'{"seq": 2, "ts": "2026-01-3')
        before = ledger.path.read_bytes()
        with pytest.raises(TornLedger, match=f"cut the file to {whole} bytes"):
            ledger.append("session_closed")
        assert ledger.path.read_bytes() == before
        os.truncate(ledger.path, whole)
        assert ledger.append("session_closed") == 2


def test_refused_lines_keep_their_numbers_free(tmp_path: Path) -> None:
    """A bad last line can still be repaired: the next row does not take its number."""
    with _writer(tmp_path) as ledger:
        ledger.append("memory_event")
        with ledger.path.open("a", encoding="utf-8") as out:
            out.write('{"seq": 2, "type": "memory_event"}\n')
        assert ledger.append("memory_event") == 3
        repaired = ledger.path.read_text(encoding="utf-8").replace(
            '{"seq": 2,', '{"seq": 2, "ts": "2026-01-31T12:00:00Z",'
        )
        ledger.path.write_text(repaired, encoding="utf-8")
        assert ledger.append("session_closed") == 4
    assert [e.ref for e in _parsed(ledger).events] == [1, 2, 3, 4]


def test_two_writers_of_one_session_see_each_other(tmp_path: Path) -> None:
    """A writer takes in the rows of another one before it numbers its own."""
    with _writer(tmp_path) as one, _writer(tmp_path) as two:
        assert one.append("memory_event") == 1
        assert two.append("memory_event") == 2
        assert one.append("decision_withdrawn", detail="seq:2") == 3
        assert two.append("session_closed") == 4
    assert len(_parsed(one).events) == 4


def test_a_replaced_file_is_noticed(tmp_path: Path) -> None:
    """A ledger exported anew is continued where it is now, not in the file that was deleted."""
    with _writer(tmp_path) as ledger:
        ledger.append("memory_event")
        copy = tmp_path / "copy"
        row = '{"seq": 41, "ts": "2026-01-01T00:00:00Z", "type": "memory_event"}\n'
        copy.write_text(row, encoding="utf-8")
        copy.replace(ledger.path)
        assert ledger.append("memory_event") == 42
        ledger.path.unlink()
        assert ledger.append("memory_event") == 1


def test_companion_rows_can_be_referred_to(tmp_path: Path) -> None:
    """An agent may withdraw a verdict that the nightly run wrote beside the ledger."""
    with _writer(tmp_path) as ledger:
        ledger.append("concept_clarified", phase="F1", subject="a", detail="b")
        marker = {"seq": 1, "after_seq": 1, "ts": "2026-01-31T13:00:00Z", "detail": "seq:1"}
        companion = ledger.path.with_name("s.markers.jsonl")
        companion.write_text(json.dumps({**marker, "type": "memory_promoted"}), encoding="utf-8")
        assert ledger.append("decision_withdrawn", phase="F8", detail="m:1") == 2
    assert _parsed(ledger).events[-1].target == -1


def test_times_keep_their_offset(tmp_path: Path) -> None:
    """The instant is the caller's; without one the clock gives it."""
    zurich = timezone(timedelta(hours=1))
    with _writer(tmp_path) as ledger:
        ledger.append("memory_event", ts=datetime(2026, 1, 31, 13, tzinfo=zurich))
        ledger.append("memory_event")
    assert [e.ts for e in _parsed(ledger).events] == [NOON, NOON]


def test_a_row_is_on_disk_before_its_number_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole row is synced, and so is the folder that holds a new file."""
    synced: list[tuple[bool, int]] = []
    really_sync = os.fsync

    def watched(handle: int) -> None:
        found = os.fstat(handle)
        synced.append((stat.S_ISDIR(found.st_mode), found.st_size))
        really_sync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    with _writer(tmp_path) as ledger:
        ledger.append("memory_event")
        assert synced[-1] == (False, ledger.path.stat().st_size)
        assert any(is_folder for is_folder, _ in synced)


@settings(max_examples=40)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"phase": st.sampled_from(PHASES), "subject": TEXT, "detail": TEXT},
            optional={"rationale": TEXT, "tables": st.lists(TEXT, max_size=3)},
        ),
        max_size=8,
    )
)
def test_texts_arrive_unchanged(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    """Line ends, quotes, separators and every script of the world survive the way to disk."""
    with _writer(tmp_path_factory.mktemp("ledgers")) as ledger:
        for number, row in enumerate(rows, 1):
            assert ledger.append("concept_clarified", **row) == number
        if not rows:
            return
        parsed = _parsed(ledger)
    assert not parsed.quarantined
    for event, row in zip(parsed.events, rows, strict=True):
        assert (event.phase, event.subject, event.detail) == tuple(
            row[k] for k in ("phase", "subject", "detail")
        )
        assert event.tables == tuple(row.get("tables", ()))
