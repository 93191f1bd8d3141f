"""Agents' session ledgers become one reviewed, deduplicated, searchable memory registry.

What this package offers to Python programs is named here; everything else may change. Nothing is
imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_assets.api import apply, feedback, open_workspace, propose, search
    from memory_assets.domain.visibility import Principal
    from memory_assets.errors import MemoryAssetsError
    from memory_assets.pipeline.workspace import Workspace
    from memory_assets.steps.search.types import Hit, SearchRequest, SearchResult
    from memory_assets.storage.ledger_writer import LedgerWriter

_HOMES = {
    "Hit": "steps.search.types",
    "LedgerWriter": "storage.ledger_writer",
    "MemoryAssetsError": "errors",
    "Principal": "domain.visibility",
    "SearchRequest": "steps.search.types",
    "SearchResult": "steps.search.types",
    "Workspace": "pipeline.workspace",
    "apply": "api",
    "feedback": "api",
    "open_workspace": "api",
    "propose": "api",
    "search": "api",
}
__all__ = [
    "Hit",
    "LedgerWriter",
    "MemoryAssetsError",
    "Principal",
    "SearchRequest",
    "SearchResult",
    "Workspace",
    "apply",
    "feedback",
    "open_workspace",
    "propose",
    "search",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
