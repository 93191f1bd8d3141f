"""The gate in front of the index: LanceDB would store nearly anything, this lets sound rows in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.errors import IndexMismatch
from memory_assets.storage.index_schema import KIND, row_key


def sound_rows(
    rows: pa.Table, keys: list[str], wanted: pl.DataFrame, schema: pa.Schema
) -> pa.Table:
    """``rows`` in the types of ``schema``, once nothing speaks against them.

    They must be exactly the rows of ``keys``, each once; memories only; keyed by tenant and memory
    id; with the hash that ``wanted`` (row_key, index_sha256, ...) names, or they would be written
    again every night; their vectors finite, or null while pending.

    Raises:
        IndexMismatch: one of these does not hold; the message names examples.
    """
    missing = [name for name in schema.names if name not in rows.column_names]
    if missing:
        raise _refused("rows for the index lack columns", missing)
    try:
        rows = rows.select(schema.names).cast(schema)
    # A cast that loses values is an ArrowInvalid, one that Arrow does not know is not implemented,
    # and a null where none may be, or a list of another length, is a plain ValueError.
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise _refused("rows for the index have wrong types", [str(error)]) from error
    heads = pl.DataFrame(
        rows.select(["row_key", "kind", "tenant_id", "memory_id", "index_sha256"]).to_pydict()
    )
    _check_keys(heads, keys)
    others = heads.filter(pl.col("kind") != KIND)["row_key"]
    if len(others):
        raise _refused(f"only rows of kind {KIND!r} may enter the index", others)
    stale = heads.join(wanted, on=["row_key", "index_sha256"], how="anti")["row_key"]
    if len(stale):
        raise _refused("rows for the index have another hash than the target", stale)
    _check_vectors(rows)
    return rows


def _check_keys(heads: pl.DataFrame, keys: list[str]) -> None:
    found = heads["row_key"].to_list()
    if sorted(found) != sorted(keys):
        odd = sorted(set(found) ^ set(keys)) or _repeated(found)
        raise _refused("rows for the index are not the ones asked for", odd)
    wrong = [
        key
        for key, tenant, memory in heads.select("row_key", "tenant_id", "memory_id").iter_rows()
        if key != row_key(tenant, memory)
    ]
    if wrong:
        raise _refused("row keys differ from tenant_id/memory_id", wrong)


def _repeated(keys: list[str]) -> list[str]:
    return sorted(key for key, count in Counter(keys).items() if count > 1)


def _check_vectors(rows: pa.Table) -> None:
    present = rows.filter(pc.is_valid(rows["vector"]))
    values = present["vector"].combine_chunks().flatten()
    if values.null_count or not pc.all(pc.is_finite(values), min_count=0).as_py():
        raise _refused(
            "vectors for the index hold values that are no finite numbers", present["row_key"]
        )


def _refused(what: str, examples: Iterable[object]) -> IndexMismatch:
    shown = ", ".join(str(one) for one in list(examples)[:5])
    return IndexMismatch(
        f"{what}: {shown}", remedy="nothing was published; report it, the registry never yields it."
    )
