"""The runner of the benches: it finds their figures in what they say, and holds them to goals."""

from __future__ import annotations

import importlib

import pytest

from tests.benches.__main__ import BENCHES, Bench, read_figures

MERGE = """\
   rows   bare GEMM   exact (ratio)     pairs   by cells (of exact)  recall  extra MB
 10,000      0.45 s    0.52 s (1.17)        28      0.42 s (0.80)   1.0000      21
 50,000     10.33 s    9.87 s (0.95)       616      1.98 s (0.20)   0.9912      21
2,000 new x 48,000 existing, exact: 0.74 CPU s, 0.95 of a bare GEMM, 52 pairs; peak 328 MB
"""


@pytest.mark.parametrize("bench", BENCHES, ids=lambda b: b.name)
def test_every_bench_is_there(bench: Bench) -> None:
    """The module of each bench can be imported."""
    assert importlib.import_module(f"tests.benches.{bench.module}").__doc__


def test_the_worst_figure_counts() -> None:
    """Of several sizes the worst is held to the goal; cells are held to it from 50,000 rows on."""
    (merge,) = (b for b in BENCHES if b.name == "merge")
    assert [f.worst for f in read_figures(merge, MERGE)] == [1.17, 0.95, 0.20, 0.9912]
    assert all(f.met for f in read_figures(merge, MERGE))


def test_speed_of_search_is_held_to_the_goal_of_the_largest_table() -> None:
    """Small tables are quick whatever the ratio; each kind of reader has a figure of its own."""
    (search,) = (b for b in BENCHES if b.name == "search")
    size = "{:,} memories: published in 1.0 s\n  bare query   p95 2.0 ms   p95 ratio 1.00\n"
    kinds = "  hybrid, ADMIN   p95 {} ms   p95 ratio {}\n  hybrid, ADVISOR of 50   p95 ratio {}\n"
    said = size.format(1000) + kinds.format(9, 9, 9) + size.format(100_000) + kinds.format(4, 2, 4)
    assert [f.worst for f in read_figures(search, said)] == [None, 2, 4]


def test_a_figure_that_is_missing_is_no_success() -> None:
    """A bench that printed nothing has met no goal."""
    assert not any(f.met for b in BENCHES for f in read_figures(b, ""))
