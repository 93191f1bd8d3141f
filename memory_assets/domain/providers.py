"""What settings say of embedding providers: specs, values by spec, and how a model computes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

_SPEC: Final = re.compile(r"[a-z]+:\S.*")
_COMMA: Final = re.compile(r""",(?=(?:[^"]*"[^"]*")*[^"]*$)""")
"""A comma outside double quotes."""


class Precision(StrEnum):
    """What a local model's matrix products are computed in."""

    AUTO = "auto"
    """bfloat16 where the machine multiplies it faster than float32, else float32."""
    FLOAT32 = "float32"
    """float32 everywhere."""


def parse_specs(text: str) -> tuple[str, ...]:
    """The specs ``PROVIDER:MODEL`` of a comma-separated list, in order.

    Raises:
        ValueError: an entry is no spec, or comes twice; the message says which.
    """
    specs = tuple(part.strip() for part in text.split(",") if part.strip())
    for spec in specs:
        if not _SPEC.fullmatch(spec):
            raise ValueError(f"holds {spec!r}, which is not PROVIDER:MODEL")
        if specs.count(spec) > 1:
            raise ValueError(f"names {spec} twice")
    return specs


def parse_by_spec(text: str) -> Mapping[str, str]:
    """Values by spec, from ``PROVIDER:MODEL=VALUE, …``; ``""`` holds one that is for all.

    A value without a spec before it counts for every provider that has none of its own. So an
    address is told from a spec by its ``://``. A value that holds a comma stands in double quotes.

    Raises:
        ValueError: two values are for the same.
    """
    found: dict[str, str] = {}
    for part in _COMMA.split(text):
        if not part.strip():
            continue
        head, equals, value = part.partition("=")
        named = bool(equals) and _SPEC.fullmatch(head.strip()) and "://" not in head
        key, value = (head.strip(), value) if named else ("", part)
        if key in found:
            raise ValueError(
                f"holds two values for {key or 'all providers'} (one that holds a comma stands in "
                "double quotes)"
            )
        bare = value.strip()
        quoted = len(bare) > 1 and bare[0] == bare[-1] == '"'
        found[key] = bare[1:-1] if quoted else value
    return found


def value_for(values: Mapping[str, str], spec: str) -> str | None:
    """The spec's own value, or the one for all."""
    return values.get(spec, values.get(""))
