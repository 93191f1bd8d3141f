"""What a check found and what to do about it: one text for people, two parts for programs."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from memory_assets import defs
from memory_assets.defs.checks import REMEDY, check_outcome, what_and_remedy


def _evaluation(found: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    assert found.check_name
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey("registry"),
        check_name=found.check_name,
        passed=found.passed,
        metadata=found.metadata,
        severity=found.severity,
        description=found.description,
    )


def test_what_is_told_together_can_be_told_apart() -> None:
    """The description holds both parts, and the alert gets each by itself."""
    found = check_outcome("check", "2 rows are bad.", "run `x`.", passed=False)
    assert found.description == "2 rows are bad. What to do: run `x`."
    assert what_and_remedy(_evaluation(found)) == ("2 rows are bad.", "run `x`.")


def test_where_all_is_well_there_is_nothing_to_do() -> None:
    """The remedy of a check that passed stands nowhere."""
    found = check_outcome("check", "all is well", "run `x`.", passed=True, metadata={"rows": 2})
    assert found.description == "all is well"
    assert set(found.metadata) == {"rows"}


@pytest.mark.parametrize("description", ["It fell.", None])
def test_a_check_of_another_make_is_told_as_it_is(description: str | None) -> None:
    """One that was recorded without a remedy keeps its words."""
    bare = dg.AssetCheckResult(check_name="check", passed=False, description=description)
    assert REMEDY not in bare.metadata
    assert what_and_remedy(_evaluation(bare)) == (description or "the check did not pass", "")


def test_no_asset_makes_the_outcome_of_its_check_by_itself() -> None:
    """So none can fail without a remedy that alerts find."""
    makers = [
        path.name
        for path in Path(defs.__file__).parent.glob("*.py")
        if "dg.AssetCheckResult(" in path.read_text("utf-8")
    ]
    assert makers == ["checks.py"]
