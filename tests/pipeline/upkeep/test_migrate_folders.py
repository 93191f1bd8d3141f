"""Moving to a model in a folder of one's own, and back to one that no setting names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memory_assets.errors import SpaceMismatch
from memory_assets.pipeline.upkeep.migrate import migrate, roll_back
from tests.providers import FIRST, Hosted


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A small model that sentence-transformers wrote: a table of word vectors."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = ["?", "measure", "counted", "by", "unit", *map(str, range(200))]
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    folder = tmp_path / "models" / "own"
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)])
    model.save(str(folder), create_model_card=False)
    return folder


@pytest.fixture(name="world")
def _world(hosted: Hosted) -> Hosted:
    hosted.memories(12)
    hosted.night()
    return hosted


def _served(world: Hosted) -> str:
    current, _ = world.again().generations.current()
    assert current.serving is not None
    return current.serving.space.model


def test_a_folder_that_no_setting_names_takes_over_again(
    world: Hosted, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """There and back: where the model lies is remembered, from whichever folder one looks."""
    monkeypatch.chdir(folder.parent)
    assert migrate(world.again(), "local:own", now=world.now).swapped
    monkeypatch.chdir(tmp_path)
    assert _served(world) == "own"
    assert world.search("counted by unit 7").degraded is None
    assert migrate(world.again(), FIRST, now=world.now).swapped
    back = roll_back(world.again(), now=world.now)
    assert (back.swapped, back.spec) == (True, f"local:{folder}")
    assert _served(world) == "own"
    assert world.search("counted by unit 7").degraded is None


@pytest.mark.parametrize("lost", ["cache", "manifests"])
def test_either_record_of_the_folder_suffices(world: Hosted, folder: Path, lost: str) -> None:
    """The cache may be deleted; and a model that the settings named is in no migration's note."""
    if lost == "cache":
        migrate(world.again(), f"local:{folder}", now=world.now)
        migrate(world.again(), FIRST, now=world.now)
        shutil.rmtree(world.workspace.home.cache / "fingerprints")
    else:
        world.again(embedding=f"local:{folder}")
        world.night()
        world.again(embedding=FIRST)
        migrate(world.workspace, FIRST, now=world.now)
    assert _served(world) == "first-model"
    assert roll_back(world.again(), now=world.now).spec == f"local:{folder}"
    assert _served(world) == "own"


def test_a_folder_that_is_gone_or_damaged_leaves_all_as_it_was(world: Hosted, folder: Path) -> None:
    """A named error says that a folder is named by its path; the other space serves on."""
    migrate(world.again(), f"local:{folder}", now=world.now)
    migrate(world.again(), FIRST, now=world.now)
    (weights,) = folder.rglob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:-40])
    for _ in range(2):
        with pytest.raises(SpaceMismatch) as refused:
            roll_back(world.again(), now=world.now)
        assert "local:/folder" in refused.value.remedy
        assert _served(world) == "first-model"
        shutil.rmtree(folder, ignore_errors=True)
