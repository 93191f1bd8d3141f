"""Speed of the local path against a plain ``encode``, and against what the machine can do at all.

Run ``python -m tests.benches.bench_embedding [--texts 5000]``. Both ways use the same weights, the
same texts and prompts, and take turns; times are CPU seconds, so that other work on the machine
hardly shows. The floor: floating-point operations of the model for the tokens of these texts,
padding left out, at the rates of bare matrix products of the model's own shapes, measured between
the turns; medians throughout.
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
from memory_assets.embedding.local import LocalEmbedder
from memory_assets.embedding.registry import default_model, open_embedder
from tests.benches import data

if TYPE_CHECKING:
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
    """Both ways by turns, then the table."""
    import torch

    model = embedder._load()  # the very weights that the embedder uses
    prompt = embedder._prompts.get("document", "")

    def plain() -> Vectors:
        found = model.encode(
            texts, prompt=prompt, batch_size=32, show_progress_bar=False, convert_to_numpy=True
        )
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / lengths, np.float32)

    def ours() -> Vectors:
        return embedder.embed(texts, kind="document")

    embedder.embed(texts[:32], kind="document")
    tokens, flops = work_of(model, [prompt + text for text in texts])
    seconds: dict[str, list[float]] = {"plain": [], "ours": []}
    floors: list[float] = []
    vectors: dict[str, Vectors] = {}
    for _ in range(rounds):
        for name, work in (("plain", plain), ("ours", ours)):
            floors.append(flops.at(gemm_rates(model)))
            taken, vectors[name] = timed(work)
            seconds[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    ratios = [a / b for a, b in zip(seconds["plain"], seconds["ours"], strict=True)]
    floor = statistics.median(floors)
    print(f"{embedder.provider}:{embedder.model}, {len(texts):,} texts, {tokens:,} tokens")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} thread(s), {model.device}")
    for name, label in (("plain", "encode(batch_size=32)"), ("ours", "this package")):
        taken = medians[name]
        print(
            f"{label:22} {len(texts) / taken:8.1f} texts per CPU second "
            f"({1000 * taken / len(texts):.2f} ms a text)"
        )
    print(f"ratio, median of {rounds} rounds: {statistics.median(ratios):.2f} (goal >= 1.3)")
    print(
        f"floor: {flops.total / 1e9:,.0f} GFLOP at {flops.total / floor / 1e9:.1f} GFLOP/s = "
        f"{1000 * floor / len(texts):.2f} ms a text; "
        f"reached {floor / medians['ours']:.0%} (goal >= 70%)"
    )
    print(differences(vectors["plain"], vectors["ours"]))
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


def gemm_rates(model: SentenceTransformer) -> Flops:
    """Operations per CPU second of bare products of both shapes."""
    config = config_of(model)
    hidden, inner = int(config.hidden_size), int(config.intermediate_size)
    return Flops(_rate((hidden, hidden)), _rate((hidden, inner), (inner, hidden)))


def _rate(*shapes: tuple[int, int]) -> float:
    import torch

    pairs = [(torch.rand(_ROWS, rows), torch.rand(rows, columns)) for rows, columns in shapes]
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
    pairs = np.random.default_rng(7).integers(0, len(a), (2, 20_000))
    moved = np.abs(
        np.einsum("ij,ij->i", a[pairs[0]], a[pairs[1]])
        - np.einsum("ij,ij->i", b[pairs[0]], b[pairs[1]])
    )
    return (
        f"float32 encode against ours: least cosine of a text {same.min():.6f}, "
        f"largest change of a pair's cosine {moved.max():.1e} (goal <= 0.01)"
    )


if __name__ == "__main__":
    sys.exit(main())
