"""The allocation log as a file: durable lines, torn ends, damage that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.domain.allocations import Allocation
from memory_assets.errors import CorruptStore
from memory_assets.storage.allocations import append_allocations, read_allocations
from memory_assets.storage.home import Home

ONE = Allocation(
    tenant_id="bank", session_id="s1", decision_seq=1, kind="memory", memory_id="mem-0001"
)
TWO = Allocation(
    tenant_id="bank", session_id="s1", decision_seq=-2, kind="buried", reason="erasure"
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """In the order in which it was written, whatever the number of calls."""
    home = Home(tmp_path)
    assert read_allocations(home) == []
    append_allocations(home, [ONE])
    append_allocations(home, [])
    append_allocations(home, [TWO])
    assert read_allocations(home) == [ONE, TWO]


def test_a_line_that_a_crash_cut_short_is_no_line(tmp_path: Path) -> None:
    """It is not read, and the next writer does not append behind it."""
    home = Home(tmp_path)
    append_allocations(home, [ONE])
    with home.allocations.open("ab") as out:
        out.write(b'{"tenant_id":"ba')
    assert read_allocations(home) == [ONE]
    append_allocations(home, [TWO])
    assert read_allocations(home) == [ONE, TWO]


def test_a_damaged_line_is_said(tmp_path: Path) -> None:
    """A rebuild must not go on with half a record."""
    home = Home(tmp_path)
    append_allocations(home, [ONE])
    home.allocations.write_bytes(b"{}\n" + home.allocations.read_bytes())
    with pytest.raises(CorruptStore, match="allocation log"):
        read_allocations(home)
