"""Tables of the semantic merge; they hold ids and figures, never content."""

from __future__ import annotations

from typing import Final

import polars as pl

from memory_assets.domain.schemas import TEXTS, Column, TableSpec

_TENANT = Column("tenant_id", pl.String, "Tenant of the memories.")
_SPACE = Column("space_id", pl.String, "Embedding space of the cosines.")
_RULES = Column("rule_version", pl.String, "Version of the guards that judged.")

DUPLICATE_PAIRS: Final = TableSpec(
    "duplicate_pairs",
    "Two memories of one tenant and scope that are close enough, or share a subject.",
    (
        _TENANT,
        Column("memory_a", pl.String, "The one with the lower number."),
        Column("memory_b", pl.String, "The other one."),
        Column("same_subject", pl.Boolean, "Both define one thing, by name."),
        Column("relation", pl.String, "equal, alike, contains, contained, unsure or different."),
        Column("guards", TEXTS, "Guards whose tokens differ; up to the first that sets apart."),
        Column("blocking", TEXTS, "Those of them that set the pair apart."),
        Column("cosine", pl.Float64, "Raw cosine of the definitions; 0 without vectors.", True),
        Column("found_by", pl.String, "vector or subject."),
    ),
)

MERGE_PROPOSALS: Final = TableSpec(
    "merge_proposals",
    "What the pairs amount to: groups that say the same, containments, conflicts.",
    (
        Column("proposal_id", pl.String, "Stable while kind and members stay the same."),
        _TENANT,
        Column("scope", pl.String, "Privacy scope that all members share."),
        Column("kind", pl.String, "same, contains or conflicts."),
        Column("route", pl.String, "auto: earned, nobody is asked; review: a person decides."),
        Column("members", TEXTS, "Memory ids, in order of their numbers."),
        Column("survivor", pl.String, "The member that would stay."),
        Column("lowest_cosine", pl.Float64, "Of the pairs of the group.", True),
        Column("highest_cosine", pl.Float64, "Of the pairs of the group.", True),
        Column("pairs", pl.String, "JSON: per pair its cosine, relation and guards that object."),
        _SPACE,
        _RULES,
    ),
)

MERGE_CALIBRATION: Final = TableSpec(
    "merge_calibration",
    "What the reviewed pairs of a tenant have earned in one embedding space.",
    (
        _TENANT,
        _SPACE,
        _RULES,
        Column("labels", pl.Int64, "Reviewed pairs that both memories of still exist."),
        Column("eligible", pl.Int64, "Of these: every guard passed, one subject."),
        Column("errors", pl.Int64, "Eligible pairs at the threshold that are different."),
        Column("threshold", pl.Float64, "Cosine of automatic merging; null: not earned.", True),
        Column("precision_lower", pl.Float64, "Lower confidence bound that was reached."),
        Column("target", pl.Float64, "Precision to be proven."),
        Column("review_floor", pl.Float64, "Cosine from which a pair is shown to a person."),
        Column("curve", pl.String, "JSON: precision and recall per threshold, with guards."),
    ),
)

MERGE_TABLES: Final = (DUPLICATE_PAIRS, MERGE_PROPOSALS, MERGE_CALIBRATION)
