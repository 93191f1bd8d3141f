"""One question to a chat model, answered in a JSON form: any OpenAI-compatible endpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory_assets.embedding.apikey import ApiKey
from memory_assets.embedding.http import JsonEndpoint, RequestRefused, Retries
from memory_assets.embedding.openai import BASE_URL, KEY_VARIABLE

MOST_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: fixed instructions, the text as data, and the form of the answer."""

    instructions: str
    text: str
    form: Mapping[str, Any]
    """JSON Schema of the answer."""


class ChatModel:
    """``POST {base_url}/chat/completions`` with structured output; nothing is kept of a question.

    A key is needed at the provider's own address only; a local server may want none.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        environment: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        retries: Retries | None = None,
    ) -> None:
        self.model = model
        self._endpoint = JsonEndpoint(
            f"openai:{model}",
            base_url or BASE_URL,
            "/chat/completions",
            ApiKey(KEY_VARIABLE, os.environ if environment is None else environment),
            needs_key=not base_url,
            timeout=timeout,
        )
        self._retries = retries or Retries()

    def ask(self, question: Question) -> str:
        """The text of the model's answer, unread: whoever asked must judge it.

        Raises:
            ProviderUnavailable, ProviderRejected: there is no answer, now or at all.
        """
        body = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": question.instructions},
                {"role": "user", "content": question.text},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": dict(question.form)},
            },
        }
        answer = self._retries.run(lambda: self._endpoint.post(body, most_bytes=MOST_BYTES))
        return _content(answer, self._endpoint)

    def close(self) -> None:
        """Closes the connections."""
        self._endpoint.close()


def _content(answer: Mapping[str, Any], endpoint: JsonEndpoint) -> str:
    try:
        message = answer["choices"][0]["message"]
        content = message.get("content") or message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        content = None
    if not isinstance(content, str):
        raise RequestRefused(
            f"{endpoint.name} answered without a message.",
            where=endpoint.where,
            remedy="Check that extractor_url is a chat completions service.",
        )
    return content
