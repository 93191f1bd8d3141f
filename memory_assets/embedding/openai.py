"""OpenAI's embeddings, and every service that speaks the same form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memory_assets.domain.ports import TextKind
from memory_assets.embedding.hosted import HostedEmbedder, HostedModel

KEY_VARIABLE = "OPENAI_API_KEY"
BASE_URL = "https://api.openai.com/v1"


def openai_model(name: str, dimension: int, dollars_per_million_tokens: float) -> HostedModel:
    """A model with the service's limits: 2,048 texts, 300,000 tokens, 8,191 tokens a text.

    Fewer texts are sent at once: an answer of 2,048 long vectors is a hundred megabytes of JSON,
    and what an answer brings is what a broken connection loses.
    """
    return HostedModel(
        provider="openai",
        name=name,
        dimension=dimension,
        dollars_per_million_tokens=dollars_per_million_tokens,
        texts_per_request=256,
        tokens_per_request=300_000,
        tokens_per_text=8_191,
    )


MODELS: Mapping[str, HostedModel] = {
    model.name: model
    for model in (
        openai_model("text-embedding-3-large", 3_072, 0.13),
        openai_model("text-embedding-3-small", 1_536, 0.02),
    )
}
"""Dimension and price as published; both can be set otherwise."""


class OpenAIEmbedder(HostedEmbedder):
    """``POST {base_url}/embeddings`` as OpenAI, Azure, vLLM, TEI and Ollama answer it.

    The form knows no difference between queries and documents; a model behind it may want a
    prefix (``query_prefix``, ``document_prefix`` of its ``HostedModel``).
    """

    @property
    def kind_matters(self) -> bool:
        """Only where prefixes say so."""
        return self.card.query_prefix != self.card.document_prefix

    def _body(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        native = MODELS.get(self.model)
        if native is not None and native.dimension != self.dimension:
            body["dimensions"] = self.dimension
        return body
