"""The review boundary over tables: what no reviewer may be shown, and nobody may accept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

import polars as pl

from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.events import COLUMN_TYPES, TABLE_TYPES
from memory_assets.domain.review import REVIEWABLE_TYPES, review_refusal
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.steps.ledgers.decide import TenantRules, current_decisions
from memory_assets.storage.parts import DerivedTables

SessionKey = tuple[str, str]
_SESSION: Final = ["tenant_id", "session_id"]
_NAMING: Final = [*_SESSION, "type", "subject", "tables"]
_SPACES: Final = "".join(char for char in map(chr, range(0x3001)) if char.isspace())
"""What ``str.strip`` takes away; Polars' own idea of blanks is a little narrower."""
_FEW: Final = 1_000
"""Sessions up to which only their own rows are looked through; more are cheaper read whole."""


class NamesOf:
    """For sessions, what counts as a bare schema name in each: here the usual patterns alone.

    A reader of tables knows more; see ``NamesReader``.
    """

    def __call__(self, wanted: Collection[SessionKey]) -> Mapping[SessionKey, SchemaNames]:
        """The schema names of these sessions."""
        return dict.fromkeys(wanted, SchemaNames())

    def suspects(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows (session and subject) that could be refused for their name, and maybe others.

        It saves asking about each session in turn: nearly all subjects are no name of anything.
        """
        return rows


USUAL_NAMES: Final = NamesOf()


class NamesReader(NamesOf):
    """Reads the schema names of sessions from the decisions table."""

    def __init__(
        self,
        derived: DerivedTables,
        sessions: pl.DataFrame,
        rules_for: Callable[[str], TenantRules],
    ) -> None:
        self._derived = derived
        self._sessions = sessions
        self._rules_for = rules_for

    def __call__(self, wanted: Collection[SessionKey]) -> Mapping[SessionKey, SchemaNames]:
        """The schema names of these sessions."""
        if not wanted:
            return {}
        meant = pl.col("session_id").is_in(sorted({session for _, session in wanted}))
        found = current_decisions(self._derived, self._sessions, _NAMING, meant)
        return names_from(found, self._rules_for)

    def suspects(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows whose subject has the shape of a name, or is one that their session names."""
        own = rows["session_id"].unique().sort().to_list()
        meant = pl.col("session_id").is_in(own) if len(own) <= _FEW else None
        naming = current_decisions(self._derived, self._sessions, _NAMING, meant)
        named = pl.concat(
            [
                naming.select(*_SESSION, pl.col("tables").alias("name")).explode("name"),
                naming.filter(pl.col("type").is_in(sorted(TABLE_TYPES | COLUMN_TYPES))).select(
                    *_SESSION, pl.col("subject").alias("name")
                ),
            ]
        ).drop_nulls("name")
        asked = _stripped(rows, "subject")
        is_named = asked.join(
            _stripped(named, "name").unique().with_columns(pl.lit(True).alias("found")),
            on=[*_SESSION, "name"],
            how="left",
            maintain_order="left",
        )["found"].fill_null(False)
        return rows.filter(self._shaped(asked) | is_named)

    def _shaped(self, asked: pl.DataFrame) -> pl.Series:
        """Which names have the shape of a schema name; one with a blank inside never has."""
        one_word = ~pl.col("name").str.contains(f"[{_SPACES}]")
        words = asked.select("tenant_id", "name").filter(one_word).unique()
        names = {t: SchemaNames(self._rules_for(t).patterns) for t in words["tenant_id"].unique()}
        refused = [names[t].refusal(name) is not None for t, name in words.iter_rows()]
        found = words.filter(pl.Series(refused, dtype=pl.Boolean))
        joined = asked.join(
            found.with_columns(pl.lit(True).alias("shaped")),
            on=["tenant_id", "name"],
            how="left",
            maintain_order="left",
        )
        return joined["shaped"].fill_null(False)


def _stripped(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Sessions and names, stripped as the rule strips them."""
    return frame.select(*_SESSION, pl.col(column).str.strip_chars(_SPACES).alias("name"))


def hold_back(routes: pl.DataFrame, names_of: NamesOf) -> pl.DataFrame:
    """The routes with everything stopped that no reviewer may be shown, and nobody may accept.

    The review boundary on whatever would be promoted or offered: it holds even if the rules before
    it let schema choices through.
    """
    passing = pl.col("route").is_in(["accepted", "automatic", "review", "deferred"])
    rows = routes.filter(passing).select(*PROMOTION_KEY, "type", "subject")
    reusable = pl.col("type").is_in(sorted(REVIEWABLE_TYPES))
    rows = pl.concat([rows.filter(~reusable), names_of.suspects(rows.filter(reusable))])
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
    decisions: pl.DataFrame, rules_for: Callable[[str], TenantRules]
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
    rules = {tenant: rules_for(tenant) for tenant in {tenant for tenant, _ in found}}
    return {
        key: SchemaNames(
            rules[key[0]].patterns,
            frozenset(tables - {""}),
            frozenset(columns - {""}) if rules[key[0]].with_columns else frozenset(),
        )
        for key, (tables, columns) in found.items()
    }
