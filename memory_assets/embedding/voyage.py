"""Voyage AI's embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memory_assets.domain.ports import TextKind
from memory_assets.embedding.hosted import HostedEmbedder, HostedModel

KEY_VARIABLE = "VOYAGE_API_KEY"
BASE_URL = "https://api.voyageai.com/v1"


def voyage_model(
    name: str,
    dimension: int,
    dollars_per_million_tokens: float,
    tokens_per_request: int = 120_000,
) -> HostedModel:
    """A model with the service's limits: 1,000 texts and, by model, 120,000 tokens or more.

    Fewer texts are sent at once, since what one answer brings is what a broken connection loses.
    """
    return HostedModel(
        provider="voyage",
        name=name,
        dimension=dimension,
        dollars_per_million_tokens=dollars_per_million_tokens,
        texts_per_request=256,
        tokens_per_request=tokens_per_request,
        tokens_per_text=32_000,
    )


MODELS: Mapping[str, HostedModel] = {
    model.name: model
    for model in (
        voyage_model("voyage-3-large", 1_024, 0.18),
        voyage_model("voyage-3-lite", 512, 0.02, 1_000_000),
    )
}
"""Dimension and price as published; both can be set otherwise."""


class VoyageEmbedder(HostedEmbedder):
    """``POST {base_url}/embeddings`` in Voyage's form; queries and documents differ."""

    @property
    def kind_matters(self) -> bool:
        """Yes: the service puts its own prompt before each kind."""
        return True

    def _body(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "input": list(texts),
            "input_type": kind,
            "truncation": True,
        }
        native = MODELS.get(self.model)
        if native is not None and native.dimension != self.dimension:
            body["output_dimension"] = self.dimension
        return body
