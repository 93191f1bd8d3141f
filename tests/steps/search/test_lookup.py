"""One memory for one principal: what it says, and why it stands as it does."""

from __future__ import annotations

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, UnknownMemoryError, UnknownTenantError
from memory_assets.steps.search.lookup import explain_memory, get_memory
from tests.searching import NOW, TENANT, Published, memory

ADMIN = Principal.local(TENANT)
OWNED = (None, None, None, None, "{}")
"""User, client, audience, source, metadata."""
CONTENT: tuple[object, ...] = (
    "concept_clarified",
    "Ablation",
    "in another's words",
    "",
    "",
    [],
    [],
    "h",
)


@pytest.fixture(scope="module", name="home")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Published:
    home = Published(tmp_path_factory.mktemp("lookup"))
    again = (
        TENANT,
        "mem-0001",
        "s7",
        3,
        0,
        "equal",
        NOW,
        1,
        *CONTENT,
        None,
        None,
        None,
        "e",
        "a",
        *OWNED,
    )
    home.publish(
        [
            memory("Ablation", session_id="s1", decision_seq=4),
            memory("Ablation", "the same, newer"),
            memory("fact_ablation", "include this table"),
            memory("Ablation", tenant_id="bank"),
        ],
        corroborations=[again],
        supersessions=[(TENANT, "mem-0001", "mem-0002", 1, False, "anna", "{}")],
        tier_assignments=[(TENANT, "mem-0002", "core", 1, "pinned by anna", "{}")],
    )
    return home


def test_a_replaced_memory_is_shown_with_the_one_that_answers_for_it(home: Published) -> None:
    """Whoever holds an old id learns where it went."""
    found = get_memory(home.searcher, ADMIN, "mem-0001")
    assert (found["status"], found["superseded_by"]) == ("superseded", "mem-0002")
    assert found["subject"] == "Ablation"
    assert found["decided_at"].endswith("+00:00")


def test_an_explanation_counts_and_never_quotes_what_others_said(home: Published) -> None:
    """Source, support, use, tier with its reason, and what was replaced; no words of others."""
    found = explain_memory(home.searcher, ADMIN, "mem-0002")
    assert found["supersedes"] == ["mem-0001"]
    assert found["tier_changes"] == [{"tier": "core", "reason": "pinned by anna"}]
    assert found["uses"] == 1
    assert found["last_use"] == NOW.isoformat()
    old = explain_memory(home.searcher, ADMIN, "mem-0001")
    assert old["source"]["ref"] == "seq:4"
    assert old["seen_again"] == {"equal": 1}
    assert "another" not in str(old)


@pytest.mark.parametrize("memory_id", ["mem-0009", "mem-0003", "", "mem-1"])
def test_what_is_no_memory_is_unknown(home: Published, memory_id: str) -> None:
    """An id that does not exist, and a table that poses as a memory, alike."""
    with pytest.raises(UnknownMemoryError):
        get_memory(home.searcher, ADMIN, memory_id)


def test_a_tenants_memory_is_no_other_tenants(home: Published) -> None:
    """Equal ids are told apart by tenant, and only what was given can be named."""
    assert get_memory(home.searcher, Principal.local("bank"), "mem-0001")["tenant_id"] == "bank"
    with pytest.raises(UnknownMemoryError):
        get_memory(home.searcher, Principal.local("bank"), "mem-0002")
    with pytest.raises(AccessDenied):
        get_memory(home.searcher, Principal.local("bank"), "mem-0001", tenant_id=TENANT)
    with pytest.raises(UnknownTenantError):
        explain_memory(home.searcher, Principal.local("nowhere"), "mem-0001")
