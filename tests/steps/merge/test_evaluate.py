"""A labelled file: what merging would do with it, counted out of fold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_assets.domain.guards import RULE_VERSION
from memory_assets.embedding.cache import SqliteVectorCache
from memory_assets.embedding.registry import open_embedder
from memory_assets.errors import UsageError
from memory_assets.steps.merge.evaluate import (
    LabelledPair,
    PairEvaluation,
    evaluate_pairs,
    read_labelled,
)
from tests.benches.data import DATA
from tests.domain.guards.different_pairs import DIFFERENT
from tests.domain.guards.same_pairs import SAME

OWN = [
    *(LabelledPair(a, b, True, kind) for a, b, kind in SAME),
    *(LabelledPair(a, b, False, kind) for a, b, kind in DIFFERENT),
]


def evaluated(pairs: Sequence[LabelledPair], folder: Path) -> PairEvaluation:
    """The evaluation with a model that needs no weights."""
    cache = SqliteVectorCache(folder / "v.sqlite", 10_000_000)
    return evaluate_pairs(pairs, open_embedder("hashed:256", cache_dir=folder), cache)


def proven(n: int, *, wrong: int = 0) -> list[LabelledPair]:
    """True pairs that pass every guard, and ``wrong`` ones that do too but are labelled apart."""
    texts = [f"the word{chr(97 + i // 26)}{chr(97 + i % 26)} is a stay" for i in range(n)]
    return [
        LabelledPair(t, t.replace(" is a", ", is the"), i >= wrong, "k")
        for i, t in enumerate(texts)
    ]


def test_the_routing_counts_every_pair_once(tmp_path: Path) -> None:
    """In all and per kind, same and different add up to the labels."""
    found = evaluated(OWN, tmp_path)
    routing, by_kind = found.routing(), found.routing_by_kind()
    for label, truth in (("same", True), ("different", False)):
        assert sum(r[label] for r in routing.values()) == sum(p.same is truth for p in OWN)
    for route in ("auto", "review", "ignored"):
        for label in ("same", "different"):
            assert sum(r[route][label] for r in by_kind.values()) == routing[route][label]


def test_a_kind_may_bear_any_name(tmp_path: Path) -> None:
    """Pairs of a kind that is called all are counted once, in all and under their name."""
    found = evaluated([LabelledPair("3 days", "4 days", False, "all")], tmp_path)
    assert found.routing()["ignored"] == {"same": 0, "different": 1}
    assert found.routing_by_kind() == {"all": found.routing()}


def test_no_different_pair_merges_by_itself(tmp_path: Path) -> None:
    """Of our own hard negatives none is automatic and few take anybody's time."""
    routing = evaluated(OWN, tmp_path).routing()
    assert routing["auto"]["different"] == 0
    assert routing["review"]["different"] <= 0.3 * len(DIFFERENT)


def test_the_json_form_has_the_agreed_shape(tmp_path: Path) -> None:
    """Routing in all and per kind, thresholds with and without guards, B-cubed, versions."""
    found = json.loads(json.dumps(evaluated(OWN[:20], tmp_path).to_dict()))
    assert set(found["routing"]) == {"auto", "review", "ignored"}
    assert all(set(v) == {"same", "different"} for v in found["routing"].values())
    assert all(set(v) == set(found["routing"]) for v in found["routing_by_kind"].values())
    row = next(t for t in found["thresholds"] if t["threshold"] == 0.92)
    assert {"precision", "recall", "f1", "b_cubed"} <= set(row["without_guards"])
    assert {"precision", "recall", "f1", "b_cubed"} <= set(row["with_guards"])
    assert found["rule_version"] == RULE_VERSION
    assert len(found["folds"]) == 5


def test_enough_proven_pairs_earn_automation_out_of_fold(tmp_path: Path) -> None:
    """Eighty right pairs: each fold's threshold comes from the other four."""
    found = evaluated(proven(80), tmp_path)
    assert all(p.threshold is not None and p.labels == 64 for p in found.fold_points)
    assert found.routing()["auto"]["same"] >= 70


def test_wrong_labels_take_automation_away(tmp_path: Path) -> None:
    """Twenty wrong pairs of eighty are too many for any threshold."""
    found = evaluated(proven(80, wrong=20), tmp_path)
    assert found.routing()["auto"] == {"same": 0, "different": 0}


def test_equal_texts_merge_without_evidence(tmp_path: Path) -> None:
    """Spellings of one sentence need no calibration, and count as no evidence."""
    pair = LabelledPair("Late order: 24 hours.", "late order:  24 hours", True, "surface")
    found = evaluated([pair] * 3, tmp_path)
    assert found.routing()["auto"]["same"] == 3
    assert found.point.labels == 0


def test_other_subjects_never_merge_by_themselves(tmp_path: Path) -> None:
    """Given subjects that differ keep a pair from automation, whatever it says."""
    pairs = [
        LabelledPair(
            "a stay", "the stay", True, "k", subject_a="In house", subject_b="In-house care"
        )
    ]
    assert evaluated(pairs, tmp_path).routing()["auto"]["same"] == 0


def test_a_file_is_read_with_what_it_says(tmp_path: Path) -> None:
    """Optional fields, blank lines, and lines without a label."""
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        '{"a": "x", "b": "y", "same": true, "kind": "k", "subject_a": "s", "subject_b": "S."}\n'
        '\n{"a": "x", "b": "z"}\n',
        encoding="utf-8",
    )
    first, second = read_labelled(path)
    assert (first.same, first.kind, first.same_subject) == (True, "k", True)
    assert first.text_a == "s\nx"
    assert (second.same, second.kind, second.text_a) == (False, "unnamed", "x")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"a": 1, "b": "y"}',
        '{"a": "x"}',
        pytest.param("[" * 100_000, id="deep"),
        '{"a": "x", "b": "y", "same": "false"}',
        '{"a": "x", "b": "y", "subject_a": 7}',
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    """The error says which line of which file."""
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"a": "x", "b": "y"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"pairs\.jsonl:2"):
        read_labelled(path)


def test_marks_and_line_ends_of_other_systems_do_not_matter(tmp_path: Path) -> None:
    """A byte order mark, CRLF and a line separator inside a text read like a plain file."""
    path = tmp_path / "pairs.jsonl"
    row = '{"a": "x\u2028x", "b": "y", "same": true}\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + (row * 2).encode())
    assert [(p.a, p.same) for p in read_labelled(path)] == [("x\u2028x", True)] * 2


@pytest.mark.parametrize("label", [None, True, False])
def test_one_label_alone_or_none_at_all_is_evaluated(tmp_path: Path, label: bool | None) -> None:
    """Empty files and files of one label give the whole answer, with zeros where nothing is."""
    rows = [] if label is None else [LabelledPair("x y", "x z", label, "k")] * 3
    found = evaluated(rows, tmp_path).to_dict()
    assert (found["pairs"], found["same"]) == (len(rows), 3 * bool(label))
    assert set(found["routing"]) == {"auto", "review", "ignored"}
    assert sum(n for route in found["routing"].values() for n in route.values()) == len(rows)


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(UsageError, match="cannot be read"):
        read_labelled(tmp_path / "none.jsonl")


@pytest.mark.parametrize("name", ["pairs.jsonl", "bird_hard_negatives.jsonl"])
def test_the_labelled_files_reach_the_goals(name: str, tmp_path: Path) -> None:
    """No hard negative automatic, at most 30 % of them in review; few true pairs refused."""
    path = DATA / "merge" / name
    if not path.exists():
        pytest.skip("the labelled files are not on this machine")
    found = evaluated(read_labelled(path), tmp_path)
    routing = found.routing()
    different = sum(not p.same for p in found.pairs)
    assert routing["auto"]["different"] == 0
    assert routing["review"]["different"] <= 0.3 * different
    refused = sum(
        p.same and j.relation == "different"
        for p, j in zip(found.pairs, found.judgements, strict=True)
    )
    assert refused <= 0.1 * max(1, len(found.pairs) - different)
