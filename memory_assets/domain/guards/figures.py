"""Numbers, dates and comparisons: how they are written, and what belongs to what."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from memory_assets.domain.guards.tokens import Quantity, Token

_LIMITS: Final = ("num", "date")
_NEAR: Final = 4
"""Tokens between a comparison and what it compares with, at most."""
_REL_OPS: Final = {"since": ">=~", "until": "<=~", "before": "<", "after": ">", "within": "<=~"}


def parse_number(text: str, *, decimal_comma: bool) -> str | None:
    """The canonical decimal of a written number; None for codes (``007``, ``1.2.3``).

    A single mark before three digits parts thousands or decimals by the habit of the language.
    """
    sign = "-" if text[0] in "-−" else ""
    body = text.lstrip("-−").replace("'", "")
    if len(body) > 1 and body[0] == "0" and body.isdigit():
        return None
    marks = [c for c in body if c in ".,"]
    if len(set(marks)) == 2:
        decimal = max(".,", key=body.rfind)
        body = body.replace("," if decimal == "." else ".", "").replace(decimal, ".")
    elif marks:
        mark, tail = marks[0], body.rsplit(marks[0], 1)[1]
        thousands = mark == ("." if decimal_comma else ",")
        grouped = all(len(p) == 3 for p in body.split(mark)[1:])
        if (thousands and grouped and len(tail) == 3) or (len(marks) > 1 and grouped):
            body = body.replace(mark, "")
        elif len(marks) > 1:
            return None
        else:
            body = body.replace(mark, ".")
    return sign + body if re.fullmatch(r"\d+(\.\d+)?", body) else None


def plain_number(value: Decimal) -> str:
    return format(value.normalize(), "f")


def with_dates(tokens: list[Token]) -> list[Token]:
    """The tokens with day, month and year joined into dates."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        found = _date_at(tokens, at)
        if found is None:
            out.append(tokens[at])
            at += 1
            continue
        value, n = found
        first, last = tokens[at], tokens[at + n - 1]
        text = first.text if n == 1 else " ".join(t.text for t in tokens[at : at + n])
        out.append(Token("date", value, text, first.start, last.end, first.clause))
        at += n
    return out


def _date_at(tokens: list[Token], at: int) -> tuple[str, int] | None:
    kinds = [t.kind for t in tokens[at : at + 3]]
    values = [t.value for t in tokens[at : at + 3]]

    def day(n: int) -> bool:
        return n < len(kinds) and kinds[n] in ("num", "ord") and _fits(values[n], 1, 31)

    def year(n: int) -> bool:
        return n < len(kinds) and kinds[n] == "num" and _fits(values[n], 1000, 2999)

    if day(0) and len(kinds) > 1 and kinds[1] == "month":
        stem = f"{int(values[1]):02d}-{int(values[0]):02d}"
        return (f"{values[2]}-{stem}", 3) if year(2) else (f"--{stem}", 2)
    if kinds[0] != "month":
        return None
    month = f"{int(values[0]):02d}"
    if year(1):
        return f"{values[1]}-{month}", 2
    if day(1):
        stem = f"{month}-{int(values[1]):02d}"
        return (f"{values[2]}-{stem}", 3) if year(2) else (f"--{stem}", 2)
    return f"--{month}", 1


def _fits(value: str, low: int, high: int) -> bool:
    return value.isdigit() and low <= int(value) <= high


def quantities_of(tokens: Sequence[Token]) -> list[Quantity]:
    found: list[Quantity] = []
    ops = bound_ops(tokens)
    for at, token in enumerate(tokens):
        if token.kind != "num":
            continue
        value = Decimal(token.value)
        unit, scale = _unit_of(tokens, at)
        found.append(Quantity(value * scale, unit, ops.get(at, ""), token))
    return found


def _unit_of(tokens: Sequence[Token], at: int) -> tuple[str, Decimal]:
    scale = Decimal(1)
    after = at + 1
    if after < len(tokens) and tokens[after].kind == "scale":
        scale = Decimal(tokens[after].value)
        after += 1
    if after < len(tokens) and tokens[after].kind == "unit":
        return tokens[after].value, scale
    if (
        at
        and tokens[at - 1].kind == "unit"
        and tokens[at - 1].value in ("eur", "usd", "gbp", "jpy", "chf")
    ):
        return tokens[at - 1].value, scale
    return "", scale


def bound_ops(tokens: Sequence[Token]) -> dict[int, str]:
    """Position of a number or date → the comparison that belongs to it."""
    found: dict[int, str] = {}
    for at, token in enumerate(tokens):
        if token.kind == "post":
            before = [i for i in range(max(0, at - _NEAR), at) if tokens[i].kind in _LIMITS]
            if before:
                found[before[-1]] = token.value
        op = _comparison(token)
        if op:
            _bind(tokens, at, op, found)
    return found


def _comparison(token: Token) -> str:
    if token.kind == "rel":
        return _REL_OPS.get(token.value, "")
    return token.value if token.kind == "op" and token.value not in ("like", "=") else ""


def _bind(tokens: Sequence[Token], at: int, op: str, found: dict[int, str]) -> None:
    """Gives the comparison to the next number or date; ``between`` takes the next two."""
    for i in range(at + 1, min(at + 1 + _NEAR, len(tokens))):
        if tokens[i].kind in _LIMITS:
            found.setdefault(i, op)
            if op != "between":
                return
        if tokens[i].kind in ("op", "rel", "lit"):
            return
