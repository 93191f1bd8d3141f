"""A job of the nightly one's shape that does nothing: what Dagster's own records of a night cost.

Run ``python -m tests.benches.hollow_night HOME``; ``bench_start`` holds a night without new
sessions against it. Same assets, checks and steps, the same kind of instance, no work.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from memory_assets.defs.assemble import defs
from memory_assets.defs.run_nightly import dagster_home

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def hollow_definitions() -> dg.Definitions:
    """The nightly job's assets and checks by name and order, each of which passes at once."""
    keys = defs.resolve_job_def("nightly_consolidation").asset_layer.selected_asset_keys
    assets = [a for a in defs.assets or () if isinstance(a, dg.AssetsDefinition)]
    checks = [c for c in defs.asset_checks or () if isinstance(c, dg.AssetChecksDefinition)]
    chosen = dg.AssetSelection.assets(*keys)
    return dg.Definitions(
        assets=[_hollow_asset(a) for a in assets if keys & set(a.keys)],
        asset_checks=[_hollow_check(spec) for check in checks for spec in check.check_specs],
        jobs=[dg.define_asset_job("night", selection=chosen)],
        executor=dg.in_process_executor,
    )


def _hollow_asset(asset: dg.AssetsDefinition) -> dg.AssetsDefinition:
    specs = [dg.AssetSpec(s.key, deps=[d.asset_key for d in s.deps]) for s in asset.specs]
    checks = [_bare(spec) for spec in asset.check_specs]

    @dg.multi_asset(name=asset.op.name, specs=specs, check_specs=checks)
    def nothing() -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        for spec in specs:
            yield dg.MaterializeResult(asset_key=spec.key)
        for check in checks:
            yield dg.AssetCheckResult(passed=True, check_name=check.name, asset_key=check.asset_key)

    return nothing


def _hollow_check(spec: dg.AssetCheckSpec) -> dg.AssetChecksDefinition:
    @dg.asset_check(name=spec.name, asset=spec.asset_key)
    def nothing() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    return nothing


def _bare(spec: dg.AssetCheckSpec) -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(spec.name, asset=spec.asset_key, blocking=spec.blocking)


def main() -> int:
    """Runs the job once; 1 when it fails."""
    with dg.DagsterInstance.from_config(str(dagster_home(Path(sys.argv[1])))) as instance:
        job = hollow_definitions().resolve_job_def("night")
        return int(not job.execute_in_process(instance=instance, run_config=_QUIET).success)


if __name__ == "__main__":
    sys.exit(main())
