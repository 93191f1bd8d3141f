"""Checks of a generation: what did not pass says what was found, where, and what to do."""

from __future__ import annotations

import polars as pl
import pytest

from memory_assets.domain.checks import (
    CheckResult,
    Staged,
    ids_unique,
    index_equals_registry,
    quarantine_ratio,
    vectors_complete,
)

_IDS = pl.DataFrame({"tenant_id": ["bank", "bank"], "memory_id": ["mem-0001", "mem-0001"]})
_KEYS = pl.DataFrame({"row_key": ["bank/mem-0001"], "index_sha256": ["aa"]})


def _staged(*, found: pl.DataFrame) -> Staged:
    return Staged(
        before=_IDS.clear(),
        after=_IDS,
        corroborations=_IDS.clear(),
        active=_IDS.unique(),
        index_keys=found,
        wanted_keys=_KEYS,
        index_kinds=("memory",),
    )


def test_an_index_that_holds_what_it_should_passes() -> None:
    """Nothing is said, and nothing is to be done."""
    assert index_equals_registry(_staged(found=_KEYS)) == CheckResult(
        "index_equals_registry", passed=True
    )


def test_a_refused_generation_names_its_rows_and_what_to_do() -> None:
    """Both kinds of refusal say that nothing was published."""
    twice = ids_unique(_staged(found=_KEYS))
    lost = index_equals_registry(_staged(found=_KEYS.clear()))
    assert twice.examples == lost.examples == ("bank/mem-0001",)
    assert "nothing was published" in twice.message
    assert "nothing was published" in lost.message
    assert "keep the home as it is" in twice.remedy
    assert "`memory-assets reindex`" in lost.remedy


@pytest.mark.parametrize(
    ("failed", "command"),
    [
        (quarantine_ratio(1, 99, warn_from=0.01), "memory-assets quarantine list"),
        (vectors_complete(3), "memory-assets reindex"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_warnings_name_a_command(failed: CheckResult, command: str) -> None:
    """A warning counts what is wrong, and names the command that looks at it or mends it."""
    assert not failed.passed
    assert failed.severity == "warn"
    assert str(failed.rows) in failed.message
    assert f"`{command}`" in failed.remedy
    assert failed.to_dict()["remedy"] == failed.remedy


def test_a_share_below_the_limit_and_no_gap_are_no_warnings() -> None:
    """One line of a hundred and one is below one in a hundred."""
    assert quarantine_ratio(1, 100, warn_from=0.01).passed
    assert quarantine_ratio(0, 0, warn_from=0.01).passed
    assert vectors_complete(0).passed
