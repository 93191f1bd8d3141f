"""The same block function on Ray: identical pairs in the same order."""

from __future__ import annotations

import builtins
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from memory_assets.errors import SettingsError
from memory_assets.steps.merge.on_ray import runner
from memory_assets.steps.merge.pairs import exact_pairs, in_process
from tests.steps.merge.test_pairs import unit_rows


def test_without_an_address_everything_runs_here() -> None:
    """The default needs no Ray."""
    assert runner("") is in_process


def test_a_missing_ray_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for Ray without having it is told what to install."""
    real = builtins.__import__

    def without_ray(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(SettingsError, match="not installed"):
        runner("local")


@pytest.fixture
def local_ray() -> Iterator[None]:
    """Ray on this machine, shut down afterwards."""
    ray = pytest.importorskip("ray")
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


@pytest.mark.slow
def test_ray_gives_identical_pairs(local_ray: None) -> None:
    """Block by block, bit by bit, in the order of the blocks."""
    vectors = unit_rows(700, 16, families=20)
    here = list(exact_pairs(vectors, 0.9, block=64))
    there = list(exact_pairs(vectors, 0.9, block=64, run=runner("local")))
    assert len(here) == len(there) > 10
    for mine, theirs in zip(here, there, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert np.array_equal(a, b)
