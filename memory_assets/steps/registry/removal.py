"""What a removal must still take away once registry and index are free of it."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_assets.domain.intents import MemoryKey, Recorded, Redacted, Remove, named_memories
from memory_assets.domain.keys import MEMORY_ID
from memory_assets.domain.merge_tables import DUPLICATE_PAIRS, MERGE_PROPOSALS
from memory_assets.domain.ports import VectorCache
from memory_assets.domain.schemas import PROMOTION_KEY, TABLES
from memory_assets.domain.spaces import definition_text, search_text, text_sha256
from memory_assets.steps.registry.view import RegistryView, frame_of_keys
from memory_assets.steps.tables.blanking import blanked, buried_rows, unnamed
from memory_assets.storage.answers import AnswerStore
from memory_assets.storage.feedback_log import forget_feedback
from memory_assets.storage.files import write_errors
from memory_assets.storage.home import Home
from memory_assets.storage.intents import rewrite_intents
from memory_assets.storage.locks import exclusive
from memory_assets.storage.parts import DerivedTables
from memory_assets.storage.redaction import drop_lines

_ID = ["tenant_id", "memory_id"]
_TEXTS: Final = ("type", "subject", "detail", "rationale", "question_context")


@dataclass(frozen=True, slots=True)
class ScrubResult:
    """What was taken out of the files beside the registry."""

    lines: int
    """Lines of intents, review files, feedback and access log, and answers of models."""
    derived_tables: int
    """Tables made anew, those of the merge included."""
    vectors: int
    """Vectors of texts that never became a memory."""


def forget_texts(cache: VectorCache, before: RegistryView, removed: Collection[MemoryKey]) -> int:
    """Count of cached vectors deleted: those of the texts of removed memories, in both recipes.

    It runs before the commit, while the texts can be read; a cache may lose more than it must.
    """
    gone = pl.DataFrame(list(removed), schema=dict.fromkeys(_ID, pl.String), orient="row")
    keys: set[str] = set()
    for frame in (before.memories, before.corroborations):
        for row in frame.join(gone, on=_ID, how="semi").iter_rows(named=True):
            keys.update(_text_keys(row))
    return cache.delete(sorted(keys))


def _text_keys(row: Mapping[str, Any]) -> Iterator[str]:
    """Keys in the cache of what is embedded of a row, in both recipes."""
    yield text_sha256(definition_text(subject=row["subject"], detail=row["detail"]))
    content = {name: row[name] for name in _TEXTS}
    yield text_sha256(search_text(**content, concepts=row["concepts"], tables=row["tables"]))


def scrub(
    home: Home, derived: DerivedTables, cache: VectorCache, tombstones: pl.DataFrame
) -> ScrubResult:
    """What was taken out of the files beside the registry; a second time finds nothing.

    It goes by the tombstones alone, so that a run that was killed can be ended by the next one.

    Raises:
        StoreWriteFailed: a file cannot be written.
    """
    memories = set(tombstones.drop_nulls("memory_id").select(_ID).rows())
    keys = set(tombstones.select(PROMOTION_KEY).rows())

    def redact(line: Recorded) -> Recorded:
        intent = line.intent
        if isinstance(intent, Remove | Redacted) or memories.isdisjoint(named_memories(intent)):
            return line
        blank = Redacted(
            tenant_id=intent.tenant_id, decided_by=intent.decided_by, decided_at=intent.decided_at
        )
        return Recorded(line.no, blank)

    def names(row: Mapping[str, object]) -> bool:
        tenant = row.get("tenant_id")
        named = {row.get(name) for name in ("memory_id", "memory_a", "memory_b")}
        named |= {f"mem-{n}" for n in MEMORY_ID.findall(str(row.get("proposal", "")))}
        key = tuple(row.get(name, 0 if name == "fact_no" else None) for name in PROMOTION_KEY)
        return key in keys or any((tenant, memory) in memories for memory in named)

    lines = rewrite_intents(home, redact) + forget_feedback(home.feedback, memories)
    for folder in (home.review_decisions.parent, home.access_log):
        lines += sum(drop_lines(path, names) for path in sorted(folder.rglob("*.jsonl")))
    lines += AnswerStore(home.answers).forget_sources({key[:3] for key in keys})
    buried = frame_of_keys(keys)
    with exclusive(home.derived_lock, purpose="redacting derived tables", wait=True):
        vectors = _forget_rows(cache, derived, buried)
        tables = derived.rewrite(
            lambda spec, frame: unnamed(spec, blanked(spec, frame, buried), memories)
        )
    return ScrubResult(lines, tables + _forget_merge(home, memories), vectors)


def _forget_rows(cache: VectorCache, derived: DerivedTables, buried: pl.DataFrame) -> int:
    """Count of cached vectors deleted: candidates are embedded too, promoted or not.

    It comes before the rows are blanked, so that a kill between the two loses no text's key.
    """
    keys: set[str] = set()
    for group in derived.groups():
        for name, parts in derived.head(group).items():
            spec = TABLES[name]
            if {*_TEXTS, "concepts", "tables", "decision_seq"} <= set(spec.names()):
                for row in buried_rows(derived.parts.read(spec, parts), buried).iter_rows(
                    named=True
                ):
                    keys.update(_text_keys(row))
    return cache.delete(sorted(keys)) if keys else 0


def _forget_merge(home: Home, removed: Collection[MemoryKey]) -> int:
    """Count of files removed: if a table of the merge names a removed memory, all of them go.

    The next plan makes them anew, and until then nothing is merged automatically.
    """
    if not home.merge.is_dir():
        return 0
    with exclusive(home.merge_lock, purpose="redacting the tables of the merge", wait=True):
        files = sorted(home.merge.glob("*/*.parquet"))
        if not any(_names_one(path, set(removed)) for path in files):
            return 0
        with write_errors(home.merge):
            shutil.rmtree(home.merge)
    return len(files)


def _names_one(path: Path, removed: set[MemoryKey]) -> bool:
    """Whether a file of the merge names a removed memory; one that cannot be read may."""
    try:
        frame = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError):
        return True
    if path.parent.name == DUPLICATE_PAIRS.name:
        members = pl.concat_list("memory_a", "memory_b")
    elif path.parent.name == MERGE_PROPOSALS.name:
        members = pl.col("members")
    else:
        return False
    found = frame.select("tenant_id", members.alias("members")).explode("members")
    return not removed.isdisjoint(found.iter_rows())
