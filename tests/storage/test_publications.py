"""Times of generations on disk."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from memory_assets.storage.publications import note_publications, noted_publications

AT = datetime(2026, 3, 1, tzinfo=UTC)


def test_times_are_found_again_and_written_only_when_new(tmp_path: Path) -> None:
    """The same ones again leave the file as it is; a damaged file counts as none."""
    path = tmp_path / "tiers" / "publications.json"
    note_publications(path, {})
    assert not path.exists()
    note_publications(path, {1: AT})
    assert noted_publications(path) == {1: AT.isoformat()}
    before = path.stat().st_ino
    note_publications(path, {1: AT})
    assert path.stat().st_ino == before
    path.write_text("[")
    assert noted_publications(path) == {}
