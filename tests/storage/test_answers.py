"""Answers of models on disk: found again, forgotten on request."""

from __future__ import annotations

from pathlib import Path

from memory_assets.storage.answers import AnswerStore

SOURCE = ("ws", "s1", 3)


def test_an_answer_is_found_again(tmp_path: Path) -> None:
    """Whatever it says, line ends and all."""
    store = AnswerStore(tmp_path)
    assert store.get("ab12") is None
    store.put("ab12", "not json\n\u00e8", source=SOURCE, extractor="openai:m/1")
    assert AnswerStore(tmp_path).get("ab12") == "not json\n\u00e8"


def test_a_damaged_file_counts_as_none(tmp_path: Path) -> None:
    """It is asked again rather than believed."""
    store = AnswerStore(tmp_path)
    store.put("ab12", "x", source=SOURCE, extractor="e")
    (file,) = tmp_path.rglob("*.json")
    for damage in (b'{"key": "ab', b"[]", b'{"key": "other", "answer": "x"}'):
        file.write_bytes(damage)
        assert store.get("ab12") is None


def test_answers_are_forgotten_by_key_and_by_row(tmp_path: Path) -> None:
    """Nothing of a removed row's text stays in the store."""
    store = AnswerStore(tmp_path)
    for number, key in enumerate(("aa", "ab", "bc")):
        store.put(key, "secret", source=("ws", "s1", number), extractor="e")
    assert store.forget(["aa", "zz"]) == 1
    assert store.forget_sources([("ws", "s1", 1), ("az", "s1", 2)]) == 1
    assert store.get("bc") == "secret"
    assert store.forget_sources([]) == 0
    assert [p.stem for p in tmp_path.rglob("*.json")] == ["bc"]
