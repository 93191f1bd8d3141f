"""``mcp`` refuses before it serves."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((), "unknown-tenant"), (("--tenant", "clinica", "--persona", "client"), "access-denied")],
)
def test_no_server_is_started_for_nobody(
    published: Cli, arguments: tuple[str, ...], code: str
) -> None:
    """Without a tenant, or for a persona without MCP, the command ends with the error's name."""
    done = published("mcp", *arguments, "--json")
    assert (done.code, done.json()["error"]) == (2, code)
