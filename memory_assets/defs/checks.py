"""Outcomes of asset checks: what was found and, where a check did not pass, what to do about it.

The remedy stands in the description, for whoever reads the UI, and by itself in the metadata, where
alerts find it: both come from one argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import dagster as dg

REMEDY: Final = "remedy"
"""Key of the metadata of a check that did not pass."""
_TO_DO: Final = " What to do: "


def check_outcome(
    name: str,
    what: str,
    remedy: str = "",
    *,
    passed: bool,
    severity: Literal["error", "warn"] = "warn",
    asset: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> dg.AssetCheckResult:
    """One check's outcome; ``remedy`` says what to do, and counts only where it did not pass."""
    told = dict(metadata or {})
    if not passed:
        told[REMEDY] = remedy
        what = f"{what}{_TO_DO}{remedy}"
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=name,
        passed=passed,
        severity=dg.AssetCheckSeverity[severity.upper()],
        description=what,
        metadata=told,
    )


def what_and_remedy(check: dg.AssetCheckEvaluation) -> tuple[str, str]:
    """What a check that did not pass found, and what to do, told apart again."""
    found = check.metadata.get(REMEDY)
    remedy = str(found.value) if found is not None else ""
    return (check.description or "the check did not pass").removesuffix(_TO_DO + remedy), remedy
