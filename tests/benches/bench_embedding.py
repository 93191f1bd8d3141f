"""Speed of the local path against a plain ``encode``, and against what the machine can do at all.

Run ``python -m tests.benches.bench_embedding [--texts 5000]``. All ways use the same weights, the
same texts and prompts, and take turns; times are CPU seconds, so that other work on the machine
hardly shows. The floor: floating-point operations of the model for the tokens of these texts,
padding left out, at the rates of bare matrix products of the model's own shapes, measured between
the turns; medians throughout. Where the processor has tile units, what is served multiplies in
bfloat16: then float32 is measured beside it, and both floors are told.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memory_assets.domain.ports import Vectors
from memory_assets.domain.providers import Precision
from memory_assets.embedding.local import LocalEmbedder, bfloat16_pays
from memory_assets.embedding.registry import default_model, open_embedder
from tests.benches import data

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

_ROWS = 768
"""Rows of the bare product: the tokens of one batch."""


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, prog="tests.benches.bench_embedding")
    parser.add_argument("--model", default=default_model(), metavar="PROVIDER:MODEL")
    parser.add_argument("--texts", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        embedder = open_embedder(asked.model, cache_dir=Path(folder))
        if not isinstance(embedder, LocalEmbedder):
            print(f"{asked.model} is not a local model", file=sys.stderr)
            return 2
        measure(embedder, data.texts(asked.texts), asked.rounds)
    return 0


def measure(embedder: LocalEmbedder, texts: list[str], rounds: int) -> None:
    """All ways by turns, then the table."""
    import torch

    model = embedder._load()  # the very weights that the embedder uses
    prompt = embedder._prompts.get("document", "")

    def plain() -> Vectors:
        found = model.encode(
            texts, prompt=prompt, batch_size=32, show_progress_bar=False, convert_to_numpy=True
        )
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / lengths, np.float32)

    def ours(precision: Precision) -> Vectors:
        embedder._precision = precision
        return embedder.embed(texts, kind="document")

    ways: dict[str, Callable[[], Vectors]] = {
        "encode(batch_size=32)": plain,
        "ours in float32": lambda: ours(Precision.FLOAT32),
    }
    products = {"float32": torch.float32}
    if bfloat16_pays(model.device):
        ways["ours in bfloat16"] = lambda: ours(Precision.AUTO)
        products["bfloat16"] = torch.bfloat16
    embedder.embed(texts[:32], kind="document")
    tokens, flops = work_of(model, [prompt + text for text in texts])
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    floors: dict[str, list[float]] = {name: [] for name in products}
    vectors: dict[str, Vectors] = {}
    for _ in range(rounds):
        for name, work in ways.items():
            for precision, kind in products.items():
                floors[precision].append(flops.at(gemm_rates(model, kind)))
            taken, vectors[name] = timed(work)
            seconds[name].append(taken)
    print(f"{embedder.provider}:{embedder.model}, {len(texts):,} texts, {tokens:,} tokens")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} thread(s), {model.device}")
    first, *_, served = ways
    for name, taken_each in seconds.items():
        taken = statistics.median(taken_each)
        ratio = statistics.median(a / b for a, b in zip(seconds[first], taken_each, strict=True))
        print(
            f"{name:22} {len(texts) / taken:8.1f} texts per CPU second "
            f"({1000 * taken / len(texts):.2f} ms a text), {ratio:.2f} times; "
            + differences(vectors[first], vectors[name])
        )
    for precision, each in floors.items():
        floor = statistics.median(each)
        print(
            f"floor of {precision} products: {flops.total / 1e9:,.0f} GFLOP at "
            f"{flops.total / floor / 1e9:.0f} GFLOP/s = {1000 * floor / len(texts):.2f} ms a text; "
            + ", ".join(
                f"{name} {floor / statistics.median(taken_each):.0%}"
                for name, taken_each in seconds.items()
            )
        )
    floor = statistics.median(floors["float32"])
    ratios = [a / b for a, b in zip(seconds[first], seconds[served], strict=True)]
    print(f"what is served, {served}, against {first}, median of {rounds} rounds:")
    print(f"ratio {statistics.median(ratios):.2f} (goal >= 1.3)")
    print(
        f"share of the float32 floor {floor / statistics.median(seconds[served]):.0%} (goal >= 70%)"
    )
    moved = largest_change(vectors[first], vectors[served])
    print(f"largest change of a pair's cosine {moved:.1e} (goal <= 0.01)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MB")


def config_of(model: SentenceTransformer) -> Any:
    """Sizes of the transformer inside."""
    inner: Any = model[0]
    return inner.auto_model.config


def timed(work: Callable[[], Vectors]) -> tuple[float, Vectors]:
    """CPU seconds, and what came of them."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


@dataclass(frozen=True)
class Flops:
    """Floating-point operations of the two shapes of product that a transformer is made of."""

    square: float
    """Hidden to hidden: the four projections of attention, and its two products of tokens."""
    wide: float
    """Hidden to intermediate, and back."""

    @property
    def total(self) -> float:
        """All of them."""
        return self.square + self.wide

    def at(self, rates: Flops) -> float:
        """Seconds at these rates."""
        return self.square / rates.square + self.wide / rates.wide


def gemm_rates(model: SentenceTransformer, kind: torch.dtype) -> Flops:
    """Operations per CPU second of bare products of both shapes, of numbers of this kind."""
    config = config_of(model)
    hidden, inner = int(config.hidden_size), int(config.intermediate_size)
    return Flops(_rate(kind, (hidden, hidden)), _rate(kind, (hidden, inner), (inner, hidden)))


def _rate(kind: torch.dtype, *shapes: tuple[int, int]) -> float:
    import torch

    pairs = [
        (torch.rand(_ROWS, rows).to(kind), torch.rand(rows, columns).to(kind))
        for rows, columns in shapes
    ]
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for _ in range(20):
            for a, b in pairs:
                torch.mm(a, b)
        best = min(best, (time.process_time() - began) / 20)
    return sum(2.0 * _ROWS * rows * columns for rows, columns in shapes) / best


def work_of(model: SentenceTransformer, texts: list[str]) -> tuple[int, Flops]:
    """(tokens, operations) of the matrix products for these texts."""
    config = config_of(model)
    h, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    tokenizer: Any = model.tokenizer
    found = tokenizer(texts, truncation=True, max_length=model.max_seq_length)["input_ids"]
    pad = tokenizer.pad_token_id
    lengths = [sum(token != pad for token in ids) for ids in found]
    square = sum(layers * (n * 8 * h * h + 4 * h * n * n) for n in lengths)
    return sum(lengths), Flops(float(square), float(layers * sum(lengths) * 4 * h * inner))


def differences(a: Vectors, b: Vectors) -> str:
    """How far the two ways lie apart: text by text, and in the cosines of pairs."""
    same = np.einsum("ij,ij->i", a, b)
    return f"least cosine of a text {same.min():.6f}, of pairs moved {largest_change(a, b):.1e}"


def largest_change(a: Vectors, b: Vectors) -> float:
    """How far the cosine of a pair moves at most, of 20,000 pairs drawn."""
    pairs = np.random.default_rng(7).integers(0, len(a), (2, 20_000))
    moved = np.abs(
        np.einsum("ij,ij->i", a[pairs[0]], a[pairs[1]])
        - np.einsum("ij,ij->i", b[pairs[0]], b[pairs[1]])
    )
    return float(moved.max())


if __name__ == "__main__":
    sys.exit(main())
