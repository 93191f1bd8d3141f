"""Local models through sentence-transformers: packaged ones offline, or any folder or hub name."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memory_assets.domain.ports import TextKind, VectorPart, Vectors
from memory_assets.domain.providers import Precision
from memory_assets.embedding.base import BaseEmbedder, encodable, unit_rows
from memory_assets.errors import ModelNotFound

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

CPU_TOKENS = 768
CPU_TOKENS_BFLOAT16 = 1_536
GPU_TOKENS = 32_768
"""Tokens in a batch, padding included: what fits the cores' caches is fastest (measured)."""
LEAST_TOKENS_BFLOAT16 = 128
"""Every call shortens all weights first: a single query takes less time in float32 (measured)."""
PART = 2_048
"""Texts between two parts: memory stays bounded, and a killed run loses at most one part."""
_MOST_TOKENS = 8_192
_TRIED = (768, 384)
"""Shape of the product by which bfloat16 is tried: tokens of a batch, size of a small model."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """All that is known of a model before its weights are read."""

    provider: str
    name: str
    dimension: int
    weights_sha256: str
    prompts: tuple[tuple[str, str], ...]
    """(kind, text put before it); a model without prompts takes both kinds alike."""
    folder: Callable[[], Path]
    """Finds, checks and if need be builds the model's folder."""
    version: int = 1
    """Raised when our own way of loading changes what texts become."""

    @property
    def fingerprint(self) -> str:
        """Hash of the weights and of what is put before a text: 32 hex digits."""
        whole = json.dumps([self.weights_sha256, sorted(self.prompts), self.version])
        return hashlib.sha256(whole.encode()).hexdigest()[:32]


class LocalEmbedder(BaseEmbedder):
    """Vectors from a model on this machine; torch loads with the first text, not before.

    ``device`` is torch's name for one ("cpu", "cuda"); by default a GPU is used when there is one.
    """

    def __init__(
        self,
        model: LocalModel,
        *,
        device: str | None = None,
        batch_size: int | None = None,
        precision: Precision = Precision.AUTO,
    ) -> None:
        super().__init__(model.provider, model.name)
        self._card = model
        self._prompts = dict(model.prompts)
        self._device = device
        self._batch_size = batch_size
        self._precision = precision
        self._loaded: SentenceTransformer | None = None
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._card.dimension

    @property
    def fingerprint(self) -> str:
        """Hash of the weights and prompts."""
        return self._card.fingerprint

    @property
    def kind_matters(self) -> bool:
        """Whether the model has different prompts for queries and documents."""
        return self._prompts.get("query", "") != self._prompts.get("document", "")

    def embed_parts(self, texts: Sequence[str], *, kind: TextKind) -> Iterator[VectorPart]:
        """Parts of at most ``PART`` texts, the longest texts first.

        Sorting by length keeps padding small; the longest first show at once whether memory
        suffices, and make the time left shrink rather than grow.
        """
        if not texts:
            return
        model = self._load()
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
        for start in range(0, len(order), PART):
            positions = order[start : start + PART]
            yield positions, self._encode(model, [encodable(texts[i]) for i in positions], kind)

    def _encode(self, model: SentenceTransformer, texts: list[str], kind: TextKind) -> Vectors:
        prompt = self._prompts.get(kind, "")
        vectors: Vectors = np.empty((len(texts), self.dimension), np.float32)
        lengths = _token_counts(model, [prompt + text for text in texts])
        short = self._in_bfloat16(model, sum(lengths))
        with self._lock, _products_in_bfloat16(model) if short else contextlib.nullcontext():
            for batch in self._batches(model, lengths, short):
                rows = model.encode(
                    [texts[position] for position in batch],
                    prompt=prompt,
                    batch_size=len(batch),
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
                if rows.shape != (len(batch), self.dimension):
                    raise ModelNotFound(
                        f"{self.provider}:{self.model} gives vectors of {rows.shape[-1]} numbers, "
                        f"expected {self.dimension}.",
                        remedy="The folder's settings contradict its weights; install it again.",
                    )
                vectors[batch] = rows
        return unit_rows(vectors, who=f"{self.provider}:{self.model}")

    def _in_bfloat16(self, model: SentenceTransformer, tokens: int) -> bool:
        enough = tokens >= LEAST_TOKENS_BFLOAT16
        return enough and self._precision is Precision.AUTO and bfloat16_pays(model.device)

    def _batches(
        self, model: SentenceTransformer, lengths: Sequence[int], short: bool
    ) -> Iterator[list[int]]:
        """Positions, longest texts first, in batches of about equally many tokens.

        By tokens rather than texts: 16 long texts outgrow the caches, 16 short ones do not fill
        a core. Sorting by tokens rather than characters halves the padding.
        """
        order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
        on_cpu = CPU_TOKENS_BFLOAT16 if short else CPU_TOKENS
        budget = on_cpu if model.device.type == "cpu" else GPU_TOKENS
        start = 0
        while start < len(order):
            fitting = self._batch_size or max(1, budget // max(1, lengths[order[start]]))
            yield order[start : start + fitting]
            start += fitting

    def _load(self) -> SentenceTransformer:
        with self._lock:
            if self._loaded is None:
                loaded = load_folder(self._card.folder(), self._device)
                if loaded.device.type == "cpu":
                    # Weights stored in half precision are slower here, and refuse bfloat16.
                    loaded.float()
                self._loaded = loaded
            return self._loaded


def load_folder(folder: Path, device: str | None) -> SentenceTransformer:
    """The model in ``folder``, on ``device`` or the best one there is; no hub is asked.

    Raises:
        ModelNotFound: the folder holds no model that loads.
    """
    with _quiet_and_offline():
        from pickle import UnpicklingError

        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer

        # The libraries have no error of their own for a damaged folder: torch, pickle, safetensors
        # and the readers of the settings files each fail in another way.
        damage = (
            OSError,
            EOFError,
            SafetensorError,
            UnpicklingError,
            RuntimeError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            ImportError,
        )
        try:
            return SentenceTransformer(str(folder), device=device, local_files_only=True)
        except damage as error:
            raise ModelNotFound(
                f"The model in this folder does not load: {error}.",
                where=str(folder),
                remedy="Check that it is a sentence-transformers model, complete.",
            ) from error


def bfloat16_pays(device: torch.device) -> bool:
    """Whether products in bfloat16 are faster on ``device``: a processor with tile units (AMX).

    Other processors emulate them, at twice to five times the cost of float32 (measured); and a
    torch that cannot tell what the processor has is not asked.
    """
    import torch

    tell: Callable[[], Mapping[str, object]] = getattr(torch.cpu, "get_capabilities", dict)
    return device.type == "cpu" and bool(tell().get("amx_bf16")) and tiles_answer()


@functools.cache
def tiles_answer() -> bool:
    """Whether a product in bfloat16 takes less than two thirds of the time that float32 takes.

    Tried once per process, some hundredths of a second: a system may keep the units that the
    processor has from its programs.
    """
    import torch

    def seconds(kind: torch.dtype) -> float:
        rows, columns = torch.ones(_TRIED, dtype=kind), torch.ones(_TRIED[::-1], dtype=kind)
        taken = []
        for _ in range(4):  # the first one prepares
            began = time.perf_counter()
            torch.mm(rows, columns)
            taken.append(time.perf_counter() - began)
        return min(taken)

    return seconds(torch.bfloat16) < seconds(torch.float32) * 2 / 3


def _products_in_bfloat16(model: SentenceTransformer) -> torch.autocast:
    """Only the operands of matrix products are shortened; sums, norms and weights stay float32.

    Bound to this thread: nobody else's use of torch changes.
    """
    import torch

    return torch.autocast(model.device.type, dtype=torch.bfloat16)


def _token_counts(model: SentenceTransformer, texts: list[str]) -> list[int]:
    """How many tokens of each text the model reads; roughly, for an unusual tokenizer."""
    most = model.max_seq_length or _MOST_TOKENS
    try:
        ids = model.tokenizer(texts, truncation=True, max_length=most)["input_ids"]
        return [len(row) for row in ids]
    except (AttributeError, KeyError, TypeError):
        return [min(most, len(text) // 4 + 1) for text in texts]


@contextlib.contextmanager
def _quiet_and_offline() -> Iterator[None]:
    """Loading a folder asks no hub and draws no bar, whatever the libraries' defaults are."""
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        from transformers.utils import logging

        bar = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            yield
        finally:
            if bar:
                logging.enable_progress_bar()  # type: ignore[no-untyped-call]
    finally:
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before
