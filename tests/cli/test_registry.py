"""``registry list`` and ``show`` on the samples."""

from __future__ import annotations

from tests.cli.conftest import Cli


def test_the_list_is_the_tenants_own(published: Cli) -> None:
    """Ids count from one in each tenant, and each sees its own."""
    clinic = published("registry", "list", "--tenant", "clinica", "--nl").lines()
    bank = published("registry", "list", "--tenant", "banca", "--nl").lines()
    assert clinic[0]["memory_id"] == bank[0]["memory_id"] == "mem-0001"
    assert {m["tenant_id"] for m in clinic} == {"clinica"}
    assert clinic[0]["subject"] != bank[0]["subject"]


def test_no_schema_choice_is_listed(published: Cli) -> None:
    """The accepted fact table, the rejected time dimension and the promoted table are not there."""
    subjects = {
        m["subject"]
        for tenant in ("clinica", "banca")
        for m in published("registry", "list", "--tenant", tenant, "--all", "--nl").lines()
    }
    assert "Cardioversione elettrica" in subjects
    assert not [s for s in subjects if s.startswith(("fact_", "dim_"))]


def test_the_text_counts_what_it_shows(published: Cli) -> None:
    """A limit shows some and says how many there are."""
    total = published("registry", "list", "--tenant", "banca", "--json").json()["total"]
    said = published("registry", "list", "--tenant", "banca", "--limit", "2").out
    assert f"2 of {total} memories of banca, generation 1" in said


def test_a_tier_that_does_not_exist_is_a_usage_error(published: Cli) -> None:
    """The command line names the tiers that there are."""
    done = published("registry", "list", "--tenant", "banca", "--tier", "gold")
    assert done.code == 2
    assert "recall" in done.err


def test_one_memory_is_shown_with_its_restatements(published: Cli) -> None:
    """Columns for people, corroborations below."""
    said = published("registry", "show", "mem-0001", "--tenant", "banca").out
    assert "Assets under management" in said
    assert "Seen again (1)" in said
    assert "2026-01-15-fees" in said
