"""Refused lines: listed with their reason, shown with their bytes, gone once repaired."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.errors import UnknownTenantError, UsageError
from memory_assets.pipeline.inspect.quarantine import refused_lines, show_refused
from tests.building import close, row
from tests.nights import World

BAD = b'{"seq": 2, "caf\xe9": 1}'


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Two tenants with a refused line each."""
    world = World(tmp_path)
    world.session("bank", "s", row(1), BAD, close(3))
    world.session("clinic", "s", row(1), b"[1]", close(3))
    world.night()
    return world


def test_the_list_gives_places_and_reasons(world: World) -> None:
    """All tenants, or one; the bytes themselves are not in it."""
    found = refused_lines(world.workspace)
    assert [(line.place, line.code) for line in found] == [
        ("bank/s.jsonl:2", "not-utf8"),
        ("clinic/s.jsonl:2", "not-an-object"),
    ]
    assert [line.tenant_id for line in refused_lines(world.workspace, tenant_id="clinic")] == [
        "clinic"
    ]
    assert all("raw" not in line.to_dict() for line in found)


def test_a_line_is_shown_byte_for_byte(world: World) -> None:
    """With its offset, so that an editor finds it; bytes that are not UTF-8 as escapes."""
    found = show_refused(world.workspace, "bank/s.jsonl:2", tenant_id="bank")
    assert found.raw == BAD
    ledger = (world.ledgers / "bank" / "s.jsonl").read_bytes()
    assert ledger[found.offset :].startswith(BAD)
    assert found.to_dict()["raw"] == '{"seq": 2, "caf\\xe9": 1}'


def test_bytes_are_shown_to_their_tenant_alone(world: World) -> None:
    """Without a tenant and to another one nothing is shown, whatever place is named."""
    with pytest.raises(UnknownTenantError):
        show_refused(world.workspace, "bank/s.jsonl:2", tenant_id=None)
    with pytest.raises(UsageError):
        show_refused(world.workspace, "bank/s.jsonl:2", tenant_id="clinic")


@pytest.mark.parametrize("place", ["", "bank/s.jsonl", "bank/s.jsonl:x", "bank/s.jsonl:9", ":"])
def test_a_place_that_is_none(world: World, place: str) -> None:
    """The error names the command that lists the places."""
    with pytest.raises(UsageError) as caught:
        show_refused(world.workspace, place, tenant_id="bank")
    assert "quarantine list" in caught.value.remedy


def test_a_repaired_line_leaves_the_list(world: World) -> None:
    """The next night reads that session again, and no other."""
    world.session("bank", "s", row(1), row(2), close(3))
    report = world.night()
    assert report.ingest.read == 1
    assert [line.tenant_id for line in refused_lines(world.workspace)] == ["clinic"]
