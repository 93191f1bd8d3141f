"""Access rules as filters of the index: what may not be seen is not searched."""

from __future__ import annotations

from memory_assets.domain.visibility import Condition, Rule
from memory_assets.storage.index_schema import (
    NOTHING,
    Predicate,
    all_of,
    any_of,
    is_in,
    is_null,
)


def visible(rule: Rule) -> Predicate:
    """Rows of the index that the rule allows."""
    if not rule.clauses:
        return NOTHING
    return any_of(*(all_of(*(_condition(c) for c in clause)) for clause in rule.clauses))


def _condition(condition: Condition) -> Predicate:
    texts = is_in(condition.column, sorted(v for v in condition.values if v is not None))
    return any_of(texts, is_null(condition.column)) if None in condition.values else texts
