"""Ids on record: what was buried stays buried, and roles are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.allocations import Allocation, given_ids, in_force, missing

KINDS = st.sampled_from(["memory", "equal", "reuse", "duplicate", "buried"])
LINES = st.lists(
    st.builds(
        Allocation,
        tenant_id=st.sampled_from(["a", "b"]),
        session_id=st.sampled_from(["s", "t"]),
        decision_seq=st.integers(1, 3),
        kind=KINDS,
        memory_id=st.integers(1, 9).map(lambda n: f"mem-{n:04d}"),
    )
)


@given(LINES)
def test_no_later_line_digs_up_a_buried_key(lines: list[Allocation]) -> None:
    """Once a key is buried, whatever follows it in the log does not count."""
    found = in_force(lines)
    for line in lines:
        if line.kind == "buried":
            assert found[line.key].kind == "buried"
    assert found.keys() == {line.key for line in lines}


@given(LINES)
def test_every_number_ever_given_is_kept(lines: list[Allocation]) -> None:
    """Numbers of buried memories too: an id is never given to another."""
    found = in_force(lines)
    assert {m for m, _ in given_ids(found).values()} == {a.memory_id for a in found.values()}


@given(LINES, st.sets(st.integers(1, 3)))
def test_what_is_missing_is_on_record_and_not_present(
    lines: list[Allocation], present: set[int]
) -> None:
    """Neither what is there nor what was buried is missed."""
    found = in_force(lines)
    here = {key for key in found if key[2] in present}
    lost = {line.key for line in missing(found, here)}
    assert lost == {k for k, a in found.items() if k not in here and a.kind != "buried"}
