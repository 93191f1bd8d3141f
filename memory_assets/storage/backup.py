"""A generation copied out of a home while nights run, and copied back into an empty one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_assets.errors import BackupUnusable, CorruptStore, IndexMismatch, UsageError
from memory_assets.storage.files import write_atomically
from memory_assets.storage.generations import Generation, GenerationStore
from memory_assets.storage.home import Home
from memory_assets.storage.index_files import manifests
from memory_assets.storage.index_pinned import PinnedIndex, table_path
from memory_assets.storage.locks import exclusive

LIST: Final = "backup.json"
FORMAT: Final = 1
_TRIES: Final = 5
_BESIDE: Final = (
    "intents",
    "review",
    "access",
    "receipts",
    "answers",
    "merge",
    "tiers",
    "evaluations",
    "preflight",
    "probes",
)
"""Logs that only grow, answers that a rebuild would have to pay for again, and small tables; copied
after the generation, so they hold at least what it was made from."""
_SETTINGS: Final = ("settings.toml", "tenants.toml", "allocations.jsonl")
_SHORT_LIVED: Final = ("_transactions",)
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class BackupResult:
    """What was copied."""

    target: Path
    generation: int
    files: int
    bytes: int
    unreadable: tuple[str, ...] = ()
    """Embedding spaces whose index cannot be read; the registry makes them anew."""

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            "target": str(self.target),
            "generation": self.generation,
            "files": self.files,
            "bytes": self.bytes,
            "unreadable_spaces": list(self.unreadable),
        }


def back_up(
    store: GenerationStore, target: Path, *, now: datetime, progress: Progress | None = None
) -> BackupResult:
    """The published generation, whole, in a folder of its own with a hash of every file.

    Nights may go on: files of a generation never change, and logs only grow. The list of files is
    written last; without it the folder is no backup.

    Raises:
        UsageError: the target is not an empty folder.
        CorruptStore: a file is not what was published: there is nothing sound to copy.
        StoreWriteFailed: the target cannot be written.
    """
    _require_empty(target, "a backup")
    for left in reversed(range(_TRIES)):
        try:
            made = _copy(store, target, now, progress)
        except (FileNotFoundError, CorruptStore):
            if not left:
                raise
        else:
            # Collection removes the manifest first: while it is there, so is all that it names.
            if store.manifest_path(made.generation).exists():
                return made
        shutil.rmtree(target, ignore_errors=True)
    raise CorruptStore(
        f"The generation was collected {_TRIES} times while it was being copied.",
        where=str(store.home.root),
        remedy="raise keep_generations, or take the backup between nights.",
    )


def restore(source: Path, home: Home, *, progress: Progress | None = None) -> BackupResult:
    """The backup copied into an empty home, every file compared with its hash; CURRENT comes last.

    Raises:
        UsageError: the home is not empty.
        BackupUnusable: the folder is no backup, or a file of it is missing or was changed.
        StoreWriteFailed: the home cannot be written.
    """
    _require_empty(home.root, "a restored home")
    listed = _read_list(source)
    files: Mapping[str, str] = listed["files"]
    names = sorted(files, key=lambda name: name == "CURRENT")
    size = 0
    for done, name in enumerate(names, 1):
        try:
            data = (source / name).read_bytes()
        except OSError as error:
            raise _unusable(source, f"{name} cannot be read: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != files[name]:
            raise _unusable(source, f"{name} differs from its hash")
        write_atomically(home.root / name, data)
        size += len(data)
        if progress is not None:
            progress(done, len(names))
    return BackupResult(home.root, int(listed["generation"]), len(names), size)


def disk_use(home: Home) -> dict[str, int]:
    """Bytes per part of a home, largest first."""
    used: dict[str, int] = {}
    for entry in home.root.iterdir() if home.root.is_dir() else ():
        files = entry.rglob("*") if entry.is_dir() else [entry]
        used[entry.name] = sum(_size(p) for p in files)
    return dict(sorted(used.items(), key=lambda item: (-item[1], item[0])))


def _copy(
    store: GenerationStore, target: Path, now: datetime, progress: Progress | None
) -> BackupResult:
    generation, _ = store.current(verify=True)
    found = store.pointer.read()
    if found is None:
        raise UsageError("Nothing has been published yet.", remedy="run a night first.")
    current = found[0]
    if json.loads(current)["generation"] != generation.number:
        return _copy(store, target, now, progress)
    names = list(_files_of(store, generation))
    hashes: dict[str, str] = {}
    size = 0
    for done, name in enumerate(names, 1):
        copied = _copy_file(store.home.root / name, target / name)
        if copied is not None:
            hashes[name], length = copied
            size += length
        if progress is not None:
            progress(done, len(names))
    for name, data in (*_logs(store.home), ("CURRENT", current)):
        write_atomically(target / name, data)
        hashes[name] = hashlib.sha256(data).hexdigest()
        size += len(data)
    body = {
        "format": FORMAT,
        "generation": generation.number,
        "published_at": generation.published_at,
        "made_at": now.isoformat(),
        "files": dict(sorted(hashes.items())),
    }
    write_atomically(target / LIST, json.dumps(body, indent=1).encode())
    unreadable = tuple(_unreadable_spaces(generation, target))
    return BackupResult(target, generation.number, len(hashes), size, unreadable)


def _unreadable_spaces(generation: Generation, target: Path) -> Iterator[str]:
    """Spaces of which the copy cannot be read in full."""
    for space in generation.spaces:
        try:
            index = PinnedIndex(Home(target).index, space.table, space.version)
            index.rows()
            index.keys()
        except (IndexMismatch, CorruptStore):
            yield space.space.space_id


def _files_of(store: GenerationStore, generation: Generation) -> Iterator[str]:
    """Every file that the generation is read from, below the home's root."""
    root = store.home.root
    yield store.manifest_path(generation.number).relative_to(root).as_posix()
    for parts in generation.tables.values():
        for part in parts:
            yield (store.home.registry / part.path).relative_to(root).as_posix()
    for space in generation.spaces:
        folder = table_path(store.home.index, space.table)
        others = {path for v, path in manifests(folder).items() if v != space.version}
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder).parts
            if inside[0] in _SHORT_LIVED or path in others or not path.is_file():
                continue
            if path.name == "latest_version_hint.json" or inside[0] == "_refs":
                continue  # they may name versions that are not copied; the next night writes them
            yield path.relative_to(root).as_posix()


def _logs(home: Home) -> Iterator[tuple[str, bytes]]:
    for folder in _BESIDE:
        for path in sorted((home.root / folder).rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                data = path.read_bytes()
                if path.suffix == ".jsonl":
                    data = data[: data.rfind(b"\n") + 1]  # a line that is being written is not yet
                yield path.relative_to(home.root).as_posix(), data
    for name in _SETTINGS:
        path = home.root / name
        if path.is_file():
            yield name, path.read_bytes()
    if home.derived.is_dir():
        with _nobody_writes_derived(home):
            for path in sorted(home.derived.rglob("*")):
                if path.is_file() and not path.name.startswith("."):
                    yield path.relative_to(home.root).as_posix(), path.read_bytes()


@contextmanager
def _nobody_writes_derived(home: Home) -> Iterator[None]:
    """A lock, where one can be made: on a read-only file system nobody writes anyway."""
    if os.statvfs(home.root).f_flag & os.ST_RDONLY:
        yield
        return
    with exclusive(home.derived_lock, purpose="backing up derived tables", wait=True):
        yield


def _copy_file(source: Path, target: Path) -> tuple[str, int] | None:
    """Hash and length of the copy; None for a file that was collected meanwhile.

    An index folder also holds what no kept version names; see ``back_up`` for what is missed.
    """
    try:
        data = source.read_bytes()
    except FileNotFoundError:
        return None
    write_atomically(target, data)
    return hashlib.sha256(data).hexdigest(), len(data)


def _read_list(source: Path) -> dict[str, Any]:
    try:
        found = json.loads((source / LIST).read_bytes())
    except (OSError, ValueError) as error:
        raise _unusable(source, f"its {LIST} cannot be read") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _unusable(source, f"its {LIST} has another format")
    return found


def _unusable(source: Path, why: str) -> BackupUnusable:
    return BackupUnusable(
        f"This is no sound backup: {why}.",
        where=str(source),
        remedy="take another backup; remove the home that was begun before you restore again.",
    )


def _require_empty(folder: Path, what: str) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"The place for {what} is not an empty folder.",
            where=str(folder),
            remedy="name a folder that does not exist yet, or an empty one.",
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
