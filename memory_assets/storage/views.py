"""``registry.duckdb``: the published registry as SQL views, for people and their tools."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from memory_assets.domain.schemas import REGISTRY_TABLES, TableSpec
from memory_assets.errors import StoreWriteFailed
from memory_assets.storage.files import make_folder
from memory_assets.storage.generations import Generation
from memory_assets.storage.home import Home

FILE_NAME: Final = "registry.duckdb"
_ACTIVE: Final = """
create view active_memories as
with replaced as (
    select tenant_id, memory_id, arg_max(superseded_by, generation) as superseded_by
    from supersessions group by all having not arg_max(retracted, generation)
), tier as (
    select tenant_id, memory_id, arg_max(tier, generation) as tier
    from tier_assignments group by all
), seen as (
    select tenant_id, memory_id, count(*) as corroborations from corroborations group by all
)
select m.*, coalesce(t.tier, 'recall') as tier, coalesce(s.corroborations, 0) as corroborations
from memories m
left join tier t using (tenant_id, memory_id)
left join seen s using (tenant_id, memory_id)
where not exists (from replaced r where r.tenant_id = m.tenant_id and r.memory_id = m.memory_id)
  and not exists (from retirements x where x.tenant_id = m.tenant_id and x.memory_id = m.memory_id)
"""


def write_views(home: Home, generation: Generation) -> Path:
    """The path of a small DuckDB file whose views read the generation's Parquet parts.

    It holds no rows of its own and is replaced whole, so readers may keep an old one open and no
    writer ever locks them out. Column comments come from the declared schemas.

    Raises:
        StoreWriteFailed: it cannot be written.
    """
    import duckdb

    make_folder(home.root)
    target = home.root / FILE_NAME
    temporary = home.root / f".{FILE_NAME}.{os.getpid()}.tmp"
    temporary.unlink(missing_ok=True)
    try:
        with duckdb.connect(str(temporary)) as db:
            for spec in REGISTRY_TABLES:
                db.execute(_view(home, generation, spec))
                db.execute(f"comment on view {spec.name} is {_quoted(spec.meaning)}")
            db.execute(_ACTIVE)
            db.execute(
                "create view generation as select "
                f"{generation.number} as generation, {_quoted(generation.published_at)} as "
                f"published_at, {_quoted(generation.run_id)} as run_id"
            )
        temporary.replace(target)
    except (OSError, duckdb.Error) as error:
        temporary.unlink(missing_ok=True)
        raise StoreWriteFailed(
            f"The SQL views cannot be written: {error}.",
            where=str(target),
            remedy="free space or mend the folder, then materialize registry_views again; the "
            "registry itself is published.",
        ) from error
    return target


def _view(home: Home, generation: Generation, spec: TableSpec) -> str:
    parts = [str(home.registry / p.path) for p in generation.tables.get(spec.name, ())]
    if parts:
        files = ", ".join(_quoted(p) for p in parts)
        # By name: parts of an earlier version may lack a column that was added since.
        return f"create view {spec.name} as from read_parquet([{files}], union_by_name = true)"
    columns = ", ".join(f"null::{_sql_type(str(c.dtype))} as {c.name}" for c in spec.columns)
    return f"create view {spec.name} as select {columns} where false"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _sql_type(dtype: str) -> str:
    if dtype.startswith("Datetime"):
        return "timestamptz"
    if dtype.startswith("List"):
        return "varchar[]"
    return {"Int64": "bigint", "Boolean": "boolean", "Float64": "double"}.get(dtype, "varchar")
