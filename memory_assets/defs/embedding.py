"""What the runs tell of embedding: costs, spaces, and the state of every provider."""

from typing import TYPE_CHECKING, Any

import dagster as dg

if TYPE_CHECKING:
    from memory_assets.steps.promotion.publish import PublishResult


def embedding_metadata(result: "PublishResult") -> dict[str, Any]:
    """Tokens and dollars of the run so far, each provider with its breaker, each space."""
    return {
        "tokens": sum(p.tokens for p in result.providers),
        "dollars": round(sum(p.dollars for p in result.providers), 6),
        "providers": dg.MetadataValue.json([p.to_dict() for p in result.providers]),
        "spaces": dg.MetadataValue.json(list(result.spaces)),
        "provider_problems": dg.MetadataValue.json(dict(result.problems)),
        **({"space_under_construction": result.building} if result.building else {}),
    }
