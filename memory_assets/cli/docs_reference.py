"""The pages on events and tables: what rows and columns mean, from the declarations themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from memory_assets.domain.events import EVENT_TYPES, PHASES, REUSABLE_TYPES, EventType
from memory_assets.domain.merge_tables import MERGE_TABLES
from memory_assets.domain.projections import INDEX_ROWS, LEDGER_ROWS, VECTORS
from memory_assets.domain.schemas import DERIVED_TABLES, REGISTRY_TABLES, TableSpec

NOTE: Final = (
    "<!-- Written by `python -m memory_assets.cli.docs docs`: change the code, not this. -->"
)
_EVENTS: Final = (
    "A ledger is one JSONL file per session, `<ledgers>/<tenant>/<session>.jsonl`, to which rows "
    "are only ever appended. `memory-assets ledger schema` prints the same as JSON Schema, and "
    "`memory-assets ledger lint` checks files against it. A type that is not listed is kept, "
    "counted and ignored; unknown fields are kept."
)
_TABLES: Final = (
    "Every table is a set of Parquet files under the home folder; `registry.duckdb` shows those of "
    "the registry as SQL views. Times are UTC. A column may be null only where that is said. The "
    "Dagster UI shows the same columns with their lineage."
)


def events_page() -> str:
    """The reference of ledger rows: event types and fields."""
    lines = ["# Ledger rows", "", NOTE, "", _EVENTS, "", "## Event types", ""]
    lines += ["| type | meaning | decides | phase | detail names |", "|---|---|---|---|---|"]
    lines += [_row(_event(event)) for event in EVENT_TYPES.values()]
    phases = ", ".join(f"`{phase}`" for phase in PHASES)
    reusable = ", ".join(f"`{name}`" for name in sorted(REUSABLE_TYPES))
    lines += ["", f"Phases in order: {phases}. Only {reusable} can ever become memory."]
    lines += ["", "## Fields", "", *_columns(LEDGER_ROWS)]
    return "\n".join(lines) + "\n"


def tables_page() -> str:
    """The data dictionary: every table with its columns."""
    lines = ["# Tables", "", NOTE, "", _TABLES]
    for title, meaning, tables in _PARTS:
        lines += ["", f"## {title}", "", meaning]
        for spec in tables:
            lines += ["", f"### {spec.name}", "", spec.meaning, "", *_columns(spec)]
    return "\n".join(lines) + "\n"


_PARTS: Final[tuple[tuple[str, str, Sequence[TableSpec]], ...]] = (
    (
        "Derived tables",
        "Under `derived/`: worked out from the ledgers, and made again from them at any time.",
        DERIVED_TABLES,
    ),
    (
        "Semantic merge",
        "Under `merge/`: ids and figures, made again from the registry by the next plan.",
        MERGE_TABLES,
    ),
    (
        "Registry",
        "Under `registry/`: append-only; a generation lists its parts. A backup holds them.",
        REGISTRY_TABLES,
    ),
    (
        "Search index",
        "Under `index/`: one LanceDB table per embedding space, made again from the registry.",
        (INDEX_ROWS, VECTORS),
    ),
)


def _event(event: EventType) -> tuple[str, ...]:
    names = {"decision": "a row", "decision_or_memory": "a row or a memory", None: ""}
    return (
        f"`{event.name}`",
        _cell(event.meaning),
        "yes" if event.decides else "",
        "required" if event.phase_required else "",
        names[event.reference],
    )


def _columns(spec: TableSpec) -> Iterator[str]:
    yield from ("| column | type | null | meaning |", "|---|---|---|---|")
    for column in spec.columns:
        null = "yes" if column.nullable else ""
        yield _row((f"`{column.name}`", f"`{column.dtype}`", null, _cell(column.meaning)))


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("``", "`").replace("<", "&lt;")).strip()


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
