"""Proposals as people see them: members side by side, with the tokens that differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from memory_assets.domain.guards import Verdict
from memory_assets.pipeline.merge.semantic import SemanticMerge
from memory_assets.steps.merge.proposals import Definitions

_SHOWN: Final = ("memory_id", "subject", "detail", "session_id", "origin")
Span = tuple[int, int]


def proposal_views(
    merge: SemanticMerge, tenant_id: str, *, limit: int | None = None
) -> list[dict[str, Any]]:
    """The open proposals of a tenant in their order: members with content, pairs with verdicts.

    Tokens are worked out from the registry as it is; the table of proposals holds no content.
    """
    table = merge.proposals(tenant_id)
    rows = table if limit is None else table.head(limit)
    active = merge.active(tenant_id)
    definitions = Definitions(active)
    content = {r["memory_id"]: r for r in active.iter_rows(named=True)}
    return [_view(row, definitions, content) for row in rows.iter_rows(named=True)]


def _view(
    row: Mapping[str, Any], definitions: Definitions, content: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    pairs = []
    marks: dict[str, set[str]] = {m: set() for m in row["members"]}
    for pair in json.loads(row["pairs"]):
        judged = definitions.judge(pair["a"], pair["b"], complete=True)
        for verdict in judged.differing:
            marks[pair["a"]].update(verdict.only_a)
            marks[pair["b"]].update(verdict.only_b)
        verdicts = [v.to_dict() for v in judged.differing]
        pairs.append({**pair, "verdicts": verdicts, "because": because(judged.differing)})
    return {
        "proposal_id": row["proposal_id"],
        "kind": row["kind"],
        "route": row["route"],
        "survivor": row["survivor"],
        "lowest_cosine": row["lowest_cosine"],
        "highest_cosine": row["highest_cosine"],
        "members": [
            {n: content[m][n] for n in _SHOWN} | {"differs": sorted(marks[m])}
            for m in row["members"]
        ],
        "pairs": pairs,
    }


def because(verdicts: Sequence[Verdict]) -> str:
    """The verdicts in one line: guard, and the tokens of either side."""
    parts = []
    for verdict in verdicts:
        left = ", ".join(verdict.only_a) or "nothing"
        right = ", ".join(verdict.only_b) or "nothing"
        tokens = f"{left} / {right}" if verdict.only_a or verdict.only_b else verdict.note
        parts.append(f"{verdict.guard}: {tokens}")
    return "; ".join(parts)


def marked(text: str, tokens: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is one of the differing tokens."""
    at = 0
    for start, end in _spans(text, tokens):
        if start > at:
            yield text[at:start], False
        yield text[start:end], True
        at = end
    if at < len(text):
        yield text[at:], False


def _spans(text: str, tokens: Sequence[str]) -> list[Span]:
    """Where the tokens stand as whole words, longest first, overlaps joined."""
    found: list[Span] = []
    for token in sorted({t for t in tokens if t}, key=len, reverse=True):
        edge_left = r"(?<!\w)" if token[0].isalnum() else ""
        edge_right = r"(?!\w)" if token[-1].isalnum() else ""
        pattern = edge_left + re.escape(token) + edge_right
        found += [m.span() for m in re.finditer(pattern, text, re.IGNORECASE)]
    joined: list[Span] = []
    for start, end in sorted(found):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
