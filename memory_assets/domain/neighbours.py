"""What stands near a candidate in the registry, and what that makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from memory_assets.domain.guards import Judgement, Relation, judge
from memory_assets.domain.keys import normalise
from memory_assets.domain.spaces import definition_text

LABELS: Final = ("new", "duplicate of", "refines", "conflicts with", "contained in", "contains")
"""How a candidate can stand to the registry; all but ``new`` are followed by a memory id."""
_RELATIONS: Final = frozenset(get_args(Relation))


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory beside a candidate: how near, and what the guards say. Holds no content."""

    memory_id: str
    cosine: float | None
    """Raw cosine of the two definitions; None when one of them has no vector."""
    relation: Relation
    """Of the candidate to the memory: ``contained`` means that the memory says more."""
    same_subject: bool
    differs: tuple[str, ...]
    """Guards that object, up to the first one that settles it; ``compare`` names all of them."""

    def at(self, cosine: float | None) -> Neighbour:
        """The same at another cosine: what guards say depends on the words alone."""
        return replace(self, cosine=cosine)

    def to_dict(self) -> dict[str, Any]:
        """The neighbour as the queue's table keeps it."""
        return {
            "memory_id": self.memory_id,
            "cosine": None if self.cosine is None else round(self.cosine, 4),
            "relation": self.relation,
            "same_subject": self.same_subject,
            "differs": list(self.differs),
        }

    @classmethod
    def unmeasured(cls, memory_id: str) -> Neighbour:
        """A memory that is known to stand near, for another reason than a comparison."""
        return cls(memory_id, None, "unsure", same_subject=False, differs=())

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Neighbour:
        """The neighbour that ``to_dict`` wrote."""
        relation: Relation = found["relation"] if found["relation"] in _RELATIONS else "unsure"
        return cls(
            found["memory_id"],
            found["cosine"],
            relation,
            bool(found["same_subject"]),
            tuple(found["differs"]),
        )


def compare(
    candidate: Mapping[str, Any], memory: Mapping[str, Any], *, complete: bool = True
) -> Judgement:
    """What the guards say about two rows with subject and detail, tokens that differ included.

    Without ``complete`` the first mismatch ends the work: enough for the relation.
    """
    a = definition_text(subject=candidate["subject"], detail=candidate["detail"])
    b = definition_text(subject=memory["subject"], detail=memory["detail"])
    return judge(
        a,
        b,
        subject_a=candidate["subject"],
        subject_b=memory["subject"],
        complete=complete,
    )


def neighbour(
    candidate: Mapping[str, Any], memory: Mapping[str, Any], cosine: float | None
) -> Neighbour:
    """The memory as the candidate's neighbour."""
    found = compare(candidate, memory, complete=False)
    return Neighbour(
        memory["memory_id"],
        cosine,
        found.relation,
        normalise(candidate["subject"]) == normalise(memory["subject"]),
        tuple(verdict.guard for verdict in found.differing),
    )


def label(base: str, neighbours: Sequence[Neighbour]) -> str:
    """The candidate's label: what tables already say (``base``), or what its neighbours make of it.

    Equal content, and citing a memory without saying the same, are known without a comparison. Of
    several neighbours the strongest relation counts, and of those the nearest.
    """
    if base != "new":
        return base
    for name, holds in (
        ("duplicate of", lambda n: n.relation in ("equal", "alike")),
        ("conflicts with", lambda n: n.relation == "different" and n.same_subject),
        ("contained in", lambda n: n.relation == "contained"),
        ("contains", lambda n: n.relation == "contains"),
    ):
        for one in neighbours:
            if holds(one):
                return f"{name} {one.memory_id}"
    return base
