"""Who holds a lock, asked without taking it."""

from __future__ import annotations

import os
from pathlib import Path

from memory_assets.storage.lock_state import holder_of
from memory_assets.storage.locks import exclusive


def test_a_held_lock_names_its_holder(tmp_path: Path) -> None:
    """Purpose and process, as the holder signed; nobody once it is released."""
    path = tmp_path / "locks" / "publisher.lock"
    assert holder_of(path) is None
    with exclusive(path, purpose="publishing"):
        found = holder_of(path)
        assert found is not None
        assert found.startswith(f"publishing, process {os.getpid()} on ")
    assert holder_of(path) is None


def test_asking_takes_nothing(tmp_path: Path) -> None:
    """Whoever wants the lock right after the question gets it."""
    path = tmp_path / "publisher.lock"
    path.write_text("no note")
    assert holder_of(path) is None
    with exclusive(path, purpose="publishing"):
        path.write_text("overwritten by somebody")
        assert holder_of(path) == "an unknown process"
