"""Who is a known tenant."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.errors import UnknownTenantError
from memory_assets.pipeline.inspect.tenants import require_tenant
from tests.building import close, note, row
from tests.nights import World


def test_a_tenant_is_known_from_settings_ledgers_or_registry(tmp_path: Path) -> None:
    """Named in tenants.toml, read by a night, or published: each is enough."""
    world = World(tmp_path)
    world.session("read", "s", row(1))
    world.session("published", "s", row(1), note(2, "memory_promoted", "seq:1"), close(3))
    world.night()
    world.tenants("[tenants.named]\n")
    for derived in world.home.joinpath("derived").glob("*.json"):
        if derived.name != "ledger_events.json":
            derived.unlink()
    for tenant in ("named", "read", "published"):
        assert require_tenant(world.workspace, tenant) == tenant
    world.home.joinpath("derived", "ledger_events.json").unlink()
    assert require_tenant(world.workspace, "published") == "published"
    with pytest.raises(UnknownTenantError):
        require_tenant(world.workspace, "read")


@pytest.mark.parametrize("tenant", [None, "", "other", "../clinic"])
def test_everybody_else_is_denied(tmp_path: Path, tenant: str | None) -> None:
    """Nobody, and names that nothing is known of; the message names no tenant that exists."""
    world = World(tmp_path)
    world.tenants("[tenants.clinic]\n")
    with pytest.raises(UnknownTenantError) as caught:
        require_tenant(world.workspace, tenant)
    assert "'clinic'" not in str(caught.value)
    assert caught.value.remedy
