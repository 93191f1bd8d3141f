"""The review file in processes: reviewers at the same moment, and one who replaces the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memory_assets.storage.review_log import read_review_log

EACH = 150
DECIDE = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from memory_assets.domain.review import ReviewDecision
from memory_assets.storage.review_log import append_review_decisions
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
assert sys.stdin.readline()
for number in range(1, count + 1):
    verdict = ReviewDecision(
        tenant_id="clinic", session_id=f"s-{name}", decision_seq=number, verdict="accept",
        reviewer=name, decided_at=datetime(2026, 2, 1, tzinfo=UTC), content_sha256="ab",
        reason="x" * (number * 37 % 9_000),
    )
    append_review_decisions(path, [verdict])
"""
REPLACE = """
import sys
from pathlib import Path
from memory_assets.storage.redaction import drop_lines
path, gone = Path(sys.argv[1]), 0
assert sys.stdin.readline()
while gone < int(sys.argv[2]):
    gone += drop_lines(path, lambda row: row["reviewer"] == "erased") if path.exists() else 0
"""


def _started(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, text=True
    )


def _at_once(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    try:
        for process in processes:
            process.communicate(timeout=60)
            assert process.returncode == 0
    finally:
        for process in processes:
            process.kill()


@pytest.mark.parametrize("replaced", [False, True], ids=["appended", "replaced-meanwhile"])
def test_reviewers_at_the_same_moment_lose_no_verdict(replaced: bool, tmp_path: Path) -> None:
    """Every verdict is there once, whole, in its reviewer's order, even while lines are erased."""
    path = tmp_path / "review" / "decisions.jsonl"
    names = ["anna", "bruno", "carla"]
    started = [_started(DECIDE, path, name, EACH) for name in names]
    if replaced:
        started += [_started(DECIDE, path, "erased", EACH), _started(REPLACE, path, EACH)]
    _at_once(started)
    log = read_review_log(path)
    assert log.refused == ()
    assert len(log.decisions) == EACH * len(names)
    for name in names:
        mine = [d.decision_seq for _, d in log.decisions if d.reviewer == name]
        assert mine == list(range(1, EACH + 1))
