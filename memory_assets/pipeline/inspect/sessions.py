"""Sessions as their files say now: ledger and companion read together, nothing derived.

Preview, decisions and search exclusions read this view, never the registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memory_assets.domain.candidates import Preview, SchemaNames, preview, session_schema_names
from memory_assets.domain.effective import EffectiveSession, effective_decisions
from memory_assets.domain.parsing import ParsedLedger
from memory_assets.errors import LedgerUnreadable, UnknownSessionError, UnknownTenantError
from memory_assets.pipeline.inspect.session_view import session_line
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers.decide import TenantRules
from memory_assets.storage.ledgers import SessionFiles, read_ledger, scan_ledgers


@dataclass(frozen=True)
class SessionReading:
    """One session, read from its files."""

    files: SessionFiles
    ledger: ParsedLedger
    companion: ParsedLedger
    rules: TenantRules

    @cached_property
    def session(self) -> EffectiveSession:
        """The outcome of the replay."""
        return effective_decisions([*self.ledger.events, *self.companion.events])

    @cached_property
    def finished(self) -> bool:
        """Whether the session is over: closed, and nobody is writing a row."""
        return self.session.finished and self.ledger.torn_tail is None

    @cached_property
    def names(self) -> SchemaNames:
        """The bare schema names that this session's preview refuses."""
        return session_schema_names(
            self.session, patterns=self.rules.patterns, with_columns=self.rules.with_columns
        )

    @cached_property
    def preview(self) -> Preview:
        """What the session offers to a reviewer."""
        return preview(self.session, self.names)

    @property
    def refused_lines(self) -> int:
        """Lines in quarantine: one of them may hide a withdrawal."""
        parsed = len(self.ledger.quarantined) + len(self.companion.quarantined)
        return parsed + len(self.session.dangling)

    def line(self) -> dict[str, Any]:
        """The session as ``decisions --nl`` prints it."""
        found = session_line(self.session, self.names, *self.files.key)
        return {**found, "closed": self.finished}


def find_sessions(
    workspace: Workspace, *, tenant_id: str | None = None, session_id: str | None = None
) -> list[SessionFiles]:
    """The files of the sessions that are meant, by tenant and session; nothing is opened.

    Raises:
        UnknownTenantError: the tenant has no ledgers.
        UnknownSessionError: no such session.
    """
    found = scan_ledgers(workspace.settings.ledgers, [])
    if tenant_id is not None:
        found = [f for f in found if f.tenant_id == tenant_id]
        if not found:
            raise UnknownTenantError(
                f"There are no ledgers of a tenant {tenant_id!r}.",
                where=str(workspace.settings.ledgers),
                remedy="check the spelling: a tenant is a folder below the ledgers folder.",
            )
    if session_id is None:
        return found
    named = [f for f in found if f.session_id == session_id]
    if not named:
        raise UnknownSessionError(
            f"There is no session {session_id!r}.",
            where=str(workspace.settings.ledgers),
            remedy="a session is named like its file, without .jsonl; `memory-assets decisions` "
            "lists them.",
        )
    return named


def find_session(workspace: Workspace, session_id: str, *, tenant_id: str | None) -> SessionFiles:
    """The files of exactly one session; without a tenant its name must be the only one.

    Raises:
        UnknownTenantError, UnknownSessionError: see ``find_sessions``; or several tenants have a
            session of this name, and which one is meant is not guessed.
    """
    found = find_sessions(workspace, tenant_id=tenant_id, session_id=session_id)
    if len(found) > 1:
        raise UnknownTenantError(
            f"{len(found)} tenants have a session {session_id!r}.",
            where=str(workspace.settings.ledgers),
            remedy="say which one is meant with --tenant TENANT.",
        )
    return found[0]


def read_session(workspace: Workspace, files: SessionFiles) -> SessionReading:
    """One session, read from its two files.

    Raises:
        LedgerUnreadable: one of them cannot be read.
    """
    names = {"tenant_id": files.tenant_id, "session_id": files.session_id}
    return SessionReading(
        files,
        read_ledger(files.ledger, **names, origin="ledger"),
        read_ledger(files.companion, **names, origin="companion"),
        workspace.tenant_rules(files.tenant_id),
    )


def decision_lines(
    workspace: Workspace,
    *,
    tenant_id: str | None = None,
    session_id: str | None = None,
    unreadable: list[LedgerUnreadable] | None = None,
) -> Iterator[dict[str, Any]]:
    """One object per session: what holds, what was decided on it, what waits. No content.

    A session that cannot be read is added to ``unreadable``, and the others go on.

    Raises:
        UnknownTenantError, UnknownSessionError: see ``find_sessions``.
        LedgerUnreadable: a session cannot be read, and there is no list to put that in.
    """
    for files in find_sessions(workspace, tenant_id=tenant_id, session_id=session_id):
        try:
            line = read_session(workspace, files).line()
        except LedgerUnreadable as error:
            if unreadable is None:
                raise
            unreadable.append(error)
        else:
            yield line
