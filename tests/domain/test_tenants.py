"""The declaration of tenants: what is read, and what is refused, all of it at once."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from memory_assets.domain.tenants import (
    FIELDS,
    Retention,
    TenantSettings,
    read_tenants,
    tenant_table,
)


def read(text: str) -> tuple[dict[str, TenantSettings], list[str]]:
    """The tenants of a document, and its problems."""
    return read_tenants(tomllib.loads(text), "tenants.toml")


def test_every_field_is_declared() -> None:
    """A setting without a check and a meaning would slip past both the file and the page."""
    assert [f.name for f in FIELDS] == list(TenantSettings.__dataclass_fields__)[1:]


def test_defaults_hold_for_what_is_left_out() -> None:
    """An empty table is a tenant with the cautious policy."""
    found, problems = read("[tenants.ws]")
    assert problems == []
    assert found == {"ws": TenantSettings("ws")}
    assert found["ws"].review == "manual"
    assert not found["ws"].is_automatic


def test_every_problem_is_named_at_once() -> None:
    """One reading tells everything that must be mended, with the place of each."""
    _, problems = read(
        """
        colour = "red"
        [tenants.ws]
        enabled = "yes"
        review = "sometimes"
        language = "fr"
        schema_table_patterns = "fact_*"
        refuse_column_names = 1
        duplicate_thresholds = { "voyage-3" = 0.9 }
        retention = { recall_days = 0 }
        privacy_default = "everybody"
        embedding = ["cohere:x"]
        extractor = "magic"
        client_names = [""]
        memoryLayer = true
        [tenants.az]
        duplicate_thresholds = { "voyage:voyage-3-large" = 1.2 }
        embedding = ["voyage:a", "voyage:a"]
        [tenants."a/b"]
        """
    )
    text = "\n".join(problems)
    assert len(problems) == len(FIELDS) + 5
    for field in FIELDS:
        assert f"tenants.ws.{field.name} = " in text
    assert "tenants.ws.memoryLayer is not a tenant setting" in text
    assert "'colour' is not known here" in text
    assert "tenants.a/b is not the name of a folder" in text
    assert "tenants.az.duplicate_thresholds" in text
    assert "tenants.az.embedding" in text


@pytest.mark.parametrize("text", ["tenants = 3", "[tenants]\nws = 1", "[[tenants]]\nx = 1"])
def test_what_is_no_table_is_refused(text: str) -> None:
    """A tenant is a table, and so is the list of them."""
    assert read(text)[1]


def test_the_example_has_both_tenants() -> None:
    """The example that comes with the package loads without a problem."""
    text = files("memory_assets.samples").joinpath("tenants-example.toml").read_text("utf-8")
    found, problems = read(text)
    assert problems == []
    assert sorted(found) == ["az", "ws"]
    for tenant in found.values():
        assert tenant.enabled
        assert tenant.is_automatic
        assert tenant.language == "it"
        assert tenant.retention == Retention(14, 90)
        assert tenant.duplicate_thresholds == {"voyage:voyage-3-large": 0.92}
        assert tenant.embedding[0] == "voyage:voyage-3-large"
    assert found["az"].client_names == ("Mario Rossi", "Bianchi Holding")


@pytest.mark.parametrize("tenant", ["clinica", "a-b_1", "ünï co", 'says "x"', "a.b", "#1"])
def test_the_heading_of_a_tenant_is_what_toml_reads(tenant: str) -> None:
    """Whatever the folder is called, the line that an error proposes can be pasted."""
    assert list(tomllib.loads(tenant_table(tenant))["tenants"]) == [tenant]
    assert tenant_table("clinica") == "[tenants.clinica]"
