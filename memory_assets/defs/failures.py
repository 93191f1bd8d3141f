"""The one place where named errors become Dagster failures, or another try."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import dagster as dg

from memory_assets.defs import stages
from memory_assets.errors import MemoryAssetsError, ProviderUnavailable, PublisherBusy

RETRIES: Final = 3
_FIRST_WAIT_SECONDS: Final = 5.0
_LONGEST_WAIT_SECONDS: Final = 600.0


@contextmanager
def as_failures(context: dg.AssetExecutionContext | None = None) -> Iterator[None]:
    """Turns a named error into a Failure with its code, place and remedy as metadata.

    With a ``context`` the step is tried again when that can help: a provider that is down for a
    moment, a publisher that is at work. Everything else would fail in the same way again. A night
    that a person started from a terminal is told at once instead.

    A step of a run that somebody has told to stop does not begin: the interrupt itself can get lost
    where Python drops exceptions, in a callback of its garbage collector.
    """
    if context is not None and _is_told_to_stop(context):
        raise dg.DagsterExecutionInterruptedError
    try:
        yield
    except MemoryAssetsError as error:
        if context is not None and _worth_another_try(context, error):
            raise dg.RetryRequested(RETRIES, _wait(context.retry_number, error)) from error
        raise dg.Failure(
            description=str(error),
            metadata={
                "error": error.code,
                "what": error.what,
                "where": error.where,
                "remedy": error.remedy,
            },
            allow_retries=False,
        ) from error


def _is_told_to_stop(context: dg.AssetExecutionContext) -> bool:
    run = context.instance.get_run_by_id(context.run.run_id)
    return run is not None and run.status is dg.DagsterRunStatus.CANCELING


def _worth_another_try(context: dg.AssetExecutionContext, error: MemoryAssetsError) -> bool:
    transient = isinstance(error, ProviderUnavailable | PublisherBusy)
    waits = context.retry_number < RETRIES and not stages.is_announced(context.run.run_id)
    return transient and waits


def _wait(tried: int, error: MemoryAssetsError) -> float:
    """Seconds until the next try: 5, 15, 45; or what the provider asked for, up to ten minutes."""
    own = _FIRST_WAIT_SECONDS * 3.0**tried
    asked = error.retry_after if isinstance(error, ProviderUnavailable) else None
    return min(max(own, asked or 0.0), _LONGEST_WAIT_SECONDS)
