"""A labelled file of pairs → what merging would do with it: curve, routing, figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from memory_assets.domain.calibration import (
    DEFAULT_TARGET,
    CurvePoint,
    Label,
    OperatingPoint,
    b_cubed,
    components,
    curve,
    folds,
    operating_point,
)
from memory_assets.domain.guards import RULE_VERSION, Judgement, Outcome, judge
from memory_assets.domain.keys import normalise
from memory_assets.domain.merge import Decision, MergePolicy, decide
from memory_assets.domain.ports import Embedder, Progress, VectorCache
from memory_assets.domain.spaces import DEFINITION_RECIPE, definition_text
from memory_assets.embedding.through_cache import EmbedStats, embed_through_cache
from memory_assets.errors import UsageError
from memory_assets.steps.merge.space import space_floor

THRESHOLDS: Final = (0.5, 0.6, 0.7, 0.8, 0.85, 0.88, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99)
ROUTES: Final = ("auto", "review", "ignored")
FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """One line of a labelled file."""

    a: str
    b: str
    same: bool
    kind: str
    subject_a: str | None = None
    subject_b: str | None = None

    @property
    def text_a(self) -> str:
        """The first definition as it is compared: recipe ``definition``."""
        return _text(self.subject_a, self.a)

    @property
    def text_b(self) -> str:
        """The second one."""
        return _text(self.subject_b, self.b)

    @property
    def same_subject(self) -> bool:
        """Whether both speak of one subject; pairs without subjects count as if they did."""
        if self.subject_a is None or self.subject_b is None:
            return True
        return normalise(self.subject_a) == normalise(self.subject_b)


def _text(subject: str | None, detail: str) -> str:
    return detail if subject is None else definition_text(subject=subject, detail=detail)


@dataclass(frozen=True)
class PairEvaluation:
    """What one labelled file says about merging in one embedding space."""

    pairs: tuple[LabelledPair, ...]
    cosines: tuple[float, ...]
    judgements: tuple[Judgement, ...]
    decisions: tuple[Decision, ...]
    """Out of fold: the labels of a pair's own fold had no part in its threshold."""
    floor: float
    fold_points: tuple[OperatingPoint, ...]
    point: OperatingPoint
    """What all labels together earn."""
    without_guards: tuple[CurvePoint, ...]
    with_guards: tuple[CurvePoint, ...]
    space_id: str
    embedding: EmbedStats

    def routing(self) -> dict[str, dict[str, int]]:
        """Route → {"same": n, "different": n} by the labels, of all pairs."""
        by_kind = self.routing_by_kind().values()
        return {
            route: {
                label: sum(table[route][label] for table in by_kind)
                for label in ("same", "different")
            }
            for route in ROUTES
        }

    def routing_by_kind(self) -> dict[str, dict[str, dict[str, int]]]:
        """The same for each kind that the file names."""
        found: dict[str, dict[str, dict[str, int]]] = {}
        for pair, decision in zip(self.pairs, self.decisions, strict=True):
            table = found.setdefault(pair.kind, {r: {"same": 0, "different": 0} for r in ROUTES})
            table[decision.route]["same" if pair.same else "different"] += 1
        return dict(sorted(found.items()))

    def conflicts(self) -> dict[str, int]:
        """Ignored pairs of one subject that would be listed as conflicts, by label."""
        found = {"same": 0, "different": 0}
        for pair, decision in zip(self.pairs, self.decisions, strict=True):
            if decision.proposal == "conflicts":
                found["same" if pair.same else "different"] += 1
        return found

    def clustering(self, threshold: float, *, guards: bool) -> dict[str, float]:
        """B-cubed precision, recall and F1 of the groups that a threshold alone would form."""
        links = [(p.text_a, p.text_b) for p in self.pairs]
        true = [x for x, p in zip(links, self.pairs, strict=True) if p.same]
        merged = [
            link
            for link, c, j in zip(links, self.cosines, self.judgements, strict=True)
            if c >= threshold and not (guards and j.outcome is Outcome.MISMATCH)
        ]
        items = list(dict.fromkeys(t for link in links for t in link))
        alone = [(t, t) for t in items]
        in_truth, in_found = components([*true, *alone]), components([*merged, *alone])
        precision, recall = b_cubed([in_truth[t] for t in items], [in_found[t] for t in items])
        f1 = 2 * precision * recall / (precision + recall)
        return {"precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4)}

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as ``--json`` prints it."""
        return {
            "space_id": self.space_id,
            "rule_version": RULE_VERSION,
            "pairs": len(self.pairs),
            "same": sum(p.same for p in self.pairs),
            "different": sum(not p.same for p in self.pairs),
            "routing": self.routing(),
            "routing_by_kind": self.routing_by_kind(),
            "conflicts": self.conflicts(),
            "review_floor": round(self.floor, 4),
            "operating_point": self.point.to_dict(),
            "folds": [p.to_dict() for p in self.fold_points],
            "thresholds": [
                {
                    "threshold": plain.threshold,
                    "without_guards": {
                        **plain.to_dict(),
                        "b_cubed": self.clustering(plain.threshold, guards=False),
                    },
                    "with_guards": {
                        **kept.to_dict(),
                        "b_cubed": self.clustering(plain.threshold, guards=True),
                    },
                }
                for plain, kept in zip(self.without_guards, self.with_guards, strict=True)
            ],
            "embedding": self.embedding.to_metadata(),
        }


def read_labelled(path: Path) -> tuple[LabelledPair, ...]:
    """The pairs of a JSONL file with ``a``, ``b`` and, where known, ``same``, ``kind``, subjects.

    A line without ``same`` counts as different: files of hard negatives carry no label.

    Raises:
        UsageError: the file cannot be read, or a line is no pair; the message names the line.
    """
    try:
        # Only a line feed ends a line: JSON strings may hold other separators as they are.
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The labelled file cannot be read: {error}.", where=str(path)) from error
    return tuple(
        _pair(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()
    )


def _pair(line: str, where: str) -> LabelledPair:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"A line is not JSON: {error}.", where=where) from error
    if not isinstance(row, dict) or not all(isinstance(row.get(k), str) for k in "ab"):
        raise _no_pair("A line is no pair", where)
    same = row.get("same")
    if same not in (None, True, False):
        raise _no_pair(f"`same` is {same!r}, neither true nor false", where)
    for name in ("subject_a", "subject_b"):
        if not isinstance(row.get(name), str | None):
            raise _no_pair(f"`{name}` is no text", where)
    return LabelledPair(
        a=row["a"],
        b=row["b"],
        same=bool(same),
        kind=str(row.get("kind") or "unnamed"),
        subject_a=row.get("subject_a"),
        subject_b=row.get("subject_b"),
    )


def _no_pair(what: str, where: str) -> UsageError:
    return UsageError(
        f"{what}.", where=where, remedy='write {"a": "...", "b": "...", "same": true}, one a line.'
    )


def evaluate_pairs(
    pairs: Sequence[LabelledPair],
    embedder: Embedder,
    cache: VectorCache,
    *,
    target: float = DEFAULT_TARGET,
    thresholds: Sequence[float] = THRESHOLDS,
    progress: Progress | None = None,
) -> PairEvaluation:
    """What merging would do with the pairs; each different text is embedded once.

    Automatic merging is granted as calibration would earn it from this very file: five folds that
    share no text, and each pair routed by the threshold of the other four.

    Raises:
        EmbeddingError: the model failed; what was embedded is in the cache.
    """
    texts = [t for p in pairs for t in (p.text_a, p.text_b)]
    vectors, stats = embed_through_cache(embedder, cache, texts, kind="document", progress=progress)
    cosines = [float(c) for c in np.clip((vectors[0::2] * vectors[1::2]).sum(axis=1), -1, 1)]
    judgements = [_judged(p) for p in pairs]
    labels = [_label(p, c, j) for p, c, j in zip(pairs, cosines, judgements, strict=True)]
    floor = space_floor(embedder, cache)
    fold_of = folds([(p.text_a, p.text_b) for p in pairs], FOLDS)
    # Equal texts merge by themselves anyway: they would only flatter the evidence.
    learn = [not j.equal for j in judgements]
    points = tuple(
        operating_point(
            [x for x, f, use in zip(labels, fold_of, learn, strict=True) if f != fold and use],
            target=target,
        )
        for fold in range(FOLDS)
    )
    decisions = tuple(
        decide(
            j.relation,
            c,
            MergePolicy(points[f].threshold, floor),
            same_subject=p.same_subject,
            found_by_subject=p.subject_a is not None and p.same_subject,
        )
        for p, c, j, f in zip(pairs, cosines, judgements, fold_of, strict=True)
    )
    return PairEvaluation(
        tuple(pairs),
        tuple(cosines),
        tuple(judgements),
        decisions,
        floor,
        points,
        operating_point([x for x, use in zip(labels, learn, strict=True) if use], target=target),
        curve(labels, thresholds, guards=False),
        curve(labels, thresholds, guards=True),
        embedder.space(DEFINITION_RECIPE).space_id,
        stats,
    )


def _judged(pair: LabelledPair) -> Judgement:
    return judge(pair.text_a, pair.text_b, subject_a=pair.subject_a, subject_b=pair.subject_b)


def _label(pair: LabelledPair, cosine: float, judgement: Judgement) -> Label:
    return Label(
        cosine=cosine,
        same=pair.same,
        passed=judgement.relation in ("equal", "alike") and pair.same_subject,
        vetoed=judgement.outcome is Outcome.MISMATCH,
    )
