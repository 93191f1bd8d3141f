"""The access log: append-only, by day and process, every event once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from memory_assets.storage.access_log import UseEvent, append_uses, read_uses

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def use(seq: int, **changes: object) -> UseEvent:
    fields: dict[str, object] = {
        "tenant_id": "clinic",
        "session_id": "s1",
        "decision_seq": seq,
        "memory_id": "mem-0001",
        "used_at": NOON,
        "used_by": "anna",
    }
    return UseEvent(**fields | changes)  # type: ignore[arg-type]


def test_an_event_is_read_as_it_was_written(tmp_path: Path) -> None:
    """In the file of its UTC day and of the process that wrote it."""
    late = use(-1, used_at=datetime(2026, 3, 2, 0, 30, tzinfo=timezone(timedelta(hours=1))))
    append_uses(tmp_path, [late], process="p1")
    append_uses(tmp_path, [use(-2, used_at=NOON + timedelta(days=1))], process="p2")
    assert [e.event_id for e in read_uses(tmp_path).events] == [
        ("clinic", "s1", -1, 0),
        ("clinic", "s1", -2, 0),
    ]
    files = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.jsonl"))
    assert files == ["dt=2026-03-01/p1.jsonl", "dt=2026-03-02/p2.jsonl"]


def test_a_repeated_event_counts_once(tmp_path: Path) -> None:
    """The same row applied twice, on two days and by two processes, is one use: the first."""
    append_uses(tmp_path, [use(-1)], process="a")
    append_uses(tmp_path, [use(-1, used_at=NOON + timedelta(days=2), used_by="b")], process="b")
    log = read_uses(tmp_path)
    assert [e.used_by for e in log.events] == ["anna"]
    assert log.repeated == 1


def test_a_bad_line_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    """Each refusal names file and line; a torn last line waits for the rest of it."""
    append_uses(tmp_path, [use(-1)], process="a")
    path = tmp_path / "dt=2026-03-01" / "a.jsonl"
    naive = b'{"tenant_id":"t","session_id":"s","decision_seq":1,"memory_id":"m",'
    naive += b'"used_at":"2026-03-01T12:00:00","used_by":"x"}'
    good = path.read_bytes()
    path.write_bytes(b"\xff\n[]\n" + naive + b"\n" + good + good[:-10])
    log = read_uses(tmp_path)
    assert len(log.events) == 1
    assert [(r.file, r.line) for r in log.refused] == [
        ("dt=2026-03-01/a.jsonl", n) for n in (1, 2, 3)
    ]


def test_a_missing_folder_reads_as_empty(tmp_path: Path) -> None:
    """Nothing was used yet."""
    assert read_uses(tmp_path / "none").events == ()


def test_writers_that_share_a_file_lose_nothing(tmp_path: Path) -> None:
    """Process numbers repeat over days and machines, so two writers may meet in one file.

    Threads stand for processes: the lock belongs to the opened file, and each append opens its own.
    """

    def append(seq: int) -> None:
        append_uses(tmp_path, [use(-seq)], process="shared")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(1, 41)))
    assert len(read_uses(tmp_path).events) == 40
