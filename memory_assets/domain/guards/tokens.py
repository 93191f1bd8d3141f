"""What a reading is made of: tokens, and numbers with what belongs to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

CONTENT: Final = frozenset({"word", "name", "id", "code", "lit", "num", "date"})
"""Kinds of tokens that say something by themselves."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token: what it is, its canonical value, and the characters it stands for."""

    kind: str
    value: str
    text: str
    start: int
    end: int
    clause: int = 0
    key: str = field(init=False)
    """Kind and value: equal keys mean the same."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.kind}:{self.value}")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the unit and the comparison that belong to it."""

    value: Decimal
    unit: str
    op: str
    token: Token

    @property
    def label(self) -> str:
        """As a person reads it in a verdict."""
        return self.token.text
