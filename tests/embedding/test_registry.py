"""Specs: what can be opened, with which dimension and price, and what is said of the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memory_assets.embedding import openai, voyage
from memory_assets.embedding.hosted import HostedEmbedder
from memory_assets.embedding.packaged import is_installed, packaged_models
from memory_assets.embedding.registry import (
    EmbedderOptions,
    default_model,
    known_specs,
    open_chain,
    open_embedder,
)
from memory_assets.errors import ModelNotFound, SettingsError


@pytest.mark.parametrize(
    "spec", ["", ":", "voyage", "voyage:", "cohere:embed", "packaged:other", "Voyage:voyage-3-lite"]
)
def test_unknown_specs_list_the_known_ones(spec: str, tmp_path: Path) -> None:
    """The remedy names what works."""
    with pytest.raises(SettingsError, match="packaged:multilingual-e5-small"):
        open_embedder(spec, cache_dir=tmp_path)


@pytest.mark.parametrize("spec", [s for s in known_specs() if not s.startswith("local:")])
def test_known_specs_open_without_work(spec: str, tmp_path: Path) -> None:
    """Provider, model and dimension are known before anything is loaded or asked."""
    embedder = open_embedder(spec, cache_dir=tmp_path)
    assert f"{embedder.provider}:{embedder.model}" == spec
    assert embedder.dimension > 0
    assert list(tmp_path.iterdir()) == []


def test_dimensions_and_prices_are_the_published_ones() -> None:
    """Dollars per million tokens."""
    known = [*voyage.MODELS.values(), *openai.MODELS.values()]
    assert {m.name: (m.dimension, m.dollars_per_million_tokens) for m in known} == {
        "voyage-3-large": (1024, 0.18),
        "voyage-3-lite": (512, 0.02),
        "text-embedding-3-large": (3072, 0.13),
        "text-embedding-3-small": (1536, 0.02),
    }


def test_prices_and_dimensions_are_settings(tmp_path: Path) -> None:
    """A shorter vector of a known model is asked for; a new price counts."""
    options = EmbedderOptions(dimension=256, dollars_per_million_tokens=0.1)
    for spec, name in (
        ("openai:text-embedding-3-large", "dimensions"),
        ("voyage:voyage-3-large", "output_dimension"),
    ):
        embedder = open_embedder(spec, cache_dir=tmp_path, options=options)
        assert isinstance(embedder, HostedEmbedder)
        assert embedder.dimension == 256
        assert embedder.card.dollars_per_million_tokens == 0.1
        assert embedder._body(["a"], "document")[name] == 256


@pytest.mark.parametrize("spec", ["openai:nomic-embed-text", "voyage:voyage-99"])
def test_an_unknown_hosted_model_needs_its_dimension(spec: str, tmp_path: Path) -> None:
    """Any model behind the OpenAI form works once its dimension is set."""
    with pytest.raises(SettingsError, match="dimension"):
        open_embedder(spec, cache_dir=tmp_path)
    options = EmbedderOptions(dimension=768)
    assert open_embedder(spec, cache_dir=tmp_path, options=options).dimension == 768


def test_the_default_is_a_packaged_model_that_is_there() -> None:
    """It needs no network, no key and no setting."""
    provider, _, model = default_model().partition(":")
    assert provider == "packaged"
    assert model in packaged_models()
    assert is_installed(model)


def test_a_chain_opens_its_providers_in_order(tmp_path: Path) -> None:
    """Specs, warm ones and options by spec."""
    chain = open_chain(
        ["voyage:voyage-3-large", "openai:text-embedding-3-large", "hashed:64"],
        cache_dir=tmp_path,
        warm=["hashed:64"],
        options={"voyage:voyage-3-large": EmbedderOptions(dimension=512)},
    )
    assert [state.role for state in chain.states()] == ["first", "standby", "warm"]
    assert chain.first.dimension == 512


@pytest.mark.parametrize("name", ["/no/such/folder", "./none", "~/none", "a/b/c"])
def test_a_folder_that_is_not_there_is_not_looked_for_on_a_hub(name: str, tmp_path: Path) -> None:
    """A wrong path is said to be one."""
    with pytest.raises(ModelNotFound, match="no model folder"):
        open_embedder(f"local:{name}", cache_dir=tmp_path)


def test_a_key_in_the_environment_is_in_no_repr(tmp_path: Path) -> None:
    """Options may end up in a log line."""
    options = EmbedderOptions(environment={"OPENAI_API_KEY": "sk-secret"})
    assert "sk-secret" not in repr(options)


def test_nothing_heavy_is_imported_before_the_first_text(tmp_path: Path) -> None:
    """Opening the default, its dimension, its space and an empty night import no torch."""
    code = f"""
import sys
from pathlib import Path
from memory_assets.embedding.cache import SqliteVectorCache
from memory_assets.embedding.registry import default_model, open_embedder
from memory_assets.embedding.through_cache import embed_through_cache
embedder = open_embedder(default_model(), cache_dir=Path({str(tmp_path)!r}))
assert embedder.dimension == 384 and embedder.space("search-v1").space_id
cache = SqliteVectorCache(Path({str(tmp_path / "v.sqlite")!r}))
embed_through_cache(embedder, cache, [], kind="document")
heavy = "torch transformers sentence_transformers huggingface_hub httpx2 safetensors".split()
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
