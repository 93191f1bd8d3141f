"""The pair search: every pair once, exactly, in blocks; by cells with a measured recall."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.domain.ports import Vectors
from memory_assets.steps.merge.pairs import (
    Pairs,
    RecallMeter,
    SearchStats,
    approximate_pairs,
    block_pairs,
    exact_pairs,
    find_pairs,
    make_cells,
    plan_blocks,
)


def unit_rows(rows: int, dimension: int = 16, *, seed: int = 0, families: int = 0) -> Vectors:
    """Random unit vectors; with ``families`` each row lies near one of so many centres."""
    draw = np.random.default_rng(seed)
    found = draw.standard_normal((rows, dimension))
    if families:
        centres = draw.standard_normal((families, dimension)) * 3
        found += centres[draw.integers(families, size=rows)]
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype(np.float32)


def as_set(chunks: list[Pairs]) -> set[tuple[int, int]]:
    """The pairs, checked to be ordered and given once."""
    pairs = [(int(a), int(b)) for c in chunks for a, b in zip(c.left, c.right, strict=True)]
    assert all(a < b for a, b in pairs)
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def brute(vectors: Vectors, threshold: float) -> set[tuple[int, int]]:
    """Every pair, one product at a time."""
    products = vectors @ vectors.T
    rows = range(len(vectors))
    return {(i, j) for i, j in itertools.combinations(rows, 2) if products[i, j] >= threshold}


@given(st.integers(0, 40), st.integers(1, 12), st.integers(0, 5))
def test_blocks_find_what_brute_force_finds(rows: int, block: int, seed: int) -> None:
    """Whatever the block size, every pair is found once."""
    vectors = unit_rows(rows, 4, seed=seed)
    assert as_set(list(exact_pairs(vectors, 0.6, block=block))) == brute(vectors, 0.6)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 9))
def test_new_rows_meet_everything_and_old_ones_do_not_meet_again(
    old: int, fresh: int, block: int
) -> None:
    """An incremental search finds exactly the pairs with a new row."""
    vectors = unit_rows(old + fresh, 4)
    found = as_set(list(exact_pairs(vectors, 0.5, fresh=fresh, block=block)))
    assert found == {(i, j) for i, j in brute(vectors, 0.5) if j >= old}


@given(st.integers(0, 50), st.integers(1, 9), st.data())
def test_each_pair_of_rows_meets_in_one_block(rows: int, block: int, data: st.DataObject) -> None:
    """The plan of blocks covers what it should, once."""
    fresh = data.draw(st.none() | st.integers(0, rows))
    met: list[tuple[int, int]] = []
    for left, right in plan_blocks(rows, fresh=fresh, block=block):
        cells = itertools.product(range(left.start, left.stop), range(right.start, right.stop))
        met += [(i, j) for i, j in cells if left != right or i < j]
    first = 0 if fresh is None else rows - fresh
    expected = [(i, j) for i, j in itertools.combinations(range(rows), 2) if j >= first]
    assert sorted(met) == expected


def test_a_block_function_is_pure_and_keeps_cosines() -> None:
    """Row numbers are shifted to where the blocks begin; cosines are those of the products."""
    vectors = unit_rows(6, 4)
    found = block_pairs(vectors[:3], vectors[3:], -1.0, 100, 200)
    assert len(found) == 9
    i, j = int(found.left[4]) - 100, int(found.right[4]) - 200
    assert found.cosine[4] == pytest.approx(float(vectors[i] @ vectors[3 + j]), abs=1e-6)


def test_a_pending_vector_pairs_with_nothing() -> None:
    """A row of zeros, or of NaN, is near no other row."""
    vectors = unit_rows(5, 4)
    vectors[1], vectors[3] = 0.0, np.nan
    rows = {r for pair in as_set(list(exact_pairs(vectors, 0.01))) for r in pair}
    assert rows.isdisjoint({1, 3})


@settings(max_examples=20)
@given(st.integers(2, 120), st.integers(0, 3))
def test_cells_never_invent_or_repeat_a_pair(rows: int, seed: int) -> None:
    """What the search by cells finds are pairs of the exact search, each once."""
    vectors = unit_rows(rows, 6, seed=seed, families=4)
    cells = make_cells(vectors, seed=seed, probes=2)
    found = as_set(list(approximate_pairs(vectors, 0.8, cells)))
    assert found <= brute(vectors, 0.8)


def test_probing_every_cell_is_exact() -> None:
    """With as many probes as cells nothing is missed."""
    vectors = unit_rows(300, 8, families=6)
    cells = make_cells(vectors, seed=1, cells=7, probes=7)
    assert as_set(list(approximate_pairs(vectors, 0.8, cells))) == brute(vectors, 0.8)


def test_the_meter_measures_what_a_search_misses() -> None:
    """On all rows the measured recall is the true one."""
    vectors = unit_rows(400, 8, families=12)
    cells = make_cells(vectors, seed=0, cells=40, probes=1)
    meter = RecallMeter(vectors, 0.9, seed=0, rows=400)
    found = as_set([meter.see(c) for c in approximate_pairs(vectors, 0.9, cells)])
    truth = brute(vectors, 0.9)
    assert meter.recall == pytest.approx(len(found) / len(truth), abs=1e-3)
    assert meter.recall < 1.0


def test_a_large_group_is_searched_by_cells_and_says_so() -> None:
    """Beyond the limit the search measures its own recall; up to it the search is exact."""
    vectors = unit_rows(1500, 16, families=60)
    stats, exact = SearchStats(), SearchStats()
    found = as_set(list(find_pairs(vectors, 0.9, stats, exact_up_to=1000)))
    truth = as_set(list(find_pairs(vectors, 0.9, exact)))
    assert (stats.approximate, exact.approximate) == (True, False)
    assert (exact.recall, exact.pairs) == (1.0, len(truth))
    assert stats.sampled_pairs > 0
    assert len(found) / len(truth) >= 0.99
    assert stats.recall >= 0.99


def test_new_rows_are_compared_exactly_however_many_there_are() -> None:
    """The nightly step needs no approximation."""
    vectors = unit_rows(300, 8, families=6)
    stats = SearchStats()
    found = as_set(list(find_pairs(vectors, 0.9, stats, fresh=20, exact_up_to=10)))
    assert not stats.approximate
    assert found == {(i, j) for i, j in brute(vectors, 0.9) if j >= 280}


def test_progress_ends_at_its_total() -> None:
    """Both searches tell how far they are."""
    vectors = unit_rows(50, 4)
    for by_cells in (False, True):
        seen: list[tuple[int, int]] = []

        def told(done: int, total: int, seen: list[tuple[int, int]] = seen) -> None:
            seen.append((done, total))

        if by_cells:
            cells = make_cells(vectors, seed=0)
            list(approximate_pairs(vectors, 0.9, cells, progress=told))
        else:
            list(exact_pairs(vectors, 0.9, block=10, progress=told))
        assert seen[-1] == (len(seen), len(seen))


def test_figures_of_groups_add_up() -> None:
    """Recall of several groups is weighed by what was sampled in each."""
    total = SearchStats(10, 4, False, 1.0, 0)
    total.merge(SearchStats(5, 6, True, 0.9, 100))
    total.merge(SearchStats(5, 2, True, 0.7, 100))
    assert (total.rows, total.pairs, total.approximate) == (20, 12, True)
    assert total.recall == pytest.approx(0.8)
