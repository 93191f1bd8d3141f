"""The registry from Python: search it, propose and apply memories, say what is wrong with them.

Everything here acts for one principal and reads one published generation per call. Nothing heavy is
imported before the first call.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Final

from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.search_types import DEFAULT_K, SearchRequest, SearchResult
from memory_assets.pipeline.workspace import Workspace
from memory_assets.settings import load_settings


def search(
    query: str,
    *,
    tenant: str,
    k: int = DEFAULT_K,
    persona: str = "ADMIN",
    user: str | None = None,
    clients: Iterable[str] = (),
    tier: str | None = None,
    of_user: str | None = None,
    of_client: str | None = None,
    session: str | None = None,
    as_of: datetime | int | None = None,
    explain: bool = False,
    home: Path | str | None = None,
    ledgers: Path | str | None = None,
    now: datetime | None = None,
) -> SearchResult:
    """The best memories for ``query`` that the persona may see, best first.

    ``tenant`` must be known; without it nothing is read. ``user`` and ``clients`` are the persona's
    own; ``tier``, ``of_user`` and ``of_client`` narrow the result. ``session`` leaves out what that
    session decided already (it needs ``ledgers``). ``as_of`` is a time or a generation. Each hit
    carries its score, the four terms in [0, 1], and its content; ``result.degraded`` says when
    vectors took no part.

    ``home`` and ``ledgers`` default to the environment (``MEMORY_ASSETS_HOME``, …) and the settings
    file; the opened registry is kept between calls. Searching counts as no use.

    ::

        for hit in memory_assets.search("ablation", tenant="clinic").hits:
            print(hit.memory_id, hit.score, hit.content["detail"])

    Raises:
        UnknownTenantError, AccessDenied: no such tenant, or not for this persona.
        UnknownSessionError: the tenant has no such session.
        SpaceMismatch: the index was built with another model than the configured one.
        UsageError: the query is blank, or ``k`` is out of range.
    """
    request = SearchRequest(
        query,
        Principal(tenant, persona, user, frozenset(clients)),
        now or datetime.now(UTC),
        k=k,
        tier=tier,
        user=of_user,
        client=of_client,
        session=session,
        as_of=as_of,
        explain=explain,
    )
    return open_workspace(home, ledgers).search(request)


def open_workspace(home: Path | str | None = None, ledgers: Path | str | None = None) -> Workspace:
    """The workspace of a home, the same object while its settings are the same.

    Raises:
        SettingsError: with every problem of the settings in one message.
    """
    settings = load_settings(flags={"home": _text(home), "ledgers": _text(ledgers)})
    key = tuple(sorted(settings.values.items())), str(settings.tenants)
    with _LOCK:
        if key not in _OPENED:
            if len(_OPENED) >= _KEPT:
                _OPENED.clear()
            _OPENED[key] = Workspace(settings)
        return _OPENED[key]


_KEPT: Final = 8
_OPENED: Final[dict[object, Workspace]] = {}
_LOCK: Final = Lock()


def _text(path: Path | str | None) -> str | None:
    return None if path is None else str(path)
