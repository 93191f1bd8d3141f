"""Who may see what: the matrix, denying by default, the same for one row and for a table."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.visibility import (
    PERSONAS,
    READ_PATHS,
    Principal,
    Rule,
    require,
    rule_for,
)
from memory_assets.errors import AccessDenied, UnknownTenantError

STAFF_ONLY = [p for p in READ_PATHS if p != "core_block"]
ADVISOR = Principal("t", "ADVISOR", "anna", frozenset({"c1"}))
COLUMNS = ("tenant_id", "user_id", "client_id", "audience", "tier")

names = st.sampled_from(["a", "b", "", "anna", "c1", "c2"])
rows = st.fixed_dictionaries(
    {
        "tenant_id": st.sampled_from(["t", "u"]),
        "user_id": st.none() | names,
        "client_id": st.none() | names,
        "audience": st.none() | st.sampled_from(["tenant", "client", "user", "profile", "other"]),
        "tier": st.sampled_from(["core", "recall", "archival"]),
    }
)
principals = st.builds(
    Principal,
    st.sampled_from(["t", "u", ""]),
    st.sampled_from([*PERSONAS, "NOBODY", "admin", ""]),
    st.none() | names,
    st.frozensets(names, max_size=3),
    st.frozensets(st.sampled_from(["t", "u"]), max_size=2),
)


def row(**fields: Any) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS) | {"tenant_id": "t", "tier": "recall"} | fields


def sees(principal: Principal, path: str = "search", **fields: Any) -> bool:
    return rule_for(principal, "t", path).allows(row(**fields))


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({}, True),
        ({"audience": "tenant", "user_id": "else", "client_id": "c9"}, True),
        ({"client_id": "c1"}, True),
        ({"client_id": "c1", "audience": "client", "user_id": "else"}, True),
        ({"client_id": "c1", "audience": "profile"}, True),
        ({"user_id": "anna", "client_id": "c9", "audience": "user"}, True),
        ({"client_id": "c1", "audience": "user", "user_id": "else"}, False),
        ({"client_id": "c9"}, False),
        ({"client_id": "c9", "audience": "client"}, False),
        ({"user_id": "else"}, False),
        ({"user_id": "else", "audience": "user"}, False),
        ({"audience": "profile"}, False),
        ({"audience": "client"}, False),
        ({"audience": "everybody"}, False),
        ({"tenant_id": "u"}, False),
        ({"tenant_id": "u", "user_id": "anna"}, False),
    ],
)
def test_an_advisor_sees_own_clients_own_sessions_and_shared_concepts(
    fields: dict[str, Any], seen: bool
) -> None:
    """Nothing of other clients, of colleagues' own sessions, or of an unknown audience."""
    assert sees(ADVISOR, **fields) is seen


@pytest.mark.parametrize("name", ["SUPERVISOR", "ADMIN"])
def test_supervisors_see_all_of_the_tenants_they_were_given(name: str) -> None:
    """Every row of those tenants, and no other tenant for being a supervisor."""
    who = Principal("t", name, more_tenants=frozenset({"u"}))
    private = row(client_id="c9", audience="user", user_id="else")
    assert rule_for(who, "t", "search").allows(private)
    assert rule_for(who, "u", "list").allows(private | {"tenant_id": "u"})
    with pytest.raises(AccessDenied):
        rule_for(who, "v", "search")


@pytest.mark.parametrize("name", ["CLIENT", "PROSPECT", "NEXTGEN_HEIR"])
@pytest.mark.parametrize("path", STAFF_ONLY)
def test_clients_have_no_read_path_but_their_core_block(name: str, path: str) -> None:
    """No search, list, summary, review, export or MCP for a client, a prospect or an heir."""
    with pytest.raises(AccessDenied):
        rule_for(Principal("t", name, clients=frozenset({"c1"})), "t", path)


@pytest.mark.parametrize("name", ["CLIENT", "PROSPECT", "NEXTGEN_HEIR"])
def test_a_core_block_holds_the_own_profile_alone(name: str) -> None:
    """Core rows that a reviewer marked as this person's profile: not the parent's, not notes."""
    who = Principal("t", name, "c1", frozenset({"c1"}))
    profile = {"client_id": "c1", "audience": "profile", "tier": "core"}
    assert sees(who, "core_block", **profile)
    assert not sees(who, "core_block", **profile | {"client_id": "parent"})
    assert not sees(who, "core_block", **profile | {"tier": "recall"})
    assert not sees(who, "core_block", **profile | {"audience": "client"})
    assert not sees(who, "core_block", tier="core", audience="tenant")


def test_a_client_of_two_names_is_nobody() -> None:
    """Which of them is the own person cannot be told, so nothing is shown."""
    who = Principal("t", "CLIENT", clients=frozenset({"c1", "c2"}))
    assert rule_for(who, "t", "core_block") == Rule()


def test_a_core_block_never_widens_what_staff_may_see() -> None:
    """Being core does not make another client's row visible to an advisor."""
    assert sees(ADVISOR, "core_block", client_id="c1", tier="core")
    assert not sees(ADVISOR, "core_block", client_id="c9", tier="core")
    assert not sees(ADVISOR, "core_block", client_id="c1", tier="recall")


@pytest.mark.parametrize("tenant", [None, ""])
def test_no_tenant_is_denied_by_name(tenant: str | None) -> None:
    """Without a tenant nothing may be read, not even by an administrator."""
    with pytest.raises(UnknownTenantError):
        rule_for(Principal.local("t"), tenant, "search")


@pytest.mark.parametrize("name", ["", "admin", "ROOT"])
def test_an_unknown_persona_is_denied(name: str) -> None:
    """A persona that is not declared has no read path at all."""
    for path in READ_PATHS:
        with pytest.raises(AccessDenied):
            require(Principal("t", name), path)


def test_an_unknown_read_path_is_denied() -> None:
    """A way to read that nobody declared is open to nobody."""
    with pytest.raises(AccessDenied):
        require(Principal.local("t"), "dump")


def test_only_supervisors_see_evaluation() -> None:
    """Evaluation is for those who may see every row that it measures."""
    allowed = {p.name for p in PERSONAS.values() if "evaluate" in p.paths}
    assert allowed == {"SUPERVISOR", "ADMIN"}
    assert {p.name for p in PERSONAS.values() if p.may_override_tiers} == allowed


def test_an_empty_rule_allows_nothing() -> None:
    """No clause means no row, for one row and for a table."""
    frame = pl.DataFrame([row()], schema=dict.fromkeys(COLUMNS, pl.String))
    assert not Rule().allows(row())
    assert frame.filter(Rule().expr()).is_empty()


@given(principals, st.lists(rows, max_size=20), st.sampled_from(READ_PATHS))
def test_a_rule_judges_a_table_as_it_judges_each_row(
    principal: Principal, found: list[dict[str, Any]], path: str
) -> None:
    """The filter of a table keeps exactly the rows that are allowed one by one."""
    frame = pl.DataFrame(found, schema=dict.fromkeys(COLUMNS, pl.String))
    try:
        rule = rule_for(principal, "t", path)
    except (AccessDenied, UnknownTenantError):
        return
    assert frame.filter(rule.expr()).to_dicts() == [r for r in found if rule.allows(r)]


@given(principals, rows, st.sampled_from(READ_PATHS))
def test_no_principal_sees_a_row_of_a_tenant_that_it_was_not_given(
    principal: Principal, found: dict[str, Any], path: str
) -> None:
    """Whatever else a rule says, it names the tenant, and the tenant was given."""
    for tenant in ("t", "u"):
        try:
            rule = rule_for(principal, tenant, path)
        except (AccessDenied, UnknownTenantError):
            continue
        crosses = PERSONAS[principal.persona].crosses_tenants
        assert tenant == principal.tenant or (crosses and tenant in principal.more_tenants)
        assert not rule.allows(found) or found["tenant_id"] == tenant
