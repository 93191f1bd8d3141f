"""Before the server listens: a public address needs a way to tell reviewers from strangers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import AccessDenied, UsageError
from memory_assets.web.reviewers import new_token
from memory_assets.web.serve import REVIEWERS_FILE, Served, is_loopback, prepare
from tests.nights import World


def _prepare(world: World, **changes: Any) -> Served:
    fields: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": 8765,
        "tenants": ["clinic"],
        "reviewer": "anna",
    }
    return prepare(world.workspace, **fields | changes)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "review.example"])
def test_a_public_address_needs_reviewers(tmp_path: Path, host: str) -> None:
    """Refused without them, served with them; then no token of this run opens anything."""
    world = World(tmp_path)
    with pytest.raises(UsageError, match="stranger"):
        _prepare(world, host=host)
    new_token(world.home / REVIEWERS_FILE, "anna", tenants=["clinic"])
    served = _prepare(world, host=host)
    assert served.access.local is None
    assert "token" not in served.url


def test_loopback_makes_a_token_for_this_run(tmp_path: Path) -> None:
    """Other users of the machine reach the port, so even here nobody enters without one."""
    first, second = _prepare(World(tmp_path)), _prepare(World(tmp_path))
    assert first.url.startswith("http://127.0.0.1:8765/sign-in?token=")
    assert first.url != second.url
    assert first.access.local is not None
    assert first.access.local.tenants == ["clinic"]


def test_a_proxy_needs_people_on_file(tmp_path: Path) -> None:
    """The header says who somebody is; what they may review must be written down."""
    world = World(tmp_path)
    with pytest.raises(UsageError, match="what they may review"):
        _prepare(world, proxy_header="X-User")
    new_token(world.home / REVIEWERS_FILE, "anna", tenants=["clinic"])
    with pytest.raises(UsageError, match="not an address"):
        _prepare(world, proxy_header="X-User", trusted_proxies=["proxy"])
    served = _prepare(world, host="0.0.0.0", proxy_header="X-User", trusted_proxies=["10.0.0.7"])
    assert served.access.trusted_proxies == ("10.0.0.7",)


def test_an_agent_does_not_serve_its_own_review(tmp_path: Path) -> None:
    """Whoever reviews locally must be a person; and there must be something to review."""
    with pytest.raises(AccessDenied):
        _prepare(World(tmp_path), reviewer="agent:x")
    with pytest.raises(UsageError, match="No tenant"):
        _prepare(World(tmp_path), tenants=[])


def test_what_counts_as_loopback() -> None:
    """The whole of 127/8, and the IPv6 one; names other than localhost are public."""
    assert [is_loopback(h) for h in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert not any(is_loopback(h) for h in ("0.0.0.0", "::", "10.0.0.1", "myhost"))
