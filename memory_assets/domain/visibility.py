"""Who may see which memory: the one choke point, denying by default.

The rule is data: alternatives of conditions on columns. Searches apply it as a filter of the index,
lists as a filter of a table, and both once more row by row when a hit is resolved. A read path that
is not named here does not exist, and a persona that is not named here sees nothing.

To extend: a persona is one entry of :data:`PERSONAS`, a read path one word of :data:`READ_PATHS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from memory_assets.errors import AccessDenied, UnknownTenantError

READ_PATHS: Final = (
    "search",
    "list",
    "show",
    "history",
    "explain",
    "summary",
    "review",
    "export",
    "evaluate",
    "mcp",
    "core_block",
)
"""Everything that can answer with memories, or with what was made of them."""


@dataclass(frozen=True, slots=True)
class Principal:
    """On whose behalf something is read; fixed by configuration, never by a model.

    An agent acts as its user: same tenant, persona and clients.
    """

    tenant: str
    persona: str
    user: str | None = None
    clients: frozenset[str] = frozenset()
    """The clients that an advisor serves; of a client, prospect or heir: the own id alone."""
    more_tenants: frozenset[str] = frozenset()
    """Further tenants that a supervisor or administrator was given."""

    @classmethod
    def local(cls, tenant: str) -> Principal:
        """Who a local command acts as without a persona: file access is the boundary."""
        return cls(tenant, "ADMIN")


@dataclass(frozen=True, slots=True)
class Condition:
    """The column holds one of the values; None stands for "not written"."""

    column: str
    values: frozenset[str | None]

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether the row meets it; a column that the row lacks counts as not written."""
        return row.get(self.column) in self.values

    def expr(self) -> pl.Expr:
        """The same for a table."""
        texts = sorted(v for v in self.values if v is not None)
        column = pl.col(self.column)
        found = column.is_in(texts).fill_null(False) if texts else pl.lit(False)
        return found | column.is_null() if None in self.values else found


Clause = tuple[Condition, ...]
"""Conditions that must all hold."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What may be seen: rows that meet one of the clauses in full. No clause: nothing."""

    clauses: tuple[Clause, ...] = ()

    def allows(self, row: Mapping[str, Any]) -> bool:
        """Whether this row may be seen."""
        return any(all(c.holds(row) for c in clause) for clause in self.clauses)

    def expr(self) -> pl.Expr:
        """The same as a filter of a table that has the columns of a memory, and ``tier``."""
        if not self.clauses:
            return pl.lit(False)
        return pl.any_horizontal(pl.all_horizontal(c.expr() for c in one) for one in self.clauses)


def _is(column: str, *values: str | None) -> Condition:
    return Condition(column, frozenset(values))


def _everything(_: Principal) -> tuple[Clause, ...]:
    return ((),)


def _own_and_shared(principal: Principal) -> tuple[Clause, ...]:
    """Shared concepts, the own clients' memories, and what the own sessions brought.

    Without a stated audience a row belongs to its client, else to its user, else to the tenant. A
    client's row that is meant for one user alone is not the client's other advisors' to see.
    """
    shared: tuple[Clause, ...] = (
        (_is("audience", "tenant"),),
        (_is("audience", None), _is("client_id", None), _is("user_id", None)),
    )
    clients = principal.clients - {""}
    if clients:
        shared += ((_is("audience", "client", "profile", None), _is("client_id", *clients)),)
    if principal.user:
        shared += ((_is("user_id", principal.user),),)
    return shared


def _own_profile(principal: Principal) -> tuple[Clause, ...]:
    """What a reviewer marked as part of this one person's profile, while it is core."""
    if len(principal.clients) != 1 or "" in principal.clients:
        return ()
    (own,) = principal.clients
    return ((_is("audience", "profile"), _is("tier", "core"), _is("client_id", own)),)


@dataclass(frozen=True, slots=True)
class Persona:
    """One row of the access matrix."""

    name: str
    meaning: str
    paths: frozenset[str]
    clauses: Callable[[Principal], tuple[Clause, ...]]
    crosses_tenants: bool = False
    may_override_tiers: bool = False


_STAFF: Final = frozenset(READ_PATHS) - {"evaluate"}
_PROFILE: Final = frozenset({"core_block"})
PERSONAS: Final[Mapping[str, Persona]] = {
    p.name: p
    for p in (
        Persona(
            "ADVISOR",
            "Own clients' memories, own sessions' memories, the tenant's shared concepts.",
            _STAFF,
            _own_and_shared,
        ),
        Persona(
            "SUPERVISOR",
            "Everything of every tenant that was given; tiers and evaluation.",
            frozenset(READ_PATHS),
            _everything,
            crosses_tenants=True,
            may_override_tiers=True,
        ),
        Persona(
            "ADMIN",
            "Everything of every tenant that was given; tiers and evaluation.",
            frozenset(READ_PATHS),
            _everything,
            crosses_tenants=True,
            may_override_tiers=True,
        ),
        Persona("CLIENT", "The core block of the own profile.", _PROFILE, _own_profile),
        Persona("PROSPECT", "The core block of the own profile.", _PROFILE, _own_profile),
        Persona(
            "NEXTGEN_HEIR",
            "The core block of the own person, never the parent's.",
            _PROFILE,
            _own_profile,
        ),
    )
}


def rule_for(principal: Principal, tenant_id: str | None, path: str) -> Rule:
    """What this principal may see of a tenant on this read path; every clause names the tenant.

    Raises:
        UnknownTenantError: no tenant was named.
        AccessDenied: the persona is unknown, has no such path, or was not given the tenant.
    """
    persona = require(principal, path)
    tenant = tenant_id or ""
    if not tenant:
        raise UnknownTenantError(
            "No tenant is named, so nothing may be read.", remedy="name one with --tenant."
        )
    given = {principal.tenant}
    if persona.crosses_tenants:
        given |= principal.more_tenants
    if tenant not in given:
        raise AccessDenied(
            f"{persona.name} was not given the tenant {tenant!r}.",
            remedy="name a tenant that this principal was given.",
        )
    clauses = persona.clauses(principal)
    extra: Clause = (_is("tier", "core"),) if path == "core_block" else ()
    return Rule(tuple((_is("tenant_id", tenant), *extra, *clause) for clause in clauses))


def require(principal: Principal, path: str) -> Persona:
    """The principal's persona, once it is known and has this read path.

    Raises:
        AccessDenied: it is not, or has not.
    """
    persona = PERSONAS.get(principal.persona)
    if persona is None:
        raise AccessDenied(
            f"{principal.persona!r} is no persona, so nothing may be read.",
            remedy=f"use one of {', '.join(PERSONAS)}.",
        )
    if path not in persona.paths:
        raise AccessDenied(
            f"{persona.name} may not {path.replace('_', ' ')}: {persona.meaning}",
            remedy="ask somebody who serves the client.",
        )
    return persona


def may_see_tenants(principal: Principal) -> frozenset[str]:
    """The tenants that the principal was given."""
    persona = PERSONAS.get(principal.persona)
    if persona is None or not principal.tenant:
        return frozenset()
    more = principal.more_tenants if persona.crosses_tenants else frozenset()
    return frozenset({principal.tenant, *more}) - {""}
