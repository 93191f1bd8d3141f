"""The access rule as a filter of the index keeps what the rule itself allows."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.visibility import (
    PERSONAS,
    READ_PATHS,
    Principal,
    Rule,
    rule_for,
)
from memory_assets.errors import AccessDenied
from memory_assets.steps.search.filters import visible
from memory_assets.storage.index_pinned import PinnedIndex
from tests.searching import Published, memory

TENANTS = ("t", "it's")
CLIENTS = (None, "c1", "c'2")
USERS = (None, "anna", "berta")
AUDIENCES = (None, "tenant", "client", "user", "profile")


@pytest.fixture(scope="module", name="index")
def _index(tmp_path_factory: pytest.TempPathFactory) -> PinnedIndex:
    """Every combination of tenant, client, user and audience; some rows are core."""
    home = Published(tmp_path_factory.mktemp("filters"))
    every = list(product(TENANTS, CLIENTS, USERS, AUDIENCES))
    rows = [
        memory(f"row {n}", tenant_id=t, client_id=c, user_id=u, audience=a)
        for n, (t, c, u, a) in enumerate(every)
    ]
    numbers = dict.fromkeys(TENANTS, 0)
    tiers = []
    for tenant, *_ in every:
        numbers[tenant] += 1
        if numbers[tenant] % 2:
            tiers.append((tenant, f"mem-{numbers[tenant]:04d}", "core", 1, "pinned", "{}"))
    home.publish(rows, tier_assignments=tiers)
    served = home.searcher.served()
    serving = served.generation.serving
    assert serving is not None
    return served.index(serving)


principals = st.builds(
    Principal,
    st.sampled_from(TENANTS),
    st.sampled_from(sorted(PERSONAS)),
    st.sampled_from(USERS),
    st.frozensets(st.sampled_from(["c1", "c'2", "' OR true --"]), max_size=2),
    st.frozensets(st.sampled_from(TENANTS)),
)
COLUMNS = ("row_key", "tenant_id", "client_id", "user_id", "audience", "tier")


@given(principals, st.sampled_from(TENANTS), st.sampled_from(READ_PATHS))
def test_the_index_is_narrowed_to_what_the_rule_allows(
    index: PinnedIndex, principal: Principal, tenant: str, path: str
) -> None:
    """The same rows as row by row: nulls, quotes and attempts at injection included."""
    try:
        rule = rule_for(principal, tenant, path)
    except AccessDenied:
        return
    everything: list[dict[str, Any]] = index.rows(COLUMNS).to_dicts()
    found = index.rows(COLUMNS, visible(rule)).to_dicts()
    assert found == [row for row in everything if rule.allows(row)]


def test_a_rule_without_clauses_narrows_to_nothing(index: PinnedIndex) -> None:
    """Nothing allowed, nothing searched."""
    assert index.rows(COLUMNS, visible(Rule())).is_empty()
