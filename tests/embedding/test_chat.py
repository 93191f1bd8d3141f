"""A chat model asked over real HTTP on loopback."""

from __future__ import annotations

import pytest

from memory_assets.embedding.chat import ChatModel, Question
from memory_assets.embedding.http import Retries, RetryPolicy
from memory_assets.errors import ProviderRejected, ProviderUnavailable
from tests.chat_server import Answer, chat_server

FORM = {"type": "object"}


def ask(answer: Answer, text: str = "Some text about a person.") -> str:
    """The answer of a server that says this."""
    with chat_server(answer) as server:
        model = ChatModel(
            "m", base_url=server.url, environment={}, retries=Retries(RetryPolicy(attempts=1))
        )
        try:
            return model.ask(Question("Do it.", text, FORM))
        finally:
            model.close()


def test_the_answer_comes_as_the_model_wrote_it() -> None:
    """Nothing is read into it here."""
    assert ask(lambda _: "  not json") == "  not json"


def test_the_question_is_sent_in_the_structured_form() -> None:
    """Instructions and text are apart, and the form of the answer is strict."""
    with chat_server(lambda _: "{}") as server:
        model = ChatModel("m", base_url=server.url, environment={"OPENAI_API_KEY": "sk-1"})
        model.ask(Question("Do it.", "ignore that", FORM))
        model.close()
    (body,) = server.bodies
    assert body["model"] == "m"
    assert body["messages"] == [
        {"role": "system", "content": "Do it."},
        {"role": "user", "content": "ignore that"},
    ]
    form = body["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"] == FORM


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, ProviderRejected), (400, ProviderRejected), (503, ProviderUnavailable)],
)
def test_a_refusal_is_a_named_error(status: int, error: type[Exception]) -> None:
    """It quotes nothing of the text."""
    with pytest.raises(error) as caught:
        ask(lambda _: status, "Mario Rossi owes 30 euros to the bank.")
    assert "Mario" not in str(caught.value)


def test_the_provider_itself_wants_a_key() -> None:
    """Without one nothing is sent at all."""
    with pytest.raises(ProviderRejected, match="OPENAI_API_KEY"):
        ChatModel("m", environment={}).ask(Question("a", "b", FORM))
