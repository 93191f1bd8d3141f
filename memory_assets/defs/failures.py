"""The one place where named errors become Dagster failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from memory_assets.errors import MemoryAssetsError, ProviderUnavailable, PublisherBusy

_WORTH_RETRYING = (ProviderUnavailable, PublisherBusy)


@contextmanager
def as_failures() -> Iterator[None]:
    """Turns a named error into a Failure with its code, place and remedy as metadata."""
    try:
        yield
    except MemoryAssetsError as error:
        raise dg.Failure(
            description=str(error),
            metadata={
                "error": error.code,
                "what": error.what,
                "where": error.where,
                "remedy": error.remedy,
            },
            allow_retries=isinstance(error, _WORTH_RETRYING),
        ) from error
