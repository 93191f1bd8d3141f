"""Embedding spaces and the text recipes that feed them.

A vector means something only beside vectors of the same space, so a space is named by all that
decides where a text lands: provider, model, dimension, a fingerprint of the weights (or of the
provider's answer to a fixed probe) and the versioned recipe that turned a memory into text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """One embedding space; two spaces are comparable only if they are equal in every field."""

    provider: str
    model: str
    dimension: int
    fingerprint: str
    recipe: str

    @property
    def model_key(self) -> str:
        """What a text's vector depends on besides the text: the space without its recipe."""
        whole = "\x1f".join((self.provider, self.model, str(self.dimension), self.fingerprint))
        return hashlib.sha256(whole.encode()).hexdigest()[:32]

    @property
    def space_id(self) -> str:
        """A file-system-safe name, unique per space: ``<model-slug>-<recipe>-<12 hex digits>``."""
        whole = "\x1f".join(
            (self.provider, self.model, str(self.dimension), self.fingerprint, self.recipe)
        )
        digest = hashlib.sha256(whole.encode()).hexdigest()[:12]
        slug = "".join(c if c.isalnum() else "-" for c in self.model.lower()).strip("-")[:40]
        return f"{slug}-{self.recipe.replace('/', '-')}-{digest}"

    def to_dict(self) -> dict[str, Any]:
        """The space as the manifest stores it."""
        return {
            "space_id": self.space_id,
            "provider": self.provider,
            "model": self.model,
            "dimension": self.dimension,
            "fingerprint": self.fingerprint,
            "recipe": self.recipe,
        }


SEARCH_RECIPE = "search-v1"
DEFINITION_RECIPE = "definition-v1"


def search_text(
    *,
    type: str,
    subject: str,
    detail: str,
    rationale: str,
    question_context: str,
    concepts: Sequence[str],
    tables: Sequence[str],
) -> str:
    """The text of recipe ``search-v1``: everything a future question may resemble.

    Type and subject, detail, rationale, question context, concepts and mappings, one a line and
    empty ones left out (the source systems' recipe). It feeds the search index only.
    """
    lines = [
        f"{type}: {subject}",
        detail,
        rationale,
        question_context,
        ", ".join(concepts),
        ", ".join(tables),
    ]
    return "\n".join(line for line in lines if line.strip())


def definition_text(*, subject: str, detail: str) -> str:
    """The text of recipe ``definition-v1``: subject and detail alone.

    Question and rationale are shared by all definitions of one session, and in the compared text
    they make unlike definitions look alike; duplicates and merge compare this text only.
    """
    return f"{subject}\n{detail}"


def text_sha256(text: str) -> str:
    """Hex SHA-256 of a text's UTF-8: the key that gates embedding and upsert.

    A lone surrogate, which UTF-8 cannot hold, counts as the bytes it would have: no text raises.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
