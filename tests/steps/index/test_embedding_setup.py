"""What the settings of embedding say reaches the providers."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.domain.providers import Precision
from memory_assets.errors import SettingsError
from memory_assets.settings import load_settings
from memory_assets.steps.index.embedding_setup import EmbeddingSetup

MODEL = "packaged:all-MiniLM-L6-v2"


def _setup(home: Path, **variables: str) -> EmbeddingSetup:
    environment = {f"MEMORY_ASSETS_{name.upper()}": value for name, value in variables.items()}
    settings = load_settings(flags={"home": str(home)}, environment=environment)
    return EmbeddingSetup.of(settings, home / "cache", home / "probes")


def test_a_local_model_is_told_its_precision(tmp_path: Path) -> None:
    """The machine decides, unless float32 is asked for."""
    asked = {p: _setup(tmp_path, embedding=MODEL, embedding_precision=p) for p in Precision}
    for precision, setup in asked.items():
        assert setup.options(MODEL).precision is precision
    assert _setup(tmp_path, embedding=MODEL).options(MODEL).precision is Precision.AUTO


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("embedding_query_prefix", "a, b", "two values for all providers"),
        ("embedding_document_prefix", "openai:a=x, openai:a=y", "two values for openai:a"),
        ("embedding_dimension", "1.5", "whole number"),
        ("embedding_attempts", "2.5", "whole number"),
        ("embedding_precision", "int8", "must be one of auto, float32"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(
    setting: str, value: str, says: str, tmp_path: Path
) -> None:
    """By the settings, with their name, before anything runs."""
    with pytest.raises(SettingsError, match=f"{setting}.*{says}"):
        _setup(tmp_path, **{setting: value})
