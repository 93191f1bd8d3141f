"""Every error that this project raises on purpose, in one tree.

::

    MemoryAssetsError                 exit  1
    ├── UsageError                    exit  2   the command or a setting cannot be what was meant
    │   ├── SettingsError                       a setting or tenants.toml is not valid
    │   ├── PreflightFailed                     a check before the night stopped a tenant
    │   ├── UnknownTenantError                  no tenant was named, or nothing is known of it
    │   ├── AccessDenied                        the principal may not read this, or not in this way
    │   ├── ReviewRefused                       verdicts that cannot count; the others are on record
    │   ├── UnknownSessionError                 no such session in the ledgers
    │   ├── UnknownMemoryError                  no such memory in the registry
    │   ├── UnknownGeneration                   not published, not kept, or destroyed
    │   └── ImportRefused                       a registry file has faults, or comes too late
    ├── LedgerError                   exit  3   a ledger is not what it should be
    │   ├── AppendOnlyViolation                 an accepted row was lost or changed
    │   ├── LedgerUnreadable                    a ledger file cannot be opened or read
    │   ├── RowRefused                          a row that the nightly run would refuse
    │   └── TornLedger                          the last line is cut short: nothing is appended
    ├── StoreError                    exit  4   the home folder is not what it should be
    │   ├── CurrentMissing                      generations exist, but CURRENT does not
    │   ├── CorruptStore                        a file differs from its hash, or cannot be read
    │   ├── StoreWriteFailed                    the disk is full, or a folder is read-only
    │   ├── SchemaTooNew                        the home was written by a newer version
    │   ├── SchemaTooOld                        the home must be migrated first
    │   ├── IndexMismatch                       registry and index of one generation disagree
    │   ├── MarkersOwed                         companion files could not be written
    │   └── BackupUnusable                      a backup is incomplete or was changed
    ├── PublisherBusy                 exit  5   another process is publishing
    ├── PublicationConflict           exit  5   CURRENT moved while a publication was being prepared
    ├── ChecksFailed                  exit  6   a blocking check refused the generation
    └── EmbeddingError                exit  7   a text could not be turned into a vector
        ├── ProviderUnavailable                 transient: time-out, 429, 5xx
        ├── ProviderRejected                    final: 401, 400, a wrong answer
        ├── ModelNotFound                       the model is not on this machine
        ├── SpaceMismatch                       a stored space differs from the configured one
        └── BudgetExhausted                     the run's cost cap is reached

A message says what happened, where (file and line, session, id) and what to do next. ``code`` is
stable: scripts, alerts and the runbook refer to it. Exit codes are per branch of the tree.
"""

from __future__ import annotations

from typing import Any, ClassVar


class MemoryAssetsError(Exception):
    """Base of all expected errors: ``what`` happened, ``where``, and the ``remedy``."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        parts = [what]
        if where:
            parts.append(f"Where: {where}.")
        if remedy:
            parts.append(f"What to do: {remedy}")
        super().__init__(" ".join(parts))

    def to_dict(self) -> dict[str, Any]:
        """The error as ``--json`` prints it."""
        return {
            "error": self.code,
            "what": self.what,
            "where": self.where,
            "remedy": self.remedy,
            "exit_code": self.exit_code,
        }


class UsageError(MemoryAssetsError):
    """The command, or a setting, cannot be what was meant."""

    code = "usage"
    exit_code = 2


class SettingsError(UsageError):
    """A setting or ``tenants.toml`` is not valid; every problem is in the message."""

    code = "settings-invalid"


class PreflightFailed(UsageError):
    """A pre-flight check answered with no: the tenant is stopped until it is mended."""

    code = "preflight-failed"


class UnknownTenantError(UsageError):
    """No tenant was named, or nothing is known of the one that was. Denied by default."""

    code = "unknown-tenant"


class AccessDenied(UsageError):
    """The principal's persona may not read this, or not in this way. Denied by default."""

    code = "access-denied"


class ReviewRefused(UsageError):
    """Some verdicts cannot count (changed, not offered, decided); the others are on record."""

    code = "review-refused"


class UnknownSessionError(UsageError):
    """The session is not among the ledgers."""

    code = "unknown-session"


class UnknownMemoryError(UsageError):
    """The memory is not in the registry of this tenant and generation."""

    code = "unknown-memory"


class UnknownGeneration(UsageError):
    """The generation was not published, is not kept any more, or was destroyed by a removal."""

    code = "unknown-generation"


class ImportRefused(UsageError):
    """A registry file has faults, or the tenant has memories of its own; nothing was imported."""

    code = "import-refused"


class LedgerError(MemoryAssetsError):
    """A ledger is not what it should be."""

    code = "ledger"
    exit_code = 3


class AppendOnlyViolation(LedgerError):
    """A ledger lost or changed a row that had been accepted before."""

    code = "append-only-violation"


class LedgerUnreadable(LedgerError):
    """A ledger file cannot be opened or read."""

    code = "ledger-unreadable"


class RowRefused(LedgerError):
    """A row that the nightly run would refuse; nothing was appended."""

    code = "row-refused"


class TornLedger(LedgerError):
    """The ledger's last line is cut short, so nothing may be appended behind it."""

    code = "torn-ledger"


class StoreError(MemoryAssetsError):
    """The home folder is not what it should be."""

    code = "store"
    exit_code = 4


class CurrentMissing(StoreError):
    """Generations exist but the pointer to the newest one does not: never guessed."""

    code = "current-missing"


class CorruptStore(StoreError):
    """A file differs from the hash recorded for it, or cannot be read."""

    code = "corrupt-store"


class StoreWriteFailed(StoreError):
    """Nothing can be written: full disk, read-only folder, missing permission."""

    code = "store-write-failed"


class SchemaTooNew(StoreError):
    """The home was written by a newer version of this package."""

    code = "schema-too-new"


class SchemaTooOld(StoreError):
    """The home was written by an older version, and must be migrated before it is published to."""

    code = "schema-too-old"


class IndexMismatch(StoreError):
    """Registry and index of one generation do not hold the same rows."""

    code = "index-mismatch"


class MarkersOwed(StoreError):
    """Published verdicts could not be written to the companion files of some sessions."""

    code = "markers-owed"


class BackupUnusable(StoreError):
    """A folder is no backup, or a file of it is missing or was changed."""

    code = "backup-unusable"


class PublisherBusy(MemoryAssetsError):
    """Another process holds the publisher's lock; the message names it."""

    code = "publisher-busy"
    exit_code = 5


class PublicationConflict(MemoryAssetsError):
    """CURRENT moved while this publication was being prepared; nothing was published."""

    code = "publication-conflict"
    exit_code = 5


class ChecksFailed(MemoryAssetsError):
    """A blocking check refused the generation; CURRENT still names the one before."""

    code = "checks-failed"
    exit_code = 6

    def __init__(
        self, what: str, *, where: str = "", remedy: str = "", results: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.results = results
        """The outcome of every check, those that passed included."""


class EmbeddingError(MemoryAssetsError):
    """A text could not be turned into a vector."""

    code = "embedding"
    exit_code = 7


class ProviderUnavailable(EmbeddingError):
    """Transient: the provider timed out, limited the rate, or failed on its side."""

    code = "provider-unavailable"

    def __init__(
        self, what: str, *, where: str = "", remedy: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.retry_after = retry_after


class ProviderRejected(EmbeddingError):
    """Final: the provider refused the request, or its answer is not usable."""

    code = "provider-rejected"


class ModelNotFound(EmbeddingError):
    """The model is neither in an installed package nor in the named folder."""

    code = "model-not-found"


class SpaceMismatch(EmbeddingError):
    """A stored embedding space differs from the configured one."""

    code = "space-mismatch"


class BudgetExhausted(EmbeddingError):
    """The cost cap of this run is reached; what is missing stays pending."""

    code = "budget-exhausted"
