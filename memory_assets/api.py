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
from memory_assets.pipeline.workspace import Workspace
from memory_assets.settings import load_settings
from memory_assets.steps.search.feedback import give_feedback
from memory_assets.steps.search.reuse import UseResult, apply_memory, propose_use
from memory_assets.steps.search.types import DEFAULT_K, SearchRequest, SearchResult
from memory_assets.storage.feedback_log import FeedbackKind


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
        UnknownGeneration: no such generation is kept, or the time has no zone.
        UsageError: the query is blank or very long, ``tier`` is none, or ``k`` is out of range.
    """
    request = SearchRequest(
        query,
        _principal(tenant, persona, user, clients),
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


def propose(
    memory_id: str,
    *,
    tenant: str,
    session: str,
    proposed_by: str,
    persona: str = "ADMIN",
    user: str | None = None,
    clients: Iterable[str] = (),
    home: Path | str | None = None,
    ledgers: Path | str | None = None,
    now: datetime | None = None,
) -> UseResult:
    """What came of an agent's proposal: a row beside the session's ledger that decides nothing.

    Raises:
        UnknownMemoryError, UnknownSessionError, UnknownTenantError, AccessDenied: there is nothing
            to propose, or not for this persona.
    """
    return propose_use(
        open_workspace(home, ledgers).searcher,
        _principal(tenant, persona, user, clients),
        memory_id,
        tenant_id=tenant,
        session_id=session,
        proposed_by=proposed_by,
        now=now or datetime.now(UTC),
    )


def apply(
    memory_id: str,
    *,
    tenant: str,
    session: str,
    reviewer: str,
    reason: str = "",
    persona: str = "ADMIN",
    user: str | None = None,
    clients: Iterable[str] = (),
    home: Path | str | None = None,
    ledgers: Path | str | None = None,
    now: datetime | None = None,
) -> UseResult:
    """What came of a reviewer's choice: a clarification that cites the memory, and one use of it.

    Raises:
        AccessDenied: the persona does not review, or the reviewer is an agent.
        UnknownMemoryError, UnknownSessionError, UnknownTenantError: there is nothing to apply.
    """
    workspace = open_workspace(home, ledgers)
    return apply_memory(
        workspace.searcher,
        _principal(tenant, persona, user, clients),
        memory_id,
        tenant_id=tenant,
        session_id=session,
        reviewer=reviewer,
        reason=reason,
        now=now or datetime.now(UTC),
        access_log=workspace.home.access_log,
    )


def feedback(
    memory_id: str,
    kind: FeedbackKind,
    why: str,
    *,
    tenant: str,
    given_by: str,
    persona: str = "ADMIN",
    user: str | None = None,
    clients: Iterable[str] = (),
    home: Path | str | None = None,
    now: datetime | None = None,
) -> str:
    """The id of the item that now waits for a reviewer; the memory and its score stay as they are.

    ``kind`` is ``wrong``, ``outdated`` or ``useful``.

    Raises:
        UnknownMemoryError, UnknownTenantError, AccessDenied: nothing the persona could judge.
        UsageError: the kind is unknown, or no reason or name was given.
    """
    return give_feedback(
        open_workspace(home).searcher,
        _principal(tenant, persona, user, clients),
        memory_id,
        tenant_id=tenant,
        kind=kind,
        why=why,
        given_by=given_by,
        now=now or datetime.now(UTC),
    ).feedback_id


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


def _principal(tenant: str, persona: str, user: str | None, clients: Iterable[str]) -> Principal:
    """Who asks; one client may be named without a list around it."""
    own = {clients} if isinstance(clients, str) else clients
    return Principal(tenant, persona, user, frozenset(own))


def _text(path: Path | str | None) -> str | None:
    return None if path is None else str(path)
