"""Lists of facts and of refused answers: personal data is covered until somebody asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.pipeline.inspect.fact_list import facts_of, refused_of
from memory_assets.settings import ENV_PREFIX
from tests.building import close, row
from tests.chat_server import chat_server
from tests.nights import World

SAID = "Mario Rossi pays from IT60X0542811101000000123456."
COVERED = "[client name] pays from [IBAN]."
_NAMES = 'client_names = ["Mario Rossi"]\n'


def test_facts_are_listed_with_personal_data_covered(tmp_path: Path) -> None:
    """Subject and detail, a fact that is refused for its subject included."""
    world = World(tmp_path)
    world.tenants(f"[tenants.bank]\n{_NAMES}")
    event = {"source": "CHAT", "detail": SAID}
    world.session(
        "bank",
        "s",
        row(1, "memory_event", subject="Mario Rossi", **event),
        row(2, "memory_event", subject="fact_payments", **event),
        close(3),
    )
    world.night()
    found = [(f["subject"], f["detail"]) for f in facts_of(world.workspace, "bank")]
    assert found == [("[client name]", COVERED), ("fact_payments", COVERED)]


def test_refused_answers_are_covered_unless_they_are_asked_for_as_they_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quarantine keeps the raw answer; a list of it quotes nobody."""
    world = World(tmp_path)
    world.tenants(f'[tenants.bank]\nextractor = "openai:m"\n{_NAMES}')
    world.session("bank", "s", row(1, "memory_event", source="CHAT", detail=SAID), close(2))
    with chat_server(lambda text: f"no JSON: {text}") as server:
        monkeypatch.setenv(f"{ENV_PREFIX}EXTRACTOR_URL", server.url)
        world.night()
    (listed,) = refused_of(world.workspace, "bank")
    (raw,) = refused_of(world.workspace, "bank", raw=True)
    assert (listed["answer"], raw["answer"]) == (f"no JSON: {COVERED}", f"no JSON: {SAID}")
