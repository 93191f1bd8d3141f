"""Takes the other boundaries away, so that one of them can be seen to hold alone."""

from __future__ import annotations

import importlib
from typing import Any, Final

import pytest

from memory_assets.domain import boundaries, review, searchable
from memory_assets.domain.events import DECISION_TYPES
from tests.building import close, note, row

CHOICES: Final = {
    2: row(2, "table_promoted", subject="fact_interventi", detail="include this table"),
    3: row(3, "column_promoted", subject="cod_paz", detail="the patient's key"),
    4: row(4, subject="dim_time", detail="the calendar"),
    5: row(5, subject="fact_cardioversione", detail="the cardioversions"),
    6: row(6, "table_excluded", subject="visite", detail="not needed"),
    7: row(7, subject="visite", detail="the visits"),
}
"""Schema choices by seq: rows of their own types, and bare names that pose as concepts."""
CONCEPT: Final = row(
    1,
    subject="Ablation",
    detail="`ablazione_transcatetere` = TRUE in `fact_interventi`, by `dim_time.anno`",
)
_USERS: Final = (
    "domain.candidates",
    "domain.effective",
    "steps.promotion.consolidate",
    "steps.promotion.publish",
)
"""Modules that know the core rule by name."""


def session(*, marked: bool) -> list[dict[str, Any]]:
    """A finished session of one concept and six schema choices; ``marked`` as promoted, all."""
    rows = [CONCEPT, *CHOICES.values()]
    marks = [note(10 + n, "memory_promoted", f"seq:{n}") for n in range(1, 8)] if marked else []
    return [*rows, *marks, close(20)]


def open_core_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every type of decision counts as reusable, and nothing is refused by its name."""
    for user in _USERS:
        module = importlib.import_module(f"memory_assets.{user}")
        monkeypatch.setattr(module, "REUSABLE_TYPES", DECISION_TYPES)


def open_preview(monkeypatch: pytest.MonkeyPatch) -> None:
    """The preview and the replay's own filter let every decision in force pass."""
    monkeypatch.setattr(boundaries, "OFFERED_TYPES", DECISION_TYPES)
    for user in ("domain.candidates", "steps.ledgers.decide"):
        module = importlib.import_module(f"memory_assets.{user}")
        monkeypatch.setattr(module, "refuse", lambda decision, names: None)


def open_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search filter passes every type."""
    monkeypatch.setattr(searchable, "SEARCHABLE_TYPES", DECISION_TYPES)


def open_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Summaries and lists show every type."""
    monkeypatch.setattr(boundaries, "LISTED_TYPES", DECISION_TYPES)


def open_review(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queue and applier let everything pass."""
    monkeypatch.setattr(review, "review_refusal", lambda type, subject, names: None)
    module = importlib.import_module("memory_assets.steps.promotion.review_filter")
    monkeypatch.setattr(module, "review_refusal", lambda type, subject, names: None)
