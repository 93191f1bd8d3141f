"""Extraction wired: the settings, the store of answers, and the models that tenants name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta

from memory_assets.domain.extraction import ANSWER_SCHEMA, INSTRUCTIONS
from memory_assets.embedding.chat import ChatModel, Question
from memory_assets.settings import Settings
from memory_assets.steps.ledgers.decide import TenantRules
from memory_assets.steps.promotion.extract import ExtractResult, ExtractRules, extract
from memory_assets.storage.answers import AnswerStore
from memory_assets.storage.home import Home
from memory_assets.storage.parts import DerivedTables

RulesFor = Callable[[str], TenantRules]


class ChatModels:
    """Puts texts to the models that tenants name; a model is opened when it is first asked."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._open: dict[str, ChatModel] = {}

    def ask(self, model: str, text: str) -> str:
        """The model's answer about a text.

        Raises:
            EmbeddingError: there is none.
        """
        if model not in self._open:
            self._open[model] = ChatModel(model, base_url=self._base_url)
        return self._open[model].ask(Question(INSTRUCTIONS, text, ANSWER_SCHEMA))

    def close(self) -> None:
        """Closes all connections."""
        for model in self._open.values():
            model.close()


def extract_facts(
    home: Home, derived: DerivedTables, settings: Settings, rules_for: RulesFor, *, now: datetime
) -> ExtractResult:
    """The facts of the free-text events, models asked where a tenant names one."""
    with closing(ChatModels(settings.text("extractor_url"))) as models:
        return extract(
            derived,
            AnswerStore(home.answers),
            _rules(settings, rules_for),
            now=now,
            ask=models.ask,
        )


def rehearse_facts(
    home: Home, derived: DerivedTables, settings: Settings, rules_for: RulesFor, *, now: datetime
) -> ExtractResult:
    """The same without a question to anybody: only answers that are there already count."""
    return extract(derived, AnswerStore(home.answers), _rules(settings, rules_for), now=now)


def _rules(settings: Settings, rules_for: RulesFor) -> ExtractRules:
    hours = settings.number("idle_close_hours")
    return ExtractRules(
        extractor=lambda tenant: settings.tenant(tenant).extractor,
        rules_for=rules_for,
        idle_close=timedelta(hours=hours) if hours else None,
    )
