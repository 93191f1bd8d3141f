"""The preview of one session, and the boundary that it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain import candidates, effective, events
from memory_assets.domain.candidates import SchemaNames
from memory_assets.pipeline.inspect.preview import SessionPreview, preview_session
from tests.building import close, note, row
from tests.nights import World


def _preview(world: World, *rows: Any, **more: Any) -> SessionPreview:
    world.session("clinic", "s", *rows, **more)
    return preview_session(world.workspace, "s", tenant_id="clinic")


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    return World(tmp_path)


CHOICES = (
    row(1, subject="Elective", detail="planned more than a day ahead"),
    row(2, subject="fact_cardioversione", detail="one row per cardioversion"),
    row(3, subject="dim_time", detail="the calendar"),
    row(4, "table_promoted", subject="include this table", detail="visits"),
    row(5, "column_promoted", subject="ward", detail="visits.ward"),
    note(6, "memory_promoted", "seq:4"),
    close(7),
)


def test_it_offers_clarifications_without_a_verdict(world: World) -> None:
    """What waits is offered in full, equal content once; the rest is refused with its reason."""
    said = {"subject": "Elective", "detail": "planned"}
    found = _preview(
        world,
        row(1, **said),
        row(2, subject="elective", detail="Planned."),
        row(3, rationale="reuses mem-0004"),
        row(4),
        row(5),
        note(6, "memory_promoted", "seq:4"),
        note(7, "decision_withdrawn", "seq:5"),
        close(8),
    )
    assert [(c["ref"], c["equal_refs"], c["cites"]) for c in found.candidates] == [
        ("seq:1", ["seq:2"], []),
        ("seq:3", [], ["mem-0004"]),
    ]
    assert found.candidates[0] | said == found.candidates[0]
    assert {(r["ref"], r["code"]) for r in found.refused} == {
        ("seq:2", "equal-content"),
        ("seq:4", "promoted"),
        ("seq:5", "not-in-force"),
    }
    assert found.finished
    assert found.needs_review == ()


def test_a_preview_is_the_same_every_time(world: World) -> None:
    """Two looks at the same files give equal objects."""
    first = _preview(world, *CHOICES)
    assert preview_session(world.workspace, "s", tenant_id="clinic") == first


def test_there_is_no_cap(world: World) -> None:
    """Twelve candidates are twelve candidates."""
    found = _preview(world, *(row(n) for n in range(1, 13)), close(13))
    assert len(found.candidates) == 12


def test_it_says_why_a_reviewer_is_needed(world: World) -> None:
    """An open session, a torn one, and a refused line are named."""
    assert "not closed" in _preview(world, row(1)).needs_review[0]
    refused = _preview(world, row(1), b"[]", close(3))
    assert "1 refused line" in refused.needs_review[0]
    assert len(refused.needs_review) == 1
    marked = _preview(world, row(1), b"[]", note(3, "memory_promoted", "seq:1"), close(4))
    assert "--tenant clinic --session s` shows what still waits" in marked.needs_review[1]
    path = world.session("clinic", "s", row(1), close(2))
    path.write_bytes(path.read_bytes() + b'{"seq"')
    torn = preview_session(world.workspace, "s", tenant_id="clinic")
    assert not torn.finished
    assert "still being written" in torn.needs_review[0]


def test_tenants_say_what_a_schema_name_is(world: World) -> None:
    """Patterns and column names of ``tenants.toml`` hold here as in the night."""
    world.tenants('[tenants.clinic]\nschema_table_patterns = ["t_*"]\nrefuse_column_names = true\n')
    found = _preview(
        world,
        row(1, subject="t_visits", detail="x"),
        row(2, subject="fact_visits", detail="x"),
        row(3, "column_promoted", subject="ward", detail="x"),
        row(4, subject="ward", detail="x"),
        close(5),
    )
    assert [c["ref"] for c in found.candidates] == ["seq:2"]


def test_schema_choices_are_not_offered(world: World) -> None:
    """With every boundary closed: a bare table name, a rejected one, an "include" row, a marker."""
    assert [c["ref"] for c in _preview(world, *CHOICES).candidates] == ["seq:1"]


def test_the_preview_holds_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the core rule and the refusal opened, schema choices are still not offered."""
    everything = events.DECISION_TYPES
    for module in (events, candidates, effective):
        monkeypatch.setattr(module, "REUSABLE_TYPES", everything)
    monkeypatch.setattr(candidates, "refuse", lambda decision, names: None)
    opened = candidates.preview(
        effective.effective_decisions(_events(world)), SchemaNames(patterns=())
    )
    assert {c.decision.event.ref for c in opened.candidates} >= {1, 2, 3, 5}  # the door is open
    found = preview_session(world.workspace, "s", tenant_id="clinic")
    assert [c["ref"] for c in found.candidates] == ["seq:1"]
    why = {r["ref"]: r["code"] for r in found.refused}
    assert why["seq:2"] == why["seq:3"] == "schema-name"
    assert why["seq:5"] == "not-reusable"


def _events(world: World) -> list[events.LedgerEvent]:
    from memory_assets.storage.ledgers import read_ledger

    path = world.session("clinic", "s", *CHOICES)
    found = read_ledger(path, tenant_id="clinic", session_id="s", origin="ledger")
    return list(found.events)


def test_personal_data_is_covered_until_its_row_is_opened(world: World) -> None:
    """In every text that is listed, refused rows included; opening one row leaves the others."""
    world.tenants('[tenants.clinic]\nclient_names = ["Mario Rossi"]\n')
    found = _preview(
        world,
        row(1, subject="Account", detail="IT60X0542811101000000123456 is internal"),
        row(2, subject="Contact", detail="who signs", rationale="says Mario Rossi"),
        row(3, subject="Elective", detail="planned"),
        row(4, subject="Mario Rossi", detail="a client"),
        note(5, "decision_withdrawn", "seq:4"),
        close(6),
    )
    shown = [(c["detail"], c["rationale"], c["masked"]) for c in found.candidates]
    assert shown == [
        ("[IBAN] is internal", "", True),
        ("who signs", "says [client name]", True),
        ("planned", "", False),
    ]
    assert [r["subject"] for r in found.refused] == ["[client name]"]
    opened = preview_session(world.workspace, "s", tenant_id="clinic", opened=2)
    assert [c["masked"] for c in opened.candidates] == [True, False, False]
    assert opened.candidates[1]["rationale"] == "says Mario Rossi"
    assert [c["content_sha256"] for c in opened.candidates] == [
        c["content_sha256"] for c in found.candidates
    ]
