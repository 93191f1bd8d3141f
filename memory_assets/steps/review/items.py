"""Names of queue items: ``clinica/SESSION/seq:3``, ranges of them, and proposals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memory_assets.domain.events import format_ref
from memory_assets.errors import UsageError

_ROWS: Final = re.compile(r"(?:(seq|m):)?(\d{1,15})(?:-(?:(?:seq|m):)?(\d{1,15}))?(?:#(\d{1,6}))?")
_PROPOSAL: Final = re.compile(r"[a-z]+:\S+")
_HOW: Final = (
    "write TENANT/SESSION/seq:3 (m:3 for a companion row), a range such as TENANT/SESSION/seq:3-7, "
    "or with --tenant and --session just seq:3; `memory-assets review list` shows all ids."
)


@dataclass(frozen=True, slots=True, order=True)
class ItemRef:
    """One candidate: the place of its deciding row."""

    tenant_id: str
    session_id: str
    decision_seq: int
    fact_no: int = 0

    def __str__(self) -> str:
        return item_id(self.tenant_id, self.session_id, self.decision_seq, self.fact_no)


@dataclass(frozen=True, slots=True)
class ItemRange:
    """All candidates of a session from one row to another, whichever of them wait."""

    tenant_id: str
    session_id: str
    first: int
    last: int
    """Both as ``decision_seq``: negative for companion rows."""

    def __str__(self) -> str:
        first = f"{self.tenant_id}/{self.session_id}/{format_ref(self.first)}"
        return f"{first}-{abs(self.last)}"

    def holds(self, decision_seq: int) -> bool:
        """Whether a row lies in the range."""
        low, high = sorted((abs(self.first), abs(self.last)))
        return (decision_seq > 0) == (self.first > 0) and low <= abs(decision_seq) <= high


@dataclass(frozen=True, slots=True)
class SessionItems:
    """Everything of a session that waits."""

    tenant_id: str
    session_id: str

    def __str__(self) -> str:
        return f"{self.tenant_id}/{self.session_id}"


@dataclass(frozen=True, slots=True, order=True)
class ProposalRef:
    """A proposal about published memories."""

    tenant_id: str
    proposal: str

    def __str__(self) -> str:
        return f"{self.tenant_id}/{self.proposal}"


Named = ItemRef | ItemRange | SessionItems | ProposalRef


def item_id(tenant_id: str, session_id: str, decision_seq: int, fact_no: int = 0) -> str:
    """The id of a candidate, as people read and type it."""
    fact = f"#{fact_no}" if fact_no else ""
    return f"{tenant_id}/{session_id}/{format_ref(decision_seq)}{fact}"


def parse_items(
    texts: Sequence[str], *, tenant_id: str | None = None, session_id: str | None = None
) -> list[Named]:
    """What the texts name, in their order; ``seq:3,5,8-9`` names several rows of a session.

    Raises:
        UsageError: one of them is not the name of an item.
    """
    return [named for text in texts for named in _parse(text, tenant_id, session_id)]


def _parse(text: str, tenant_id: str | None, session_id: str | None) -> Iterator[Named]:
    *place, last = text.strip().split("/")
    if len(place) == 1 and _PROPOSAL.fullmatch(last) and _rows(last) is None:
        yield ProposalRef(place[0], last)
        return
    if not place and tenant_id and _PROPOSAL.fullmatch(last) and _rows(last) is None:
        yield ProposalRef(tenant_id, last)
        return
    tenant, session = _place(text, place, tenant_id, session_id)
    rows = _rows(last)
    if rows is None:
        raise UsageError(f"{text!r} is not the name of an item.", remedy=_HOW)
    for first, end, fact in rows:
        if end is None:
            yield ItemRef(tenant, session, first, fact)
        else:
            yield ItemRange(tenant, session, first, end)


def _place(
    text: str, place: list[str], tenant_id: str | None, session_id: str | None
) -> tuple[str, str]:
    if len(place) == 2 and all(place):
        return place[0], place[1]
    if len(place) == 1 and place[0] and tenant_id:
        return tenant_id, place[0]
    if not place and tenant_id and session_id:
        return tenant_id, session_id
    raise UsageError(f"{text!r} does not say which tenant and session it means.", remedy=_HOW)


def _rows(text: str) -> list[tuple[int, int | None, int]] | None:
    """(first, last or None, fact) per part of ``seq:3,5,8-9``; None when it is none of these."""
    found = []
    kind = "seq"
    for part in text.split(","):
        match = _ROWS.fullmatch(part.strip())
        if match is None:
            return None
        kind = match.group(1) or kind
        sign = -1 if kind == "m" else 1
        first, last = int(match.group(2)), match.group(3)
        if first == 0 or last == "0":
            return None
        found.append((sign * first, sign * int(last) if last else None, int(match.group(4) or 0)))
    return found
