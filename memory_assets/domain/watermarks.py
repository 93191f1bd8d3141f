"""Append-only, checked on rows: what may have happened to a ledger since it was last read."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Final, Literal

from memory_assets.domain.parsing import ParsedLedger

DIGEST_BYTES: Final = 8
Change = Literal["none", "grown", "repaired", "violated"]


@dataclass(frozen=True, slots=True)
class Growth:
    """How a ledger's accepted rows relate to those accepted before."""

    change: Change
    lost_row: int = 0
    """For a violation: which accepted row (1 = the first) is lost or changed."""


def compare_rows(before: bytes, now: ParsedLedger, *, had_refused_lines: bool) -> Growth:
    """Whether the ledger only grew since ``before``, the digests of its accepted rows then.

    Digests are of canonical content: other white space, key order, line ends or a byte order mark
    change nothing. Lines that were refused may be repaired, so where there were some, new rows may
    stand between the old ones; an accepted row that is lost or changed is a violation always.
    """
    after = now.digests
    if after == before:
        return Growth("none")
    if after.startswith(before):
        return Growth("grown")
    old = _split(before)
    new = iter(_split(after))
    for number, digest in enumerate(old, 1):
        if digest not in new:  # consumes the iterator: finds the rows in order
            return Growth("violated", number)
    if had_refused_lines:
        return Growth("repaired")
    common = next(n for n, (a, b) in enumerate(zip(old, _split(after), strict=False), 1) if a != b)
    return Growth("violated", common)


def digests_without(ledger: ParsedLedger, refs: Container[int]) -> bytes:
    """The digests of a ledger's accepted rows, leaving out those of the named refs."""
    digests = _split(ledger.digests)
    return b"".join(d for e, d in zip(ledger.events, digests, strict=True) if e.ref not in refs)


def _split(digests: bytes) -> list[bytes]:
    return [digests[n : n + DIGEST_BYTES] for n in range(0, len(digests), DIGEST_BYTES)]
