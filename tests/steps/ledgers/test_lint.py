"""`lint_ledgers`: every problem with its file, line and remedy, and nothing else."""

from __future__ import annotations

import ast
import inspect
import json
import os
from pathlib import Path
from typing import Any

import pytest

import memory_assets
from memory_assets.domain import effective, parsing
from memory_assets.errors import UsageError
from memory_assets.steps.ledgers.lint import REMEDIES, LintReport, lint_ledgers

SAMPLES = Path(memory_assets.__file__).parent / "samples" / "ledgers"


def _line(seq: int, type: str = "memory_event", **fields: Any) -> bytes:
    row = {"seq": seq, "ts": "2026-01-31T10:00:00Z", "type": type, **fields}
    return json.dumps(row).encode() + b"\n"


CLOSE = _line(9, "session_closed")


def _write(root: Path, name: str, *lines: bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def _found(report: LintReport) -> list[tuple[str, int, str, str]]:
    return [(Path(p.file).name, p.line, p.level, p.code) for p in report.problems]


def test_a_sound_session_has_no_problems(tmp_path: Path) -> None:
    """A finished, well-formed session is reported as such, with its rows counted."""
    _write(tmp_path, "t/s.jsonl", _line(1), _line(2, "decision_withdrawn", detail="seq:1"), CLOSE)
    report = lint_ledgers(tmp_path)
    assert report == LintReport(sessions=1, rows=3, problems=())
    assert report.ok


@pytest.mark.parametrize(
    ("bad", "level", "code"),
    [
        (b"\xff\n", "error", "not-utf8"),
        (b"{\n", "error", "not-json"),
        (b"\0\0\0\n", "error", "not-json"),
        (b"[]\n", "error", "not-an-object"),
        (b'{"seq": 2, "seq": 2, "ts": "2026-01-31T10:00:00Z", "type": "x"}\n', "error",
         "duplicate-key"),
        (_line(2, detail="a\0"), "error", "nul"),
        (_line(2, metadata={"a": 2**70}), "error", "bad-number"),
        (b'{"seq": 2, "metadata": ' + b'{"a": ' * 200 + b"1" + b"}" * 201 + b"\n", "error",
         "too-deep"),
        (_line(2, tables="fact_visits"), "error", "bad-field"),
        (_line(2, "concept_clarified"), "error", "bad-phase"),
        (_line(2, ts="yesterday"), "error", "bad-time"),
        (_line(1), "error", "seq-order"),
        (_line(2, tenant_id="other"), "error", "foreign-tenant"),
        (_line(2, session_id="other"), "error", "foreign-session"),
        (_line(2, "decision_withdrawn", detail="seq:5"), "error", "bad-reference"),
        (_line(2, "decision_withdrawn", detail="m:1"), "error", "bad-reference"),
        (_line(2, ts="2026-01-31T10:00:00"), "warning", "naive-time"),
        (_line(2, ts=1_769_853_600_000), "warning", "epoch-time"),
        (_line(2, "concept_clarifed", phase="F1"), "warning", "unknown-type"),
        (_line(2, "memory_promoted", detail="seq:1"), "warning", "marker-not-reusable"),
        (_line(2, "concept_clarified", phase="F1", subject="a", detail=" "), "warning",
         "empty-clarification"),
        (_line(2, "concept_clarified", phase="F1", detail="b"), "warning", "empty-clarification"),
    ],
    ids=lambda value: repr(value) if isinstance(value, bytes) else value,
)  # fmt: skip
def test_each_kind_of_bad_line_is_named(tmp_path: Path, bad: bytes, level: str, code: str) -> None:
    """One bad line gives one problem: at its line, with a stable code and a way to mend it."""
    _write(tmp_path, "t/s.jsonl", _line(1), bad, CLOSE)
    report = lint_ledgers(tmp_path)
    assert _found(report) == [("s.jsonl", 2, level, code)]
    assert report.ok == (level != "error")
    assert report.problems[0].remedy == REMEDIES[code]


@pytest.mark.parametrize(
    ("content", "line", "level", "code"),
    [
        (_line(1) + b'{"seq": 2', 2, "warning", "torn-tail"),
        (_line(1) + CLOSE.rstrip(), 2, "warning", "no-line-end"),
        (b"\xef\xbb\xbf" + CLOSE, 1, "info", "byte-order-mark"),
        (b"", 0, "info", "empty"),
        (_line(1), 1, "info", "open-session"),
        (_line(1, "session_closed") + _line(2), 2, "info", "open-session"),
    ],
    ids=["torn", "no line end", "BOM", "empty", "never closed", "reopened"],
)
def test_the_state_of_a_file_is_named(
    tmp_path: Path, content: bytes, line: int, level: str, code: str
) -> None:
    """What concerns the file as a whole is told apart from a mistake in a row."""
    report = lint_ledgers(_write(tmp_path, "t/s.jsonl", content))
    assert _found(report) == [("s.jsonl", line, level, code)]
    assert report.ok


@pytest.mark.parametrize(
    ("companion", "line", "code"),
    [
        (_line(1), 1, "bad-after-seq"),
        (_line(1, after_seq=9) + _line(2, after_seq=1), 2, "after-seq-order"),
        (_line(1, after_seq=12), 1, "after-seq-unknown"),
        (_line(1, "memory_promoted", after_seq=9, detail="seq:4"), 1, "bad-reference"),
        (_line(1, after_seq=9) + b'{"seq": 2', 2, "companion-torn"),
    ],
)
def test_problems_of_a_companion_file_are_its_own(
    tmp_path: Path, companion: bytes, line: int, code: str
) -> None:
    """A problem in the companion file names that file, whichever of the two is linted."""
    ledger = _write(tmp_path, "t/s.jsonl", _line(1), CLOSE)
    beside = _write(tmp_path, "t/s.markers.jsonl", companion)
    for path in (ledger, beside, beside.parent, tmp_path):
        found = [(file, at, what) for file, at, _, what in _found(lint_ledgers(path))]
        assert found == [("s.markers.jsonl", line, code)]


def test_a_ledger_may_name_companion_rows(tmp_path: Path) -> None:
    """Both files are judged as one session: a reference across them is sound."""
    concept = _line(1, "concept_clarified", phase="F1", subject="a", detail="b")
    withdrawal = _line(2, "decision_withdrawn", detail="m:1")
    _write(tmp_path, "t/s.jsonl", concept, withdrawal, CLOSE)
    marker = _line(1, "memory_promoted", after_seq=1, detail="seq:1")
    _write(tmp_path, "t/s.markers.jsonl", marker)
    assert lint_ledgers(tmp_path).problems == ()


def test_files_that_nobody_reads_are_named(tmp_path: Path) -> None:
    """An orphaned companion file and a ledger outside every tenant's folder do not go unseen."""
    _write(tmp_path, "t/gone.markers.jsonl", _line(1, after_seq=1))
    _write(tmp_path, "lost.jsonl", CLOSE)
    _write(tmp_path, "t/LOUD.JSONL", CLOSE)
    _write(tmp_path, "t/packed.jsonl.gz", CLOSE)
    _write(tmp_path, "t/notes.txt", CLOSE)
    assert _found(lint_ledgers(tmp_path)) == [
        ("lost.jsonl", 0, "warning", "stray-file"),
        ("LOUD.JSONL", 0, "warning", "stray-file"),
        ("gone.markers.jsonl", 0, "error", "companion-without-ledger"),
        ("packed.jsonl.gz", 0, "warning", "stray-file"),
    ]
    assert len(_found(lint_ledgers(tmp_path / "t"))) == 3


def test_an_unreadable_ledger_does_not_hide_the_others(tmp_path: Path) -> None:
    """A file that cannot be opened is one problem among the others."""
    _write(tmp_path, "t/good.jsonl", CLOSE)
    (tmp_path / "t" / "folder.jsonl").mkdir()
    (tmp_path / "t" / "link.jsonl").symlink_to("nowhere")
    report = lint_ledgers(tmp_path)
    assert _found(report) == [
        ("folder.jsonl", 0, "error", "unreadable"),
        ("link.jsonl", 0, "error", "unreadable"),
    ]
    assert report.sessions == 3
    assert report.rows == 1


def test_a_folder_that_cannot_be_listed_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a file whose name is no text."""
    _write(tmp_path, "good/s.jsonl", CLOSE)
    _write(tmp_path, f"good/{os.fsdecode(b'bad-' + bytes([255]))}.txt.jsonl", CLOSE)
    (tmp_path / "shut").mkdir()
    scandir = os.scandir

    def refuse(folder: str | Path) -> Any:
        if str(folder).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    report = lint_ledgers(tmp_path)
    assert [(Path(p.file).name, p.code) for p in report.problems] == [
        ("bad-\\udcff.txt.jsonl", "unreadable"),
        ("shut", "unreadable"),
    ]
    assert report.problems[1].message == "A folder cannot be listed: Permission denied."


def test_a_path_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    """A wrong path is an error with a remedy, never an empty report."""
    with pytest.raises(UsageError, match="does not exist"):
        lint_ledgers(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no ledger"):
        lint_ledgers(_write(tmp_path, "notes.txt", b"hello"))


def test_the_samples_show_the_problems_that_they_promise() -> None:
    """The bundled ledgers have exactly the flaws that their README lists."""
    report = lint_ledgers(SAMPLES)
    assert _found(report) == [
        ("2026-02-03-liquidity.jsonl", 9, "warning", "torn-tail"),
        ("2026-02-10-kyc.jsonl", 4, "warning", "unknown-type"),
        ("2026-01-14-cardioversioni.jsonl", 11, "warning", "marker-not-reusable"),
        ("2026-02-09-archivio-storico.jsonl", 5, "warning", "naive-time"),
        ("2026-02-11-impianti.jsonl", 5, "error", "not-json"),
        ("2026-02-16-degenza-media.jsonl", 8, "info", "open-session"),
    ]
    assert report.counts() == {"error": 1, "warning": 4, "info": 1}
    assert report.sessions == 17


def test_the_report_is_plain_data(tmp_path: Path) -> None:
    """`--json` prints every field of every problem."""
    path = _write(tmp_path, "t/s.jsonl", b"[]\n", CLOSE)
    assert json.loads(json.dumps(lint_ledgers(path).to_dict())) == {
        "sessions": 1,
        "rows": 1,
        "ok": False,
        "counts": {"error": 1, "warning": 0, "info": 0},
        "problems": [
            {
                "file": str(path),
                "line": 1,
                "level": "error",
                "code": "not-an-object",
                "message": "valid JSON, but a list, not an object",
                "remedy": REMEDIES["not-an-object"],
            }
        ],
    }


def test_every_code_of_parser_and_replay_has_a_remedy() -> None:
    """A new reason to refuse a row cannot be added without saying how to mend it."""
    codes = set()
    for module in (parsing, effective):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                place = {"BadLine": 0, "IgnoredRow": 1}.get(node.func.id)
                if place is not None and len(node.args) > place:
                    code = node.args[place]
                    assert isinstance(code, ast.Constant)
                    codes.add(code.value)
    assert {"not-json", "unknown-type"} <= codes <= REMEDIES.keys()
