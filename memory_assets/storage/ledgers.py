"""Finding and reading session ledgers: ``<ledgers>/<tenant>/<session>.jsonl`` and companions."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from memory_assets.domain.parsing import Origin, ParsedLedger, parse_ledger
from memory_assets.errors import LedgerUnreadable, UsageError
from memory_assets.storage.files import stat_signature

LEDGER_SUFFIX: Final = ".jsonl"
COMPANION_SUFFIX: Final = ".markers.jsonl"


class SessionFiles(NamedTuple):
    """The files of one session, and signatures that change whenever they may have changed.

    A scan makes one per session and night, so it holds plain strings; paths are made on demand.
    """

    tenant_id: str
    session_id: str
    folder: str
    ledger_stat: str
    companion_stat: str
    """Empty when there is no companion file."""

    @property
    def key(self) -> tuple[str, str]:
        """(tenant_id, session_id)."""
        return self[:2]

    @property
    def ledger(self) -> Path:
        """The agent's file."""
        return Path(self.folder, self.session_id + LEDGER_SUFFIX)

    @property
    def companion(self) -> Path:
        """Our own file beside it."""
        return Path(self.folder, self.session_id + COMPANION_SUFFIX)


def companion_path(ledgers: Path, tenant_id: str, session_id: str) -> Path:
    """Where our own rows about a session go; the ledger itself belongs to its agent."""
    return ledgers / tenant_id / f"{session_id}{COMPANION_SUFFIX}"


def ledger_path(ledgers: Path, tenant_id: str, session_id: str) -> Path:
    """Where a session's ledger lies."""
    return ledgers / tenant_id / f"{session_id}{LEDGER_SUFFIX}"


@dataclass(frozen=True, slots=True)
class ScanProblem:
    """Something below the ledgers folder that cannot be taken in, and why."""

    tenant_id: str
    """The tenant's folder, written so that it can be printed."""
    name: str
    """The file, likewise; ``*`` for the whole folder."""
    message: str


def scan_ledgers(ledgers: Path, problems: list[ScanProblem] | None = None) -> list[SessionFiles]:
    """All sessions below the folder, sorted by tenant and session; nothing is opened.

    A tenant's folder that cannot be listed, and names that are not UTF-8, go to ``problems`` and
    stop nothing; without such a list the first one is raised.

    Raises:
        UsageError: the folder does not exist.
        LedgerUnreadable: it cannot be listed.
    """
    if not ledgers.is_dir():
        raise UsageError(
            "The ledgers folder does not exist.",
            where=str(ledgers),
            remedy="name the folder that holds <tenant>/<session>.jsonl with --ledgers or "
            "MEMORY_ASSETS_LEDGERS.",
        )
    found: list[SessionFiles] = []
    noted: list[ScanProblem] = []
    for entry in _listing(ledgers):
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        if not _is_text(entry.name):
            noted.append(ScanProblem(_printable(entry.name), "*", _NOT_TEXT))
            continue
        try:
            found.extend(_sessions(entry, noted))
        except LedgerUnreadable as error:
            noted.append(ScanProblem(entry.name, "*", str(error)))
    if noted and problems is None:
        first = noted[0]
        raise LedgerUnreadable(first.message, where=f"{ledgers}/{first.tenant_id}/{first.name}")
    if problems is not None:
        problems.extend(noted)
    found.sort()
    return found


_NOT_TEXT: Final = "the name is not UTF-8: rename it, and it is read in the next night."


def _sessions(tenant: os.DirEntry[str], noted: list[ScanProblem]) -> Iterator[SessionFiles]:
    stats: dict[str, str] = {}
    for entry in _listing(tenant.path):
        name = entry.name
        if name.endswith(LEDGER_SUFFIX) and not name.startswith("."):
            if not _is_text(name):
                noted.append(ScanProblem(tenant.name, _printable(name), _NOT_TEXT))
                continue
            try:
                stats[name] = stat_signature(entry.stat())
            except OSError:
                stats[name] = "unreadable"
    for name, signature in stats.items():
        if not name.endswith(COMPANION_SUFFIX):
            session_id = name[: -len(LEDGER_SUFFIX)]
            companion = stats.get(session_id + COMPANION_SUFFIX, "")
            yield SessionFiles(tenant.name, session_id, tenant.path, signature, companion)


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


def _listing(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise LedgerUnreadable(
            f"A folder cannot be listed: {error.strerror}.",
            where=str(folder),
            remedy="give this user read and search permission on it.",
        ) from error


def read_ledger(path: Path, *, tenant_id: str, session_id: str, origin: Origin) -> ParsedLedger:
    """One file, parsed; a missing companion file reads as empty.

    Raises:
        LedgerUnreadable: the file cannot be opened or read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would make the night wait for ever
            raise _unreadable(path, "it is not a regular file")
        data = path.read_bytes()
    except FileNotFoundError:
        if origin == "ledger":
            raise _unreadable(path, "it is gone") from None
        data = b""
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    return parse_ledger(data, tenant_id=tenant_id, session_id=session_id, origin=origin)


def _unreadable(path: Path, why: str) -> LedgerUnreadable:
    return LedgerUnreadable(
        f"A ledger cannot be read: {why}.",
        where=str(path),
        remedy="restore the file or give this user permission to read it; the rest of the run "
        "goes on without this session.",
    )
