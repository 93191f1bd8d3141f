"""The same block function on a Ray cluster, behind one setting.

Blocks go to the object store once; tasks name them. Results come back in the order of the blocks,
so a cluster and one process give the same pairs in the same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

from memory_assets.domain.ports import Vectors
from memory_assets.errors import SettingsError
from memory_assets.steps.merge.pairs import Blocks, Pairs, Runner, block_pairs, in_process

IN_FLIGHT: Final = 64
"""Tasks that wait at a time: enough to keep a cluster busy, few enough to bound memory."""
_BATCH: Final = 8
"""Blocks per task: a task costs some 30 ms, a block about as much."""


def runner(address: str) -> Runner:
    """The runner that the setting asks for: empty = this process, ``local`` = Ray on this machine.

    Raises:
        SettingsError: Ray is asked for but not installed.
    """
    if not address:
        return in_process
    try:
        import ray
    except ImportError as error:
        raise SettingsError(
            f"merge_ray = {address!r} asks for Ray, which is not installed.",
            remedy="pip install 'memory-assets[ray]', or leave merge_ray empty.",
        ) from error

    def run(vectors: Vectors, todo: Sequence[Blocks], threshold: float) -> Iterator[Pairs]:
        if not ray.is_initialized():
            where = None if address == "local" else address
            ray.init(address=where, include_dashboard=False, log_to_driver=False)
        yield from _spread(ray, vectors, todo, threshold)

    return run


def _spread(
    ray: Any, vectors: Vectors, todo: Sequence[Blocks], threshold: float
) -> Iterator[Pairs]:
    stored: dict[tuple[int, int], Any] = {}

    def put(rows: slice) -> Any:
        key = (rows.start, rows.stop)
        if key not in stored:
            stored[key] = ray.put(vectors[rows])
        return stored[key]

    task = ray.remote(_batch)
    waiting: deque[Any] = deque()
    for blocks in _batched(todo):
        flat = [x for left, right in blocks for x in (put(left), put(right))]
        places = [(left.start, right.start) for left, right in blocks]
        waiting.append(task.remote(places, threshold, *flat))
        if len(waiting) >= IN_FLIGHT:
            yield from (Pairs(*p) for p in ray.get(waiting.popleft()))
    while waiting:
        yield from (Pairs(*p) for p in ray.get(waiting.popleft()))


def _batch(
    places: Sequence[tuple[int, int]], threshold: float, *blocks: Vectors
) -> list[tuple[Any, ...]]:
    """Several blocks in one task; arguments arrive as arrays, not as references."""
    pairs = zip(blocks[0::2], blocks[1::2], strict=True)
    return [
        tuple(block_pairs(left, right, threshold, *place))
        for (left, right), place in zip(pairs, places, strict=True)
    ]


def _batched(todo: Sequence[Blocks]) -> Iterator[Sequence[Blocks]]:
    for start in range(0, len(todo), _BATCH):
        yield todo[start : start + _BATCH]
