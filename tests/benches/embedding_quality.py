"""How good the packaged models are in both languages: one table, printed as Markdown.

Run ``python -m tests.benches.embedding_quality``. It needs the data that ``tests.benches.data``
names. The figures are those of docs/embedding.md.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from memory_assets.domain.ports import Embedder, TextKind, Vectors
from memory_assets.domain.providers import Precision
from memory_assets.embedding.registry import EmbedderOptions, open_embedder
from tests.benches import data

MODELS = ("packaged:multilingual-e5-small", "packaged:all-MiniLM-L6-v2")
Figures = dict[str, float]


class Meter:
    """Vectors of one model, each text embedded once; and the time that took."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.seconds = 0.0
        self.texts = 0
        self._known: dict[tuple[str, str], Vectors] = {}

    def __call__(self, texts: list[str], kind: TextKind = "document") -> Vectors:
        """Vectors in the order of the texts."""
        new = [t for t in dict.fromkeys(texts) if (kind, t) not in self._known]
        began = time.process_time()
        for text, vector in zip(new, self.embedder.embed(new, kind=kind), strict=True):
            self._known[kind, text] = vector
        self.seconds += time.process_time() - began
        self.texts += len(new)
        return np.stack([self._known[kind, t] for t in texts])


def likeness(vectors: Meter, pairs: int) -> Figures:
    """Spearman correlation of cosine and human score: English, Italian, across; and twins."""
    english, italian = data.stsb("en")[:pairs], data.stsb("it")[:pairs]
    scores = [score for *_, score in english]

    def correlation(a: list[str], b: list[str]) -> float:
        cosines = np.einsum("ij,ij->i", vectors(a), vectors(b))
        return spearman(cosines, scores)

    (en_a, en_b), (it_a, it_b) = (
        ([a for a, _, _ in rows], [b for _, b, _ in rows]) for rows in (english, italian)
    )
    twins = list(dict(zip(it_a, en_a, strict=True)).items())
    answers = list(dict.fromkeys(en for _, en in twins))
    best = (vectors([it for it, _ in twins]) @ vectors(answers).T).argmax(axis=1)
    found = [answers[place] == en for place, (_, en) in zip(best, twins, strict=True)]
    return {
        "STS-B English, Spearman": correlation(en_a, en_b),
        "STS-B Italian, Spearman": correlation(it_a, it_b),
        "STS-B Italian-English, Spearman": correlation(it_a, en_b),
        "Italian sentence -> its English twin, first": float(np.mean(found)),
    }


def spearman(a: Sequence[float] | Vectors, b: Sequence[float]) -> float:
    """Correlation of the ranks; equal values share one."""
    ranks = [pl.Series(np.asarray(v, np.float64)).rank("average").to_numpy() for v in (a, b)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def retrieval(vectors: Meter, questions: int, pool: int) -> Figures:
    """BIRD: a question must find one of the definitions that were agreed on to answer it."""
    rows = sorted(data.clarified(), key=lambda c: hashlib.sha256(c.question.encode()).digest())
    answers: dict[str, set[str]] = {}
    for row in rows:
        if len(answers) < questions or row.question in answers:
            answers.setdefault(row.question, set()).add(row.detail)
    wanted = dict.fromkeys(text for texts in answers.values() for text in sorted(texts))
    texts = list(dict.fromkeys([*wanted, *(row.detail for row in rows)]))[: max(pool, len(wanted))]
    place = {text: number for number, text in enumerate(texts)}
    cosines = vectors(list(answers), "query") @ vectors(texts).T
    ranks = []
    for row_cosines, needed in zip(cosines, answers.values(), strict=True):
        best = max(row_cosines[place[text]] for text in needed)
        ranks.append(1 + int((row_cosines > best).sum()))
    ranked = np.array(ranks)
    name = f"BIRD question -> definition among {len(texts):,}"
    return {
        f"{name}, recall@1": float((ranked == 1).mean()),
        f"{name}, recall@10": float((ranked <= 10).mean()),
        f"{name}, MRR": float((1 / ranked).mean()),
    }


def unrelated(vectors: Meter) -> Figures:
    """Where pairs of unlike sentences lie: thresholds belong to a model."""
    rows = data.stsb("en")
    pairs = [(a, b) for a, b, score in rows if score == 0.0]
    cosines = np.einsum("ij,ij->i", vectors([a for a, _ in pairs]), vectors([b for _, b in pairs]))
    return {"mean cosine of unlike English sentences": float(cosines.mean())}


def table(columns: Mapping[str, Figures]) -> str:
    """The figures as a Markdown table, one column per model."""
    names = list(next(iter(columns.values())))
    lines = [
        "| | " + " | ".join(spec.partition(":")[2] for spec in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for name in names:
        cells = (figures[name] for figures in columns.values())
        lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Prints the table; 1 where the data is missing."""
    parser = argparse.ArgumentParser(description=__doc__, prog="tests.benches.embedding_quality")
    parser.add_argument("--models", nargs="+", default=list(MODELS), metavar="PROVIDER:MODEL")
    parser.add_argument("--precision", choices=list(Precision), default=Precision.AUTO)
    parser.add_argument("--pairs", type=int, default=1_500, help="STS-B pairs per language")
    parser.add_argument("--questions", type=int, default=500, help="BIRD questions asked")
    parser.add_argument("--pool", type=int, default=2_000, help="definitions searched")
    asked = parser.parse_args()
    if not (data.DATA / "stsb").is_dir():
        print(f"No data: set MEMORY_ASSETS_TEST_DATA. {data.__doc__}", file=sys.stderr)
        return 1
    measures: list[Callable[[Meter], Figures]] = [
        lambda m: likeness(m, asked.pairs),
        lambda m: retrieval(m, asked.questions, asked.pool),
        unrelated,
        lambda m: {"CPU ms per text": 1000 * m.seconds / max(1, m.texts)},
    ]
    columns: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        for spec in asked.models:
            options = EmbedderOptions(precision=Precision(asked.precision))
            meter = Meter(open_embedder(spec, cache_dir=Path(folder), options=options))
            meter.embedder.embed(["warm"], kind="query")
            columns[spec] = {}
            for measure in measures:
                columns[spec] |= measure(meter)
            print(f"{spec}: {meter.texts:,} texts", file=sys.stderr, flush=True)
    print(table(columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
