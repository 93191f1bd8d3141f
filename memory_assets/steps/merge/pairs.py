"""All pairs of vectors whose cosine reaches a threshold: block by block, in bounded memory.

One pure function compares two blocks; everything else decides which blocks meet, and where. Beyond
the vectors themselves, memory is one block of products, whatever the number of rows: pairs leave
as they are found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from memory_assets.domain.ports import Progress, Vectors

BLOCK: Final = 2_048
"""Rows of a block: 2,048 x 2,048 products are 16 MB and keep a core's matrix unit busy."""
EXACT_UP_TO: Final = 100_000
"""Rows up to which a full search compares everything with everything."""
_SAMPLE_ROWS: Final = 512
_TRAIN_PER_CELL: Final = 40
_ROUNDS: Final = 8
Rows = npt.NDArray[np.int32]


class Pairs(NamedTuple):
    """Pairs of row numbers, ``left < right``, with their cosines."""

    left: Rows
    right: Rows
    cosine: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.left)


class Blocks(NamedTuple):
    """Two ranges of rows that meet; equal ranges meet above the diagonal only."""

    left: slice
    right: slice


def block_pairs(
    left: Vectors, right: Vectors, threshold: float, left_at: int, right_at: int
) -> Pairs:
    """The pairs of two blocks of unit vectors that reach the threshold.

    ``left_at`` and ``right_at`` are the row numbers at which the blocks begin. Of a block with
    itself only the upper triangle counts. Pure: the same function runs here and on a cluster.
    """
    products = left @ right.T
    hits = np.flatnonzero(products.ravel() >= np.float32(threshold))
    rows, columns = np.divmod(hits, right.shape[0])
    cosine = products.ravel()[hits]
    if left_at == right_at:
        upper = rows < columns
        rows, columns, cosine = rows[upper], columns[upper], cosine[upper]
    return Pairs((rows + left_at).astype(np.int32), (columns + right_at).astype(np.int32), cosine)


Runner = Callable[[Vectors, Sequence[Blocks], float], Iterator[Pairs]]
"""Runs the block function over many blocks, in order: in this process, or on a cluster."""


def in_process(vectors: Vectors, todo: Sequence[Blocks], threshold: float) -> Iterator[Pairs]:
    """The blocks one after the other, here."""
    for left, right in todo:
        yield block_pairs(
            vectors[left], vectors[right], threshold, left.start or 0, right.start or 0
        )


def plan_blocks(rows: int, *, fresh: int | None = None, block: int = BLOCK) -> list[Blocks]:
    """Which blocks have to meet: all with all, or the last ``fresh`` rows with everything.

    Each pair of rows meets once.
    """
    starts = list(range(0, rows - (rows if fresh is None else fresh), block))
    old = [slice(s, min(s + block, rows - (fresh or 0))) for s in starts] if fresh else []
    first = 0 if fresh is None else rows - fresh
    new = [slice(s, min(s + block, rows)) for s in range(first, rows, block)]
    met = [Blocks(o, n) for n in new for o in old]
    return met + [Blocks(new[i], new[j]) for j in range(len(new)) for i in range(j + 1)]


def exact_pairs(
    vectors: Vectors,
    threshold: float,
    *,
    fresh: int | None = None,
    block: int = BLOCK,
    run: Runner = in_process,
    progress: Progress | None = None,
) -> Iterator[Pairs]:
    """Every pair at or above the threshold, in chunks; with ``fresh`` only pairs of the last rows.

    ``vectors`` are unit rows; a row of NaN (a pending vector) pairs with nothing.
    """
    todo = plan_blocks(len(vectors), fresh=fresh, block=block)
    for done, found in enumerate(run(vectors, todo, threshold), 1):
        if len(found):
            yield found
        if progress is not None:
            progress(done, len(todo))


@dataclass(frozen=True, slots=True)
class Cells:
    """A partition of the vectors: where each row lives, and which cells it looks into."""

    home: Rows
    """Cell of each row."""
    probes: Rows
    """Shape (rows, probes): the nearest cells of each row, its own first."""
    count: int


def make_cells(vectors: Vectors, *, seed: int, cells: int | None = None, probes: int = 12) -> Cells:
    """Spherical k-means cells, learnt from a sample, and each row's nearest ones.

    About one cell per square root of rows; deterministic for a seed.
    """
    n = len(vectors)
    count = cells or max(2, round(math.sqrt(n)))
    draw = np.random.default_rng(seed)
    sample = vectors[draw.choice(n, min(n, count * _TRAIN_PER_CELL), replace=False)]
    centres = sample[draw.choice(len(sample), count, replace=False)].copy()
    for _ in range(_ROUNDS):
        nearest = _nearest(sample, centres, 1)[:, 0]
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, sample)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        kept = lengths[:, 0] > 0
        centres[kept] = sums[kept] / lengths[kept]
    found = _nearest(vectors, centres, min(probes, count))
    return Cells(found[:, 0].copy(), found, count)


def _nearest(vectors: Vectors, centres: Vectors, k: int) -> Rows:
    out = np.empty((len(vectors), k), np.int32)
    for start in range(0, len(vectors), BLOCK):
        products = vectors[start : start + BLOCK] @ centres.T
        if k == 1:
            out[start : start + BLOCK, 0] = products.argmax(axis=1)
            continue
        top = np.argpartition(-products, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(products, top, axis=1), axis=1, kind="stable")
        out[start : start + BLOCK] = np.take_along_axis(top, order, axis=1)
    return out


def approximate_pairs(
    vectors: Vectors, threshold: float, cells: Cells, *, progress: Progress | None = None
) -> Iterator[Pairs]:
    """Pairs at or above the threshold, found where one row looks into the other's cell.

    Cosines are exact; what may be missing are pairs that lie in cells too far apart. Each pair is
    given once.
    """
    by_home = np.argsort(cells.home, kind="stable").astype(np.int32)
    home_ends = np.searchsorted(cells.home[by_home], np.arange(cells.count + 1))
    flat = cells.probes.ravel()
    by_probe = np.argsort(flat, kind="stable")
    probe_ends = np.searchsorted(flat[by_probe], np.arange(cells.count + 1))
    width = cells.probes.shape[1]
    for cell in range(cells.count):
        members = by_home[home_ends[cell] : home_ends[cell + 1]]
        seekers = (by_probe[probe_ends[cell] : probe_ends[cell + 1]] // width).astype(np.int32)
        for start in range(0, len(seekers), BLOCK):
            some = seekers[start : start + BLOCK]
            for at in range(0, len(members), BLOCK):
                found = _in_cell(vectors, some, members[at : at + BLOCK], threshold, cells)
                if len(found):
                    yield found
        if progress is not None:
            progress(cell + 1, cells.count)


def _in_cell(
    vectors: Vectors, seekers: Rows, members: Rows, threshold: float, cells: Cells
) -> Pairs:
    products = vectors[seekers] @ vectors[members].T
    hits = np.flatnonzero(products.ravel() >= np.float32(threshold))
    rows, columns = np.divmod(hits, len(members))
    x, y = seekers[rows], members[columns]
    cosine = products.ravel()[hits]
    # A pair whose rows look into each other's cells turns up twice: the lower seeker's find counts.
    twice = (cells.probes[y] == cells.home[x][:, None]).any(axis=1)
    keep = (x < y) | ((x > y) & ~twice)
    x, y, cosine = x[keep], y[keep], cosine[keep]
    return Pairs(np.minimum(x, y), np.maximum(x, y), cosine)


class RecallMeter:
    """Measures, on a random sample of rows, which share of their pairs a search has found."""

    def __init__(
        self, vectors: Vectors, threshold: float, *, seed: int, rows: int = _SAMPLE_ROWS
    ) -> None:
        n = len(vectors)
        draw = np.random.default_rng(seed)
        sample = np.sort(draw.choice(n, min(rows, n), replace=False))
        self._sampled = np.zeros(n, bool)
        self._sampled[sample] = True
        self.expected = 0
        """Pairs of sampled rows, each end counted."""
        for start in range(0, n, BLOCK):
            products = vectors[sample] @ vectors[start : start + BLOCK].T
            self.expected += int(np.count_nonzero(products >= np.float32(threshold)))
        same = np.einsum("ij,ij->i", vectors[sample], vectors[sample])
        self.expected -= int(np.count_nonzero(same >= np.float32(threshold)))
        self.found = 0

    def see(self, pairs: Pairs) -> Pairs:
        """Counts a chunk and hands it on."""
        self.found += int(self._sampled[pairs.left].sum() + self._sampled[pairs.right].sum())
        return pairs

    @property
    def recall(self) -> float:
        """Found share; 1 when the sampled rows have no pair."""
        return min(1.0, self.found / self.expected) if self.expected else 1.0


@dataclass(slots=True)
class SearchStats:
    """What a pair search did."""

    rows: int = 0
    pairs: int = 0
    approximate: bool = False
    recall: float = 1.0
    """Measured on a sample in this very run; exactly 1 for an exact search."""
    sampled_pairs: int = 0

    def merge(self, other: SearchStats) -> None:
        """Adds the figures of another group; recall is weighed by its sample."""
        both = self.sampled_pairs + other.sampled_pairs
        if both:
            mine, theirs = self.recall * self.sampled_pairs, other.recall * other.sampled_pairs
            self.recall = (mine + theirs) / both
        self.rows += other.rows
        self.pairs += other.pairs
        self.approximate = self.approximate or other.approximate
        self.sampled_pairs = both


def find_pairs(
    vectors: Vectors,
    threshold: float,
    stats: SearchStats,
    *,
    fresh: int | None = None,
    seed: int = 0,
    exact_up_to: int = EXACT_UP_TO,
    run: Runner = in_process,
    progress: Progress | None = None,
) -> Iterator[Pairs]:
    """The pairs of one group of vectors: exact up to ``exact_up_to`` rows, by cells beyond.

    New rows against existing ones are always compared exactly. ``stats`` is filled in as pairs are
    drawn; an approximate search measures its own recall.
    """
    stats.rows = len(vectors)
    if fresh is not None or len(vectors) <= max(exact_up_to, 0):
        chunks: Iterable[Pairs] = exact_pairs(
            vectors, threshold, fresh=fresh, run=run, progress=progress
        )
        meter = None
    else:
        stats.approximate = True
        meter = RecallMeter(vectors, threshold, seed=seed)
        chunks = approximate_pairs(
            vectors, threshold, make_cells(vectors, seed=seed), progress=progress
        )
    for chunk in chunks:
        stats.pairs += len(chunk)
        yield chunk if meter is None else meter.see(chunk)
    if meter is not None:
        stats.recall, stats.sampled_pairs = meter.recall, meter.expected
