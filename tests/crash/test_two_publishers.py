"""Two processes want to publish at once: one does, the other is told who is at work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memory_assets.errors import PublicationConflict
from memory_assets.storage.home import Home
from memory_assets.storage.pointer import LocalPointer
from tests.crash.conftest import Place
from tests.crash.forking import ROOT, Forker

pytestmark = pytest.mark.crash
HOLDER = """
import sys
from pathlib import Path
from memory_assets.storage.home import Home
from memory_assets.storage.locks import exclusive
with exclusive(Home(Path(sys.argv[1])).publisher_lock, purpose="publishing"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_publisher_learns_who_is_at_work(place: Place, forker: Forker) -> None:
    """The error names process and purpose; once the first has ended, the second may publish."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place.home)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        second = forker.run(place.step("night"))
        assert second.exit_code == 5
        error = second.results[0]
        assert error["error"] == "publisher-busy"
        assert f"publishing, process {first.pid}" in error["what"]
        first.kill()
    assert forker.run(place.step("night")).results[0]["generation"] == 2


def test_two_nights_at_once_publish_everything_once(place: Place) -> None:
    """Whichever comes first, every decision is settled once and both processes end as promised."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.crash.worker"]
    nights = [
        subprocess.Popen(
            [*command, str(place.home), str(place.ledgers)], cwd=ROOT, stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    answers = [json.loads(night.communicate()[0]) for night in nights]
    codes = sorted(night.returncode for night in nights)
    assert codes in ([0, 0], [0, 5]), answers
    published = [a for a in answers if a.get("published")]
    assert [a["generation"] for a in published] == [2]


def test_a_pointer_that_moved_is_not_overwritten(tmp_path: Path) -> None:
    """Compare and swap: whoever prepared from an older state loses, and nothing is left behind."""
    pointer = LocalPointer(Home(tmp_path).current)
    pointer.replace(b"one", expected_tag=None)
    found = pointer.read()
    assert found is not None
    pointer.replace(b"two", expected_tag=found[1])
    with pytest.raises(PublicationConflict) as raised:
        pointer.replace(b"other", expected_tag=found[1])
    assert "run again" in raised.value.remedy
    with pytest.raises(PublicationConflict):
        pointer.replace(b"other", expected_tag=None)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"two"]
