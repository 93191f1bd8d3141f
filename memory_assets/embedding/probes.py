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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PROBE_TEXT = "Ablation = procedure with ablazione_transcatetere = TRUE, counted by patient."
PROBES = "probes"
"""The folder in a home's cache."""
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
    """Probes by model, one small JSON file each in ``folder``.

    Where ``folder`` has none (it is part of a cache), the one in ``kept`` counts: an answer that
    is asked for anew is a little unlike the first, and would give the same weights another name.
    """

    def __init__(self, folder: Path, kept: Path | None = None) -> None:
        self.folder = folder
        self.kept = kept

    def load(self, model: str) -> Probe | None:
        """The probe of ``model`` (any text that names it whole), or None."""
        found = _read(self._path(model))
        if found is None and self.kept is not None:
            known = _read(self.kept / self._path(model).name)
            # Nobody knows what happened since: it is compared before the first vector is taken.
            found = replace(known, checked_at=0.0) if known is not None else None
        return found

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


def keep_probes(folder: Path, kept: Path) -> None:
    """Copies to ``kept`` the probes of ``folder`` that are new there, or of other weights."""
    for path in sorted(folder.glob("*.json")):
        probe, before = _read(path), _read(kept / path.name)
        if probe is not None and (before is None or before.fingerprint != probe.fingerprint):
            kept.mkdir(parents=True, exist_ok=True)
            work = kept / f".{path.name}-{os.getpid()}"
            work.write_bytes(path.read_bytes())
            os.replace(work, kept / path.name)


def _read(path: Path) -> Probe | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Probe(
            fingerprint=str(found["fingerprint"]),
            vector=np.asarray(found["vector"], np.float32),
            base_url=str(found["base_url"]),
            checked_at=float(found["checked_at"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
