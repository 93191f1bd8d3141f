"""What hosted models answered to a fixed probe: the fingerprint of weights nobody can hash.

A hosted model may change behind its name, and one name may mean other weights at another
``base_url``. So the answer to one fixed text is remembered and compared now and then. The
comparison allows for the small differences that such services show from call to call: this is why
the fingerprint is remembered instead of computed anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PROBE_TEXT = "Ablation = procedure with ablazione_transcatetere = TRUE, counted by patient."
SAME_WEIGHTS = 0.995
"""Least cosine of two answers of the same weights; other weights are far below it."""
CHECK_EVERY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Probe:
    """The remembered answer: where and when it was last seen, and the fingerprint it gave."""

    fingerprint: str
    vector: npt.NDArray[np.float32]
    base_url: str
    checked_at: float

    def matches(self, vector: npt.NDArray[np.float32]) -> bool:
        """Whether ``vector`` (of length 1) comes from the same weights."""
        return vector.shape == self.vector.shape and float(vector @ self.vector) >= SAME_WEIGHTS

    def is_due(self, base_url: str, now: float) -> bool:
        """Whether the answer must be compared again before vectors are taken."""
        old = not 0 <= now - self.checked_at <= CHECK_EVERY_SECONDS
        return old or base_url != self.base_url


def fresh_probe(vector: npt.NDArray[np.float32], base_url: str, now: float) -> Probe:
    """The record of a first answer."""
    coarse = np.round(vector * 1_000).astype(np.int32).tobytes()
    fingerprint = "probe-" + hashlib.sha256(coarse).hexdigest()[:26]
    return Probe(fingerprint, vector, base_url, now)


class ProbeBook:
    """Probes by model, one small JSON file each in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, model: str) -> Probe | None:
        """The probe of ``model`` (any text that names it whole), or None."""
        try:
            kept: dict[str, Any] = json.loads(self._path(model).read_text(encoding="utf-8"))
            return Probe(
                fingerprint=str(kept["fingerprint"]),
                vector=np.asarray(kept["vector"], np.float32),
                base_url=str(kept["base_url"]),
                checked_at=float(kept["checked_at"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, model: str, probe: Probe) -> None:
        """Remember ``probe``, whole or not at all."""
        path = self._path(model)
        path.parent.mkdir(parents=True, exist_ok=True)
        work = path.with_name(f".{path.name}-{os.getpid()}")
        kept = {
            "model": model,
            "fingerprint": probe.fingerprint,
            "base_url": probe.base_url,
            "checked_at": probe.checked_at,
            "vector": [float(x) for x in probe.vector],
        }
        work.write_text(json.dumps(kept), encoding="utf-8")
        os.replace(work, path)

    def _path(self, model: str) -> Path:
        return self.folder / f"{hashlib.sha256(model.encode()).hexdigest()[:24]}.json"
