"""The checks that a generation must pass before it is published: pure, on frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import polars as pl

from memory_assets.domain.events import REUSABLE_TYPES
from memory_assets.domain.keys import content_sha256
from memory_assets.domain.schemas import PROMOTION_KEY

_ID: Final = ["tenant_id", "memory_id"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check's outcome; ``rows`` counts what broke the rule, ``message`` says what was found."""

    name: str
    passed: bool
    rows: int = 0
    message: str = ""
    examples: tuple[str, ...] = ()
    """Row keys, never content."""
    severity: Literal["error", "warn"] = "error"
    remedy: str = ""
    """What to do where it did not pass."""

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON and as run metadata."""
        return {
            "name": self.name,
            "passed": self.passed,
            "severity": self.severity,
            "rows": self.rows,
            "message": self.message,
            "remedy": self.remedy,
            "examples": list(self.examples),
        }


@dataclass(frozen=True, slots=True)
class Staged:
    """What is about to be published, beside what is published now."""

    before: pl.DataFrame
    """``memories`` of the published generation."""
    after: pl.DataFrame
    """``memories`` of the staged one."""
    corroborations: pl.DataFrame
    active: pl.DataFrame
    """Memories of the staged generation that must be in the index."""
    index_keys: pl.DataFrame
    """row_key, index_sha256 of the staged index version, read back."""
    wanted_keys: pl.DataFrame
    """row_key, index_sha256 that the registry asks for."""
    index_kinds: tuple[str, ...]
    """Distinct values of ``kind`` in the staged index."""


Check = Callable[[Staged], CheckResult]


def ids_unique(s: Staged) -> CheckResult:
    """No two memories share (tenant_id, memory_id)."""
    bad = s.after.filter(pl.struct(_ID).is_duplicated())
    return _result("ids_unique", bad, "memory ids are allocated twice")


def promotion_key_unique(s: Staged) -> CheckResult:
    """No decision became two memories, or a memory and a corroboration."""
    keys = pl.concat(
        [
            s.after.select(*PROMOTION_KEY, "memory_id"),
            s.corroborations.select(*PROMOTION_KEY, "memory_id"),
        ]
    )
    bad = keys.filter(pl.struct(PROMOTION_KEY).is_duplicated())
    return _result("promotion_key_unique", bad, "a decision was promoted twice")


def only_reusable_types(s: Staged) -> CheckResult:
    """Every memory is of a reusable type and names no tables of its own.

    Records of another registry may break this, until the legacy cleanup removes them; but none of
    them may be found, so none may be active.
    """
    alien = ~pl.col("type").is_in(sorted(REUSABLE_TYPES))
    named = pl.col("tables").list.len() > 0
    imported = pl.col("origin") == "imported"
    own = s.after.filter((alien | named) & ~imported)
    found = s.active.filter(alien)
    bad = pl.concat([own.select(_ID), found.select(_ID)]).unique()
    return _result("only_reusable_types", bad, "schema choices reached the registry")


def content_unchanged(s: Staged) -> CheckResult:
    """Published memories keep their content hash, and new ones match theirs."""
    both = s.before.select(*_ID, "content_sha256").join(
        s.after.select(*_ID, pl.col("content_sha256").alias("now")), on=_ID, how="left"
    )
    lost = both.filter(pl.col("now").is_null() | (pl.col("now") != pl.col("content_sha256")))
    new = s.after.join(s.before, on=_ID, how="anti")
    hashes = [
        content_sha256(
            type=r["type"],
            subject=r["subject"],
            detail=r["detail"],
            rationale=r["rationale"],
            question_context=r["question_context"],
            tables=r["tables"],
            concepts=r["concepts"],
        )
        for r in new.iter_rows(named=True)
    ]
    wrong = new.filter(pl.Series(hashes, dtype=pl.String) != pl.col("content_sha256"))
    bad = pl.concat([lost.select(_ID), wrong.select(_ID)])
    return _result("content_unchanged", bad, "content of published memories differs or is gone")


def no_row_changes_tenant(s: Staged) -> CheckResult:
    """A promotion key stays with its memory, so no memory moves to another tenant."""
    keys = [k for k in PROMOTION_KEY if k != "tenant_id"]
    both = s.before.select(*_ID, *keys).join(
        s.after.select("tenant_id", pl.col("memory_id").alias("now"), *keys),
        on=["tenant_id", *keys],
        how="left",
    )
    bad = both.filter(pl.col("now").is_null() | (pl.col("now") != pl.col("memory_id")))
    return _result("no_row_changes_tenant", bad, "memories left their tenant or their decision")


def no_tenant_disappears(s: Staged) -> CheckResult:
    """Every tenant with memories before has memories after."""
    gone = s.before.select("tenant_id").unique().join(s.after, on="tenant_id", how="anti")
    bad = gone.with_columns(pl.lit("*").alias("memory_id"))
    return _result("no_tenant_disappears", bad, "all memories of a tenant are gone")


def no_orphans(s: Staged) -> CheckResult:
    """Every corroboration names a memory of its tenant."""
    bad = s.corroborations.join(s.after, on=_ID, how="anti")
    return _result("no_orphans", bad, "rows name memories that do not exist")


def index_equals_registry(s: Staged) -> CheckResult:
    """The staged index version holds exactly the active memories, each once, as memories."""
    wanted = s.wanted_keys.select("row_key", "index_sha256")
    found = s.index_keys.select("row_key", "index_sha256")
    both = ["row_key", "index_sha256"]
    bad = pl.concat(
        [
            wanted.join(found, on=both, how="anti").select("row_key"),
            found.join(wanted, on=both, how="anti").select("row_key"),
            found.filter(pl.col("row_key").is_duplicated()).select("row_key"),
        ]
    ).unique()
    alien = [k for k in s.index_kinds if k != "memory"]
    rows = bad.height + len(alien) + abs(s.active.height - found.height)
    examples = tuple(sorted(bad["row_key"].to_list())[:5]) + tuple(alien)
    if rows == 0:
        return CheckResult("index_equals_registry", passed=True)
    message = "registry and index disagree; nothing was published."
    remedy = "run `memory-assets reindex`: it builds the index anew and publishes it."
    return CheckResult("index_equals_registry", False, rows, message, examples, remedy=remedy)


BLOCKING_CHECKS: Final[tuple[Check, ...]] = (
    ids_unique,
    promotion_key_unique,
    only_reusable_types,
    content_unchanged,
    no_row_changes_tenant,
    no_tenant_disappears,
    no_orphans,
    index_equals_registry,
)


def run_checks(staged: Staged) -> tuple[CheckResult, ...]:
    """The outcome of every blocking check, in order."""
    return tuple(check(staged) for check in BLOCKING_CHECKS)


def quarantine_ratio(refused: int, rows: int, *, warn_from: float) -> CheckResult:
    """Warns when the share of refused lines reaches ``warn_from``."""
    total = refused + rows
    ratio = refused / total if total else 0.0
    passed = ratio < warn_from
    if passed:
        return CheckResult("quarantine_ratio", True, refused, severity="warn")
    return CheckResult(
        "quarantine_ratio",
        False,
        refused,
        f"{refused} of {total} lines ({ratio:.1%}) are in quarantine.",
        severity="warn",
        remedy="list them with `memory-assets quarantine list` and repair the files they come "
        "from.",
    )


def vectors_complete(pending: int) -> CheckResult:
    """Warns about memories without a vector: they are found by their words only."""
    if pending == 0:
        return CheckResult("vectors_complete", passed=True, severity="warn")
    return CheckResult(
        "vectors_complete",
        False,
        pending,
        f"{pending} memories are not searchable by vector.",
        severity="warn",
        remedy="run `memory-assets reindex`, or wait for the next night, which asks the embedding "
        "model again.",
    )


_LOOK: Final = (
    "keep the home as it is, and look at the rows named before anything else runs: a file or a "
    "program broke a rule of the registry. The generation before is still served."
)


def _result(name: str, bad: pl.DataFrame, what: str) -> CheckResult:
    if bad.is_empty():
        return CheckResult(name, passed=True)
    keys = bad.select(pl.concat_str(_ID, separator="/")).to_series().unique().sort().to_list()
    message = f"{what}; nothing was published."
    return CheckResult(name, False, bad.height, message, tuple(keys[:5]), remedy=_LOOK)
