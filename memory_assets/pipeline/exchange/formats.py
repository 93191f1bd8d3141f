"""A snapshot of memories as a file: JSON lines, Parquet or Markdown; each reads back the same.

One place to extend: a format is one entry of :data:`FORMATS`, a writer and a reader. Bytes depend
on the rows alone, so two exports of one state are equal byte for byte.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import polars as pl

from memory_assets.domain.schemas import MEMORIES, Column, TableSpec
from memory_assets.errors import ImportRefused

_NAMES: Final = (
    "memory_id",
    "session_id",
    "decision_seq",
    "fact_no",
    "decided_at",
    "type",
    "subject",
    "detail",
    "rationale",
    "question_context",
    "tables",
    "concepts",
    "user_id",
    "client_id",
    "audience",
    "source",
    "metadata",
    "content_sha256",
)
_TIER: Final = Column("tier", pl.String, "core, recall or archival.")
_DECLARED: Final = {c.name: c for c in MEMORIES.columns}
SNAPSHOT: Final = TableSpec(
    "snapshot",
    "One active memory of a tenant, with its provenance and tier, as files exchange it.",
    (*(_DECLARED[name] for name in _NAMES), _TIER),
)
Row = dict[str, Any]
_DATA: Final = re.compile(rb"^<!-- memory (\{.*\}) -->$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Format:
    """How a snapshot is written and read back."""

    name: str
    suffix: str
    write: Callable[[pl.DataFrame], bytes]
    read: Callable[[bytes], list[Row]]
    """Raises ValueError when the bytes are not such a file."""


def write_jsonl(rows: pl.DataFrame) -> bytes:
    """One JSON object a line, keys in the declared order, times in ISO 8601."""
    return b"".join(_line(row) + b"\n" for row in rows.iter_rows(named=True))


def read_jsonl(data: bytes) -> list[Row]:
    """The rows of such a file."""
    return [_object(line) for line in data.split(b"\n") if line.strip()]


def write_parquet(rows: pl.DataFrame) -> bytes:
    """One Parquet file with the declared schema."""
    out = io.BytesIO()
    rows.write_parquet(out, compression="zstd", compression_level=3)
    return out.getvalue()


def read_parquet(data: bytes) -> list[Row]:
    """The rows of such a file."""
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError("it is no Parquet file") from error
    return [
        {**row, "decided_at": row["decided_at"].isoformat()}
        if row.get("decided_at") is not None and not isinstance(row["decided_at"], str)
        else row
        for row in frame.iter_rows(named=True)
    ]


def write_markdown(rows: pl.DataFrame) -> bytes:
    """A page for people, one section a memory; the data itself stands in a comment of each."""
    return b"".join(_section(row) for row in rows.iter_rows(named=True))


def read_markdown(data: bytes) -> list[Row]:
    """The rows in the page's comments; a page whose text was edited by hand is refused.

    Nobody can tell which of the two was meant, and the text alone does not hold a whole memory.
    """
    found = [_object(m.group(1)) for m in _DATA.finditer(data)]
    if b"".join(_section(row) for row in found) != data:
        raise ValueError("its text differs from its data: it was edited, import the .jsonl instead")
    return found


FORMATS: Final[Mapping[str, Format]] = {
    f.name: f
    for f in (
        Format("jsonl", ".jsonl", write_jsonl, read_jsonl),
        Format("parquet", ".parquet", write_parquet, read_parquet),
        Format("markdown", ".md", write_markdown, read_markdown),
    )
}


def read_snapshot(name: str, data: bytes) -> Sequence[Row]:
    """The rows of a snapshot file, its format told by the name's end.

    Raises:
        ImportRefused: there is no such format, or the bytes are not of it.
    """
    for one in FORMATS.values():
        if name.endswith(one.suffix):
            try:
                return one.read(data)
            except ValueError as error:
                raise ImportRefused(
                    f"The file cannot be read: {error}.", where=name, remedy="export it again."
                ) from error
    raise ImportRefused(
        "The file's name tells no format.",
        where=name,
        remedy=f"name it {', '.join('*' + f.suffix for f in FORMATS.values())}.",
    )


def _line(row: Mapping[str, Any]) -> bytes:
    known = {name: row[name] for name in SNAPSHOT.names()}
    if not isinstance(known["decided_at"], str):
        known["decided_at"] = known["decided_at"].isoformat()
    return msgspec.json.encode(known)


def _object(line: bytes) -> Row:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"a line is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError("a line is no JSON object")
    missing = [name for name in SNAPSHOT.names() if name not in found]
    if missing:
        raise ValueError(f"a row lacks {missing[0]}")
    return found


def _section(row: Mapping[str, Any]) -> bytes:
    subject = " ".join(str(row["subject"]).split())
    parts = [f"## {row['memory_id']} {subject}", str(row["detail"])]
    if row["rationale"]:
        parts.append(f"*Why:* {row['rationale']}")
    text = "\n\n".join(parts).encode("utf-8")
    return text + b"\n\n<!-- memory " + _commented(_line(row)) + b" -->\n\n"


def _commented(line: bytes) -> bytes:
    """The JSON without anything that could end the comment: as escapes that JSON undoes itself."""
    return line.replace(b"<", b"\\u003c").replace(b">", b"\\u003e")
