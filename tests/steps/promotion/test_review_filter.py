"""Looking closely at suspects only finds every row that the review boundary refuses."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.review import review_refusal
from memory_assets.domain.schemas import SESSIONS
from memory_assets.steps.ledgers import ingest as reading
from memory_assets.steps.ledgers.decide import TenantRules, decide
from memory_assets.steps.promotion.review_filter import NamesReader
from memory_assets.storage.parts import DerivedTables
from tests.building import close, jsonl, row

TENANTS = ("bank", "clinic")
SESSION = "s1"
TABLE = "ricoveri per reparto"
PATTERNS = {"bank": ("tbl_*",), "clinic": ("fact_*", "dim_*")}
blanks = st.text("".join(c for c in map(chr, range(0x3001)) if c.isspace()) + "\u200b", max_size=3)
names = st.sampled_from([TABLE, "loans", "fact_visits", "dim_time", "tbl_x", "LOS", "length", "`"])
subjects = st.lists(st.one_of(names, blanks, st.sampled_from("`'\"")), min_size=1, max_size=5)


@pytest.fixture(scope="module", name="reader")
def _reader(tmp_path_factory: pytest.TempPathFactory) -> NamesReader:
    """Each tenant has one session that names a table; the clinic's has blanks in its name."""
    folder: Path = tmp_path_factory.mktemp("ledgers")
    for tenant, table in zip(TENANTS, ("loans", f" {TABLE} "), strict=True):
        (folder / tenant).mkdir()
        rows = [row(1, "table_promoted", subject=table, phase="F1"), close(2)]
        (folder / tenant / f"{SESSION}.jsonl").write_bytes(jsonl(rows))
    derived = DerivedTables(tmp_path_factory.mktemp("derived"))
    reading.ingest(folder, derived)
    decide(derived)
    sessions = derived.read(reading.GROUP, SESSIONS)
    assert sessions.height == len(TENANTS)
    return NamesReader(derived, sessions, lambda tenant: TenantRules(PATTERNS[tenant]))


@given(st.lists(st.tuples(st.sampled_from(TENANTS), subjects.map("".join)), max_size=12))
def test_whatever_is_refused_was_a_suspect(
    reader: NamesReader, asked: list[tuple[str, str]]
) -> None:
    """Whatever blanks and quotes stand around or within a name, of either tenant."""
    rows = pl.DataFrame(
        [(tenant, SESSION, subject) for tenant, subject in asked],
        schema={"tenant_id": pl.String, "session_id": pl.String, "subject": pl.String},
        orient="row",
    )
    known = reader({(tenant, SESSION) for tenant in TENANTS})
    refused = [
        r
        for r in rows.iter_rows()
        if review_refusal("concept_clarified", r[2], known[r[0], r[1]]) is not None
    ]
    found = reader.suspects(rows).rows()
    assert [r for r in refused if r not in found] == []


def test_hardly_anything_else_is_a_suspect(reader: NamesReader) -> None:
    """Concepts are left alone, and so is what only another tenant's session names."""
    rows = pl.DataFrame(
        {
            "tenant_id": ["clinic"] * 5,
            "session_id": [SESSION] * 5,
            "subject": ["length of stay", "loans", "dim_time ", TABLE, "fact visits"],
        }
    )
    assert reader.suspects(rows)["subject"].to_list() == ["dim_time ", TABLE]
