"""The file of intents: numbered, append-only, whole after any crash."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.intents import Recorded, Redacted, Retire
from memory_assets.storage.home import Home
from memory_assets.storage.intents import append_intents, read_intents, rewrite_intents

WHEN = datetime(2026, 3, 1, tzinfo=UTC)


def wish(number: int = 1) -> Retire:
    """Any intent."""
    return Retire(
        tenant_id="t", memory_id=f"mem-{number:04d}", decided_by="reviewer anna", decided_at=WHEN
    )


def file_of(home: Home) -> Path:
    """The file itself."""
    return home.intents / "intents.jsonl"


def test_numbers_grow_and_what_is_new_is_known(tmp_path: Path) -> None:
    """A generation that has seen number 2 is given number 3."""
    home = Home(tmp_path)
    assert read_intents(home).recorded == ()
    assert append_intents(home, []) == []
    assert append_intents(home, [wish(1), wish(2)]) == [1, 2]
    assert append_intents(home, [wish(3)]) == [3]
    log = read_intents(home)
    assert (log.last, log.after(2)) == (3, [Recorded(3, wish(3))])


def test_numbers_never_come_back(tmp_path: Path) -> None:
    """Not even when somebody takes the file away: what was looked at is in the manifest."""
    home = Home(tmp_path)
    append_intents(home, [wish(), wish()])
    file_of(home).unlink()
    assert append_intents(home, [wish()], after=2) == [3]


@given(cut=st.integers(1, 200))
def test_a_torn_line_is_as_if_it_had_never_been(cut: int) -> None:
    """Whatever a crash left of the last line, the next writer begins after the last whole one."""
    with TemporaryDirectory() as folder:
        home = Home(Path(folder))
        append_intents(home, [wish(1), wish(2)])
        data = file_of(home).read_bytes()
        whole = data.index(b"\n") + 1
        file_of(home).write_bytes(data[: max(whole, len(data) - cut)])
        assert [r.no for r in read_intents(home).recorded] in ([1], [1, 2])
        assert append_intents(home, [wish(3)]) == [2]
        log = read_intents(home)
        assert [
            (r.no, r.intent.memory_id) for r in log.recorded if isinstance(r.intent, Retire)
        ] == [
            (1, "mem-0001"),
            (2, "mem-0003"),
        ]
        assert log.refused == ()


def test_a_bad_line_is_refused_and_the_others_hold(tmp_path: Path) -> None:
    """With its line number; its number is not given out again."""
    home = Home(tmp_path)
    append_intents(home, [wish(1)])
    with file_of(home).open("ab") as out:
        out.write(b'{"no": 2, "intent": {"kind": "explode"}}\nnonsense\n')
    assert append_intents(home, [wish(3)]) == [3]
    log = read_intents(home)
    assert [r.no for r in log.recorded] == [1, 3]
    assert [(r.no, r.code) for r in log.refused] == [(2, "bad-line"), (0, "bad-line")]
    assert "line 2" in log.refused[0].reason


def test_many_writers_get_numbers_of_their_own(tmp_path: Path) -> None:
    """No number twice, no line lost."""
    home = Home(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda n: append_intents(home, [wish(n)])[0], range(1, 25)))
    assert sorted(numbers) == list(range(1, 25))
    assert len(read_intents(home).recorded) == 24


def test_a_rewrite_changes_what_it_must_and_keeps_the_numbers(tmp_path: Path) -> None:
    """A redacted line keeps its number; lines that nobody can read are dropped."""
    home = Home(tmp_path)
    assert rewrite_intents(home, lambda line: line) == 0
    append_intents(home, [wish(1), wish(2)])
    before = file_of(home).read_bytes()
    assert rewrite_intents(home, lambda line: line) == 0
    assert file_of(home).read_bytes() == before

    def redact(line: Recorded) -> Recorded:
        if line.no != 1:
            return line
        return Recorded(1, Redacted(tenant_id="t", decided_by="x", decided_at=WHEN))

    assert rewrite_intents(home, redact) == 1
    log = read_intents(home)
    assert [type(r.intent) for r in log.recorded] == [Redacted, Retire]
    assert b"mem-0001" not in file_of(home).read_bytes()
