"""Neighbours of a candidate, and the label that they give it."""

from __future__ import annotations

from typing import Any

import pytest

from memory_assets.domain.neighbours import LABELS, Neighbour, label, neighbour

COUNT = "Procedura con `flag_a = TRUE`, contata con `COUNT(DISTINCT cod_paz)` per anno"


def _row(subject: str, detail: str, memory_id: str = "mem-0001") -> dict[str, Any]:
    return {"subject": subject, "detail": detail, "memory_id": memory_id}


@pytest.mark.parametrize(
    ("subject", "detail", "said"),
    [
        ("ablazione", COUNT + ".", "duplicate of mem-0001"),
        ("Ablazione", COUNT.replace("TRUE", "FALSE"), "conflicts with mem-0001"),
        ("Ablazione chirurgica", COUNT.replace("flag_a", "flag_b"), "new"),
        ("Degenza", "Somma dei giorni di degenza diviso numero di dimissioni", "new"),
    ],
)
def test_what_a_neighbour_makes_of_a_candidate(subject: str, detail: str, said: str) -> None:
    """Equal, contradicting the same subject, a sibling with another flag, and something else."""
    found = neighbour(_row(subject, detail), _row("Ablazione", COUNT), 0.97)
    assert label("new", [found]) == said


def test_a_part_is_contained_in_the_whole() -> None:
    """The memory says all that the candidate says, and more."""
    found = neighbour(
        _row("Cliente attivo", "Ha almeno un conto aperto"),
        _row("Cliente attivo", "Ha almeno un conto aperto e un saldo positivo"),
        0.9,
    )
    assert label("new", [found]).startswith(("contained in", "conflicts with"))


def test_what_tables_say_comes_first_and_the_strongest_relation_counts() -> None:
    """A citation is no guess; a duplicate further away outweighs a conflict nearby."""
    conflict = Neighbour("mem-0001", 0.99, "different", same_subject=True, differs=("numbers",))
    same = Neighbour("mem-0002", 0.90, "alike", same_subject=True, differs=())
    assert label("refines mem-0009", [conflict, same]) == "refines mem-0009"
    assert label("new", [conflict, same]) == "duplicate of mem-0002"
    assert label("new", []) == "new"


def test_a_huge_text_is_not_read_word_by_word() -> None:
    """Equal ones are still found; unlike ones are left to a person, and nothing takes minutes."""
    huge = COUNT * 20_000
    same = neighbour(_row("X", huge), _row("x", huge + "."), None)
    other = neighbour(_row("X", huge), _row("X", huge + " mai"), None)
    assert (same.relation, other.relation) == ("equal", "unsure")


def test_a_neighbour_survives_its_table() -> None:
    """What is kept comes back the same, and holds ids and figures, no words of the memory."""
    found = neighbour(_row("Ablazione", COUNT), _row("Ablazione", COUNT.replace("TRUE", "0")), 0.5)
    kept = found.to_dict()
    assert Neighbour.from_dict(kept) == found
    assert "flag_a" not in str(kept)
    assert all(name.split(" ")[0] in " ".join(LABELS) for name in ("new", "conflicts"))
