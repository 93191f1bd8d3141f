"""The review boundary over tables: what no reviewer may be shown, and nobody may accept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

import polars as pl

from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.events import COLUMN_TYPES, TABLE_TYPES
from memory_assets.domain.review import review_refusal
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.steps.ledgers.decide import SchemaRules, current_decisions
from memory_assets.storage.parts import DerivedTables

SessionKey = tuple[str, str]
NamesOf = Callable[[Collection[SessionKey]], Mapping[SessionKey, SchemaNames]]
"""For sessions, what counts as a bare schema name in each."""
_SESSION: Final = ["tenant_id", "session_id"]


def no_names(sessions: Collection[SessionKey]) -> Mapping[SessionKey, SchemaNames]:
    """The usual patterns for every session; the sessions' own tables are not known."""
    return dict.fromkeys(sessions, SchemaNames())


def names_reader(
    derived: DerivedTables, sessions: pl.DataFrame, rules_for: Callable[[str], SchemaRules]
) -> NamesOf:
    """Reads the schema names of sessions from the decisions table, for those that are asked for."""

    def names_of(wanted: Collection[SessionKey]) -> Mapping[SessionKey, SchemaNames]:
        if not wanted:
            return {}
        columns = ["tenant_id", "session_id", "type", "subject", "tables"]
        meant = pl.col("session_id").is_in(sorted({session for _, session in wanted}))
        found = current_decisions(derived, sessions, columns, meant)
        return names_from(found, rules_for)

    return names_of


def hold_back(routes: pl.DataFrame, names_of: NamesOf) -> pl.DataFrame:
    """The routes with everything stopped that no reviewer may be shown, and nobody may accept.

    The review boundary on whatever would be promoted or offered: it holds even if the rules before
    it let schema choices through.
    """
    passing = pl.col("route").is_in(["accepted", "automatic", "review", "deferred"])
    rows = routes.filter(passing).select(*PROMOTION_KEY, "type", "subject")
    names = names_of(set(rows.select(_SESSION).unique().rows()))
    stopped = []
    for *key, kind, subject in rows.iter_rows():
        why = review_refusal(kind, subject, names.get((key[0], key[1])) or SchemaNames())
        if why is not None:
            stopped.append((*key, *why))
    if not stopped:
        return routes
    schema = pl.Schema(
        {
            **{k: routes.schema[k] for k in PROMOTION_KEY},
            "_code": pl.String(),
            "_why": pl.String(),
        }
    )
    found = pl.DataFrame(stopped, schema=schema, orient="row")
    is_stopped = pl.col("_code").is_not_null()
    return (
        routes.join(found, on=PROMOTION_KEY, how="left", maintain_order="left")
        .with_columns(
            pl.when(is_stopped).then(pl.lit("refused")).otherwise("route").alias("route"),
            pl.coalesce("_code", "refusal_code").alias("refusal_code"),
            pl.coalesce("_why", "refusal_reason").alias("refusal_reason"),
        )
        .drop("_code", "_why")
    )


def names_from(
    decisions: pl.DataFrame, rules_for: Callable[[str], SchemaRules]
) -> dict[SessionKey, SchemaNames]:
    """What counts as a bare schema name in each session of a frame of its decisions.

    The tables (and, where the tenant asks for it, columns) that the session's decisions name, those
    no longer in force included.
    """
    found: dict[SessionKey, tuple[set[str], set[str]]] = {
        (t, s): (set(), set()) for t, s in decisions.select(_SESSION).unique().rows()
    }
    named = decisions.select(*_SESSION, pl.col("tables").alias("name")).explode("name")
    for place, types in enumerate((TABLE_TYPES, COLUMN_TYPES)):
        chosen = decisions.filter(pl.col("type").is_in(sorted(types))).select(
            *_SESSION, pl.col("subject").alias("name")
        )
        rows = chosen if place else pl.concat([named, chosen])
        for tenant, session, name in rows.drop_nulls("name").unique().rows():
            found[tenant, session][place].add(name.strip())
    rules = {tenant: rules_for(tenant) for tenant, _ in found}
    return {
        key: SchemaNames(
            rules[key[0]].patterns,
            frozenset(tables - {""}),
            frozenset(columns - {""}) if rules[key[0]].with_columns else frozenset(),
        )
        for key, (tables, columns) in found.items()
    }
