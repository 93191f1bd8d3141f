"""The pre-flight check: nine questions before a night, in order; the first no stops the tenant.

One place to extend: a check is one function of :data:`CHECKS` that answers with a message, or
raises a named error whose remedy becomes the deviation's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import polars as pl

from memory_assets.domain.events import REUSABLE_TYPES
from memory_assets.domain.ports import Embedder
from memory_assets.domain.tenants import tenant_table
from memory_assets.domain.text import fold, fold_query
from memory_assets.domain.visibility import PERSONAS, Principal, rule_for
from memory_assets.errors import (
    BudgetExhausted,
    MemoryAssetsError,
    PreflightFailed,
    ProviderUnavailable,
    SchemaTooNew,
    StoreError,
)
from memory_assets.pipeline.health.machine import is_writable
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.deviations import record_deviations, stopped_tenants
from memory_assets.storage.migrations import plan_migration

MINIMUMS: Final = {"lancedb": (0, 40), "pylance": (14,), "polars": (2, 1), "duckdb": (2, 0)}
REGISTERED: Final = frozenset({"ledger_events", "memory_registry", "published_generation"})
"""Assets without which the code location cannot run a night."""
_STAFF: Final = ("ADVISOR", "SUPERVISOR", "ADMIN")
_PEOPLE: Final = ("CLIENT", "PROSPECT", "NEXTGEN_HEIR")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check of one tenant."""

    number: int
    name: str
    passed: bool
    message: str
    remedy: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The outcome as ``--json`` prints it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class PreflightReport:
    """What was asked of each tenant; checks behind a failed one were not."""

    tenants: dict[str, tuple[Outcome, ...]]

    @property
    def ok(self) -> bool:
        """Whether every tenant may go on."""
        return not self.stopped

    @property
    def stopped(self) -> dict[str, Outcome]:
        """Tenants that are stopped, and by which check."""
        return {t: o[-1] for t, o in self.tenants.items() if not o[-1].passed}

    def to_dict(self) -> dict[str, Any]:
        """The report as ``--json`` prints it."""
        return {
            "ok": self.ok,
            "checks": [name for name, _ in CHECKS],
            "tenants": {t: [o.to_dict() for o in found] for t, found in self.tenants.items()},
        }

    def to_metadata(self) -> dict[str, Any]:
        """Counts and names for the run's metadata."""
        stopped = {t: f"{o.number} {o.name}" for t, o in self.stopped.items()}
        return {"tenants": len(self.tenants), "stopped": len(stopped), "stopped_by": stopped}


class Preflight:
    """What the checks look at; answers that hold for every tenant are worked out once."""

    def __init__(self, workspace: Workspace, code_location: Callable[[], Collection[str]]) -> None:
        self.workspace = workspace
        self.code_location = code_location

    @cached_property
    def embedder(self) -> Embedder:
        """The provider in force; the configured one where a broken home, check 4, hides it."""
        try:
            return self.workspace.embedder
        except StoreError:
            embedding = self.workspace.embedding
            return embedding.chain(embedding.specs).first

    @cached_property
    def probe(self) -> int | MemoryAssetsError:
        """Dimension of the vector that the provider gives, or why there is none."""
        try:
            return int(self.embedder.embed(["ping"], kind="query").shape[1])
        except MemoryAssetsError as error:
            return error

    @cached_property
    def assets(self) -> Collection[str]:
        """What the code location registers."""
        return self.code_location()

    @cached_property
    def types(self) -> pl.DataFrame:
        """tenant_id, type of every record in the registry."""
        return self.workspace.registry().memories.select("tenant_id", "type").unique()


def _settings(p: Preflight, tenant: str) -> str:
    settings = p.workspace.settings
    home = settings.origins["home"]
    return f"memory-assets {version('memory-assets')}, home from {home}"


def _libraries(p: Preflight, tenant: str) -> str:
    for name, least in MINIMUMS.items():
        wanted = f"{name} {'.'.join(map(str, least))} or later"
        try:
            found = version(name)
        except PackageNotFoundError:
            raise _no(f"{name} is not installed", f"pip install {name}") from None
        numbers = tuple(int(n) for n in found.split(".")[: len(least)] if n.isdigit())
        if numbers < least:
            raise _no(f"{name} is {found}, needed is {wanted}", f"pip install -U {name}")
    stemmed = set(fold("qualità", "it").split()) & set(fold_query("qualita", "it").split())
    if not stemmed:
        raise _no("the Italian stemmer does not work", "pip install -U snowballstemmer")
    return "libraries and stemmer as needed"


def _provider(p: Preflight, tenant: str) -> str:
    embedder = p.embedder
    name = f"{embedder.provider}:{embedder.model}"
    allowed = p.workspace.settings.tenant(tenant).embedding
    if allowed and name not in allowed:
        raise _no(
            f"{name} may not see the texts of {tenant!r}: it is not in the tenant's list",
            f"use one of {', '.join(allowed)}, or add it to tenants.{tenant}.embedding",
        )
    if isinstance(p.probe, ProviderUnavailable | BudgetExhausted):
        # What passes by itself stops nobody: new rows are pending, and found by their words.
        return f"{name} cannot be asked now, so new texts wait for their vectors: {p.probe.what}"
    if isinstance(p.probe, MemoryAssetsError):
        raise p.probe
    if p.probe != embedder.dimension:
        raise _no(
            f"{name} answers with {p.probe} dimensions instead of {embedder.dimension}",
            "correct the model's dimension, or its name",
        )
    return f"{name} answers with {p.probe} dimensions"


def _home(p: Preflight, tenant: str) -> str:
    root = p.workspace.home.root
    if not is_writable(root):
        raise _no(f"{root} is not writable for this user", f"chmod u+rwx {root}")
    try:
        current, _ = p.workspace.generations.current()
    except SchemaTooNew:
        return "CURRENT is readable"  # what it says is for the next check
    return f"generation {current.number}"


def _schema(p: Preflight, tenant: str) -> str:
    plan = plan_migration(p.workspace.home)
    if plan.steps:
        raise _no(
            f"the home has schema version {plan.found}, needed is {plan.wanted}",
            "memory-assets migrate",
        )
    return f"schema version {plan.found}"


def _tenant(p: Preflight, tenant: str) -> str:
    settings = p.workspace.settings
    if settings.tenants_file is None:
        return "every folder is a tenant: there is no tenants.toml"
    if tenant not in settings.tenants:
        raise _no(
            f"{tenant!r} has no entry", f"add {tenant_table(tenant)} to {settings.tenants_file}"
        )
    return f"entry in {settings.tenants_file}"


def _personas(p: Preflight, tenant: str) -> str:
    for name in _STAFF:
        if name not in PERSONAS or "search" not in PERSONAS[name].paths:
            raise _no(f"{name} cannot search", "give it the path in the access matrix")
    for name in _PEOPLE:
        if name in PERSONAS and PERSONAS[name].paths - {"core_block"}:
            raise _no(
                f"{name} would see more than the own core block",
                "take the other paths away in the access matrix",
            )
    return "staff search; clients, prospects and heirs see their own core block"


def _registration(p: Preflight, tenant: str) -> str:
    settings = p.workspace.settings
    agree = {
        "the tenant's ledgers folder": (settings.ledgers / tenant).is_dir(),
        "the persona's rule": bool(
            rule_for(Principal(tenant, "ADVISOR"), tenant, "search").clauses
        ),
        "the code location": set(p.assets) >= REGISTERED,
    }
    missing = [name for name, there in agree.items() if not there]
    if missing:
        raise _no(
            f"{tenant!r} is not registered in all three places: {', '.join(missing)} is missing",
            "make the folder, or load memory_assets.definitions as the code location",
        )
    return "tenant, persona and code location agree"


def _reusable(p: Preflight, tenant: str) -> str:
    own = p.types.filter(pl.col("tenant_id") == tenant)["type"].to_list()
    alien = sorted(set(own) - REUSABLE_TYPES)
    if alien:
        raise _no(
            f"the registry holds records of {', '.join(alien)}, which are no memories",
            "memory-assets legacy-cleanup --apply --by NAME",
        )
    return "only reusable types"


CHECKS: Final[tuple[tuple[str, Callable[[Preflight, str], str]], ...]] = (
    ("settings", _settings),
    ("libraries", _libraries),
    ("provider", _provider),
    ("home", _home),
    ("schema", _schema),
    ("tenant", _tenant),
    ("persona", _personas),
    ("registration", _registration),
    ("reusable", _reusable),
)


def preflight(
    workspace: Workspace, code_location: Callable[[], Collection[str]], *, now: datetime
) -> PreflightReport:
    """The checks of every tenant that a night would consolidate, or that only has ledgers.

    A tenant that fails is stopped: nothing of it is promoted until a later check passes. It is
    written down as a deviation, with its remedy.

    Raises:
        StoreWriteFailed: the deviations cannot be written.
    """
    asked = Preflight(workspace, code_location)
    found = {t: tuple(_asked(asked, t)) for t in _tenants(workspace)}
    report = PreflightReport(found)
    deviations = {
        t: {"tenant_id": t, "at": now.isoformat(), **o.to_dict()} for t, o in report.stopped.items()
    }
    record_deviations(workspace.home.preflight, deviations, list(found))
    return report


def stopped(workspace: Workspace) -> list[str]:
    """Tenants that the last pre-flight check stopped."""
    return sorted(stopped_tenants(workspace.home.preflight))


def _asked(asked: Preflight, tenant: str) -> list[Outcome]:
    outcomes = []
    for number, (name, check) in enumerate(CHECKS, 1):
        try:
            outcomes.append(Outcome(number, name, True, check(asked, tenant)))
        except MemoryAssetsError as error:
            outcomes.append(Outcome(number, name, False, error.what, error.remedy))
            break
    return outcomes


def _tenants(workspace: Workspace) -> list[str]:
    settings = workspace.settings
    entries = {t for t, s in settings.tenants.items() if s.enabled}
    off = set(settings.tenants) - entries
    ledgers = settings.ledgers
    folders = {f.name for f in ledgers.iterdir() if f.is_dir()} if ledgers.is_dir() else set()
    return sorted((entries | folders) - off)


def _no(what: str, remedy: str) -> PreflightFailed:
    return PreflightFailed(what, remedy=remedy)
