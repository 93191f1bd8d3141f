"""Ledgers → events, night after night: what is read, kept, refused and blocked."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from memory_assets.domain.schemas import EVENTS, QUARANTINE, SESSIONS
from memory_assets.errors import UsageError
from memory_assets.steps.ledgers.ingest import GROUP, IngestResult, current_events, ingest
from memory_assets.steps.tables.compaction import MAX_PARTS
from memory_assets.storage.parts import DerivedTables
from tests.building import close, jsonl, note, row, write_session

ROWS = [row(1, detail="età €"), row(2, metadata={"b": 1, "a": [2]}, zeta=0), close(3)]
MARKER = note(1, "memory_promoted", "seq:1", after_seq=3)
BAD = b'{"seq": 2, "ts": "2026-01-31T10:00:00Z", "type": "decision_withdrawn" "detail": "seq:1"}'


class Place:
    """A ledgers folder and the tables derived from it."""

    def __init__(self, root: Path) -> None:
        self.ledgers = root / "ledgers"
        self.ledgers.mkdir()
        self.derived = DerivedTables(root / "derived")

    def write(self, session: str, rows: Sequence[Any], companion: Sequence[Any] = ()) -> Path:
        return write_session(self.ledgers, "t", session, rows, companion)

    def night(self, **options: Any) -> IngestResult:
        return ingest(self.ledgers, self.derived, **options)

    def session(self, session: str) -> dict[str, Any]:
        found = self.derived.read(GROUP, SESSIONS).filter(pl.col("session_id") == session)
        return found.row(0, named=True)

    def refs(self, session: str) -> list[int]:
        sessions = self.derived.read(GROUP, SESSIONS)
        found = current_events(self.derived, sessions).filter(pl.col("session_id") == session)
        return found["ref"].to_list()

    def refused(self, session: str) -> list[dict[str, Any]]:
        mine = self.session(session)
        found = self.derived.read(GROUP, QUARANTINE).filter(
            (pl.col("session_id") == session) & (pl.col("ingest_no") == mine["ingest_no"])
        )
        return found.to_dicts()

    def head(self) -> bytes:
        return (self.derived.root / f"{GROUP}.json").read_bytes()


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_first_night_reads_everything_and_the_second_nothing(place: Place) -> None:
    """A night without changes opens no ledger and commits nothing."""
    place.write("s1", ROWS, [MARKER])
    place.write("s2", [row(1)])
    first = place.night()
    assert (first.sessions, first.read, first.changed) == (2, 2, 2)
    assert (first.new_events, first.events, first.open_sessions) == (5, 5, 1)
    assert place.refs("s1") == [1, 2, 3, -1]
    before = place.head()
    second = place.night()
    assert (second.read, second.changed, second.new_events, second.events) == (0, 0, 0, 5)
    assert place.head() == before


def test_only_what_grew_is_read(place: Place) -> None:
    """One of three sessions got a row: one is opened, and its rows are the newest."""
    paths = [place.write(f"s{n}", ROWS) for n in range(3)]
    place.night()
    with paths[1].open("ab") as out:
        out.write(jsonl([row(4), close(5)]))
    found = place.night()
    assert (found.sessions, found.read, found.changed, found.events) == (3, 1, 1, 11)
    assert (found.new_events, found.companion_events) == (2, 0)
    assert place.refs("s1") == [1, 2, 3, 4, 5]
    assert place.refs("s0") == [1, 2, 3]
    assert place.session("s1")["last_seq"] == 5


def _spaced(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(
        json.dumps(r, indent=None, separators=(" , ", " : ")).encode() + b"\n" for r in rows
    )


@pytest.mark.parametrize(
    "export",
    [
        pytest.param(_spaced, id="white space and escapes"),
        pytest.param(lambda rows: jsonl(dict(reversed(r.items())) for r in rows), id="key order"),
        pytest.param(lambda rows: b"\xef\xbb\xbf" + jsonl(rows), id="byte order mark"),
        pytest.param(lambda rows: jsonl(rows).replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(lambda rows: jsonl(rows)[:-1], id="no last line end"),
        pytest.param(lambda rows: jsonl(rows) + b"\n \n", id="blank lines"),
        pytest.param(jsonl, id="the same bytes"),
    ],
)
def test_another_export_of_the_same_rows_is_no_change(
    place: Place, export: Callable[[list[dict[str, Any]]], bytes]
) -> None:
    """The file is read, found to say the same, and not read again."""
    path = place.write("s", ROWS, [MARKER])
    place.night()
    before = place.session("s")
    path.unlink()
    path.write_bytes(export(ROWS))
    found = place.night()
    assert (found.read, found.changed, found.new_events) == (1, 0, 0)
    after = place.session("s")
    changing = {"ledger_stat", "ledger_sha256"}
    assert {k for k in before if before[k] != after[k]} <= changing
    assert place.night().read == 0


def test_writing_a_companion_is_no_change_of_the_session(place: Place) -> None:
    """The session is read anew, since its verdicts are; it does not count as changed."""
    path = place.write("s", ROWS)
    place.night()
    path.with_name("s.markers.jsonl").write_bytes(jsonl([MARKER]))
    found = place.night()
    assert (found.read, found.changed) == (1, 0)
    assert (found.new_events, found.events, found.companion_events) == (1, 4, 1)
    assert place.refs("s") == [1, 2, 3, -1]
    assert (place.session("s")["rows"], place.session("s")["companion_rows"]) == (3, 1)
    assert place.session("s")["closed"]


@pytest.mark.parametrize(
    ("rows", "lost"),
    [
        pytest.param([ROWS[0], row(2, detail="other"), ROWS[2]], 2, id="changed"),
        pytest.param([ROWS[0], ROWS[2]], 2, id="one lost"),
        pytest.param(ROWS[:2], 3, id="cut off"),
        pytest.param([], 1, id="emptied"),
        pytest.param([ROWS[0], BAD, ROWS[2]], 2, id="spoiled"),
        pytest.param([row(1), row(2), close(3)], 1, id="another session"),
    ],
)
def test_a_lost_or_changed_row_blocks_its_session_only(
    place: Place, rows: list[Any], lost: int
) -> None:
    """Named error, earlier rows kept, the other session goes on; restoring the file heals it."""
    place.write("s", ROWS)
    place.write("other", ROWS)
    place.night()
    place.write("s", rows)
    place.write("other", [*ROWS, row(4)])
    found = place.night()
    assert [p[:3] for p in found.problems] == [("t", "s", "append-only-violation")]
    assert f"row number {lost} of s.jsonl" in found.problems[0][3]
    assert place.refs("s") == [1, 2, 3]
    assert place.refs("other") == [1, 2, 3, 4]
    again = place.night()
    assert (again.read, again.problems) == (0, found.problems)
    place.write("s", [*ROWS, row(4)])
    assert place.night().problems == ()
    assert place.refs("s") == [1, 2, 3, 4]


def test_a_row_put_between_accepted_rows_is_a_violation(place: Place) -> None:
    """Nothing had been refused there, so nothing can have been repaired."""
    place.write("s", [row(1), row(5)])
    place.night()
    place.write("s", [row(1), row(3), row(5)])
    assert place.night().problems[0][2] == "append-only-violation"


def _vanish(path: Path) -> None:
    path.unlink()


def _become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _become_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("harm", "status"),
    [(_vanish, "missing"), (_become_a_folder, "unreadable"), (_become_a_pipe, "unreadable")],
)
def test_a_ledger_that_cannot_be_read_is_blocked_until_it_is_back(
    place: Place, harm: Callable[[Path], None], status: str
) -> None:
    """Its rows stay, the others go on, and nights without news commit nothing."""
    path = place.write("s", ROWS)
    place.write("other", ROWS)
    place.night()
    harm(path)
    place.write("other", [*ROWS, row(4)])
    found = place.night()
    assert [p[:3] for p in found.problems] == [("t", "s", status)]
    assert place.refs("s") == [1, 2, 3]
    assert place.refs("other") == [1, 2, 3, 4]
    before = place.head()
    assert [p[:3] for p in place.night().problems] == [("t", "s", status)]
    assert place.head() == before
    if path.exists():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    place.write("s", ROWS)
    assert place.night().problems == ()
    assert place.session("s")["status"] == "ok"


def test_a_violation_is_still_seen_after_an_absence(place: Place) -> None:
    """Taking the file away for a night does not launder it."""
    path = place.write("s", ROWS)
    place.night()
    path.unlink()
    place.night()
    place.write("s", [row(1), row(2), close(3)])
    assert place.night().problems[0][2] == "append-only-violation"


def test_a_session_that_was_never_readable_is_reported(place: Place) -> None:
    """It has no rows and is not closed."""
    (place.ledgers / "t" / "s.jsonl").mkdir(parents=True)
    found = place.night()
    assert [p[:3] for p in found.problems] == [("t", "s", "unreadable")]
    assert (found.sessions, found.events) == (1, 0)
    assert not place.session("s")["closed"]


def test_one_poisoned_session_among_400_and_its_repair(place: Place) -> None:
    """399 are sound; the refused line keeps reason and bytes; the repair touches one session."""
    for n in range(400):
        place.write(f"s{n:03}", [row(1, detail=f"d{n}"), close(2)])
    path = place.write("s137", [row(1), BAD, close(3)])
    found = place.night()
    assert (found.sessions, found.quarantined, found.fail_closed) == (400, 1, 1)
    assert (found.problems, found.open_sessions) == ((), 0)
    (bad,) = place.refused("s137")
    assert (bad["raw"], bad["code"], bad["line"]) == (BAD, "not-json", 2)
    assert (bad["file"], bad["origin"]) == ("t/s137.jsonl", "ledger")
    assert path.read_bytes()[bad["offset"] :].startswith(BAD)
    place.write("s137", [row(1), note(2, "decision_withdrawn", "seq:1"), close(3)])
    repaired = place.night()
    assert (repaired.read, repaired.changed) == (1, 1)
    assert (repaired.quarantined, repaired.fail_closed, repaired.problems) == (0, 0, ())
    assert place.refs("s137") == [1, 2, 3]
    assert place.refused("s137") == []


def test_a_row_that_named_no_earlier_row_may_be_repaired(place: Place) -> None:
    """Only the replay of both files could refuse it; it was not accepted all the same."""
    dangling = note(2, "decision_withdrawn", "m:1")
    place.write("s", [row(1), dangling, close(3)])
    found = place.night()
    assert (found.quarantined, found.fail_closed, found.events) == (1, 1, 2)
    (bad,) = place.refused("s")
    assert (bad["code"], bad["line"], json.loads(bad["raw"])) == ("bad-reference", 2, dangling)
    assert place.refs("s") == [1, 3]
    place.write("s", [row(1), dangling, close(3), row(4), close(5)])
    assert place.night().problems == ()
    place.write("s", [row(1), note(2, "decision_withdrawn", "seq:1"), close(3), row(4), close(5)])
    repaired = place.night()
    assert (repaired.problems, repaired.quarantined, repaired.fail_closed) == ((), 0, 0)
    assert place.refs("s") == [1, 2, 3, 4, 5]


def test_a_torn_line_is_waited_for(place: Place) -> None:
    """The session is open until the line is complete, and nothing is refused."""
    path = place.write("s", [row(1), close(2)])
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"seq": 3, "ts": "2026-')
    found = place.night()
    assert (found.quarantined, found.fail_closed, found.open_sessions) == (0, 0, 1)
    assert place.session("s")["torn"]
    path.write_bytes(whole)
    found = place.night()
    assert (found.changed, found.open_sessions) == (1, 0)
    assert not place.session("s")["torn"]
    path.write_bytes(whole + jsonl([row(3), close(4)])[:-1])
    assert place.night().open_sessions == 0


def test_a_torn_companion_hides_nothing(place: Place) -> None:
    """The row that was cut short is one that we write again: no reason to fail closed."""
    path = place.write("s", ROWS, [MARKER]).with_name("s.markers.jsonl")
    path.write_bytes(path.read_bytes() + b'{"seq": 2, "aft')
    found = place.night()
    assert (found.quarantined, found.fail_closed, found.open_sessions) == (1, 0, 0)


def test_a_bad_companion_line_fails_closed(place: Place) -> None:
    """A complete line that cannot be read may be a withdrawal by a reviewer."""
    place.write("s", ROWS, [b'{"seq": 1}', MARKER])
    found = place.night()
    assert (found.quarantined, found.fail_closed) == (1, 1)
    assert place.refused("s")[0]["origin"] == "companion"


def test_folders_of_unknown_tenants_are_reported_and_left_alone(place: Place) -> None:
    """Read once they are known; forgotten again, they are not missing."""
    place.write("s", ROWS)
    write_session(place.ledgers, "u", "s", ROWS)
    found = place.night(is_known_tenant=lambda t: t == "t")
    assert (found.sessions, found.read, found.unknown_tenants) == (1, 1, {"u": 1})
    assert place.derived.read(GROUP, EVENTS)["tenant_id"].unique().to_list() == ["t"]
    assert place.night().read == 1
    found = place.night(is_known_tenant=lambda t: t == "t")
    assert (found.sessions, found.events, found.problems) == (1, 3, ())


def test_the_order_of_the_files_does_not_show(tmp_path: Path) -> None:
    """Fresh homes, the same ledgers written in two orders: the same files, byte for byte."""
    snapshots: list[list[tuple[str, bytes]]] = []
    names = [("b", "s2"), ("a", "s10"), ("b", "s1"), ("a", "s9")]
    for order in (names, names[::-1]):
        root = tmp_path / str(len(snapshots))
        root.mkdir()
        place = Place(root)
        for tenant, session in order:
            write_session(place.ledgers, tenant, session, [*ROWS[:1], BAD, ROWS[2]], [MARKER])
        place.night()
        tables = [
            p for p in sorted((root / "derived").rglob("*.parquet")) if "sessions" not in str(p)
        ]
        snapshots.append([(str(p.relative_to(root)), p.read_bytes()) for p in tables])
        watermarks = place.derived.read(GROUP, SESSIONS).drop("ledger_stat", "companion_stat")
        snapshots[-1].append(("sessions", repr(watermarks.to_dicts()).encode()))
    assert len(snapshots[0]) == 3
    assert snapshots[0] == snapshots[1]


def test_many_nights_leave_few_parts_and_the_same_events(tmp_path: Path, place: Place) -> None:
    """Reading the final ledgers at once gives the same rows as growing with them."""
    for night in range(1, MAX_PARTS + 6):
        place.write("grows", [row(n) for n in range(1, night + 1)])
        place.write(f"new{night}", [row(1), BAD, close(3)])
        place.night()
    fresh = DerivedTables(tmp_path / "fresh")
    ingest(place.ledgers, fresh)
    for spec in (EVENTS, QUARANTINE):
        tables = []
        for derived in (place.derived, fresh):
            sessions = derived.read(GROUP, SESSIONS)
            keys = ["tenant_id", "session_id", "ingest_no"]
            found = derived.read(GROUP, spec).join(sessions, on=keys, how="semi")
            tables.append(found.drop("ingest_no").sort("session_id", "line").to_dicts())
            assert len(derived.head(GROUP)[spec.name]) <= MAX_PARTS
        assert tables[0] == tables[1]


def test_large_and_odd_texts_come_through(place: Place) -> None:
    """4 MB, marks of direction, joined emoji: stored as they are."""
    texts = ["é" * 2_000_000, "\u202eabc\u202c", "\U0001f469\u200d\u2695\ufe0f", "\ufeff\u2028"]
    place.write("s", [row(n, detail=t, subject=t[:9]) for n, t in enumerate(texts, 1)])
    place.night()
    events = current_events(place.derived, place.derived.read(GROUP, SESSIONS))
    assert events.sort("ref")["detail"].to_list() == texts


def test_an_empty_folder_and_a_missing_one(place: Place, tmp_path: Path) -> None:
    """No sessions is a result; no folder is a mistake in the command."""
    found = place.night()
    assert (found.sessions, found.events, found.quarantined) == (0, 0, 0)
    with pytest.raises(UsageError):
        ingest(tmp_path / "none", place.derived)


def test_metadata_holds_counts_and_no_content(place: Place) -> None:
    """The run's log forgets nothing and knows no tenants."""
    place.write("s", [row(1, subject="secret"), BAD])
    metadata = place.night().to_metadata()
    assert all(type(v) is int for v in metadata.values())
    assert (metadata["events"], metadata["quarantined_lines"]) == (1, 1)


def test_progress_ends_at_the_total(place: Place) -> None:
    """A long first night says how far it is."""
    for n in range(3):
        place.write(f"s{n}", ROWS)
    seen: list[tuple[int, int]] = []
    place.night(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)


def test_a_folder_that_cannot_be_listed_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sessions stay as they were, the rest of the night goes on, and the folder is named."""
    ledgers = tmp_path / "ledgers"
    write_session(ledgers, "good", "s1", [row(1), close(2)])
    write_session(ledgers, "shut", "s2", [row(1), close(2)])
    derived = DerivedTables(tmp_path / "derived")
    ingest(ledgers, derived)
    scandir = os.scandir

    def refuse(folder: str | Path) -> Any:
        if str(folder).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    write_session(ledgers, "good", "s3", [row(1), close(2)])
    result = ingest(ledgers, derived)
    assert result.changed == 1
    assert [(t, s, status) for t, s, status, _ in result.problems] == [("shut", "*", "unreadable")]
    assert derived.read(GROUP, SESSIONS)["status"].to_list() == ["ok", "ok", "ok"]


def test_names_that_are_not_text_are_reported(tmp_path: Path) -> None:
    """A file that cannot be named in a table is listed with what to do, not skipped."""
    ledgers = tmp_path / "ledgers"
    write_session(ledgers, "t", "s1", [row(1), close(2)])
    (ledgers / "t" / os.fsdecode(b"b\xff.jsonl")).write_bytes(b"")
    result = ingest(ledgers, DerivedTables(tmp_path / "derived"))
    ((tenant, name, status, message),) = result.problems
    assert (tenant, name, status) == ("t", "b\\udcff.jsonl", "unreadable")
    assert "rename" in message


def test_a_tenant_that_leaves_the_settings_is_blocked_until_it_returns(tmp_path: Path) -> None:
    """Nothing new comes of its sessions meanwhile; afterwards they count as before."""
    ledgers = tmp_path / "ledgers"
    write_session(ledgers, "a", "s1", [row(1), close(2)])
    derived = DerivedTables(tmp_path / "derived")
    ingest(ledgers, derived)
    away = ingest(ledgers, derived, is_known_tenant=lambda _: False)
    assert away.unknown_tenants == {"a": 1}
    assert derived.read(GROUP, SESSIONS)["status"].to_list() == ["unknown-tenant"]
    ingest(ledgers, derived)
    assert derived.read(GROUP, SESSIONS)["status"].to_list() == ["ok"]


def test_a_torn_companion_line_does_not_allow_inserted_ledger_rows(tmp_path: Path) -> None:
    """Only refused lines of the ledger itself may be repaired between accepted rows."""
    ledgers = tmp_path / "ledgers"
    path = write_session(ledgers, "a", "s1", [row(1), row(3), close(4)])
    (ledgers / "a" / "s1.markers.jsonl").write_bytes(b'{"seq": 1, "ts"')
    derived = DerivedTables(tmp_path / "derived")
    ingest(ledgers, derived)
    path.write_bytes(jsonl([row(1), row(2), row(3), close(4)]))
    result = ingest(ledgers, derived)
    assert [status for _, _, status, _ in result.problems] == ["append-only-violation"]
