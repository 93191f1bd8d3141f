"""Model folders on disk: found, hashed once, built at most once however many processes ask."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_MARK = "COMPLETE.json"
_ABANDONED_AFTER_SECONDS = 3_600.0


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as readable JSON."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def package_folder(package: str) -> Path | None:
    """The folder of an installed package, found without importing it; None where it is absent."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file's bytes, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def built_folder(target: Path, build: Callable[[Path], None]) -> Path:
    """``target``, complete: as found, or built now.

    ``build`` fills a folder beside the target, which is then renamed: a reader never sees half a
    model, two processes that build at once waste work and nothing else, and a folder that lost a
    file (or was cut short by a crash of the machine) is built anew.
    """
    if _is_complete(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    work = _beside(target)
    try:
        build(work)
        files = [path for path in sorted(work.rglob("*")) if path.is_file()]
        sizes = {path.relative_to(work).as_posix(): path.stat().st_size for path in files}
        write_json(work / _MARK, {"files": sizes})
        _sync([*files, work / _MARK])
        _put_in_place(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _beside(target: Path) -> Path:
    """A new empty folder next to ``target``, with the permissions any folder gets here."""
    work = target.parent / f".{target.name}-{os.getpid()}-{secrets.token_hex(4)}"
    work.mkdir()
    return work


def _remove_abandoned(target: Path) -> None:
    """Half-built folders whose builder was killed; recent ones may still be growing."""
    for work in target.parent.glob(f".{target.name}-*"):
        with contextlib.suppress(OSError):
            if time.time() - work.stat().st_mtime > _ABANDONED_AFTER_SECONDS:
                shutil.rmtree(work, ignore_errors=True)


def _is_complete(folder: Path) -> bool:
    try:
        sizes = json.loads((folder / _MARK).read_text(encoding="utf-8"))["files"]
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _sync(paths: Iterable[Path]) -> None:
    for path in paths:
        with path.open("rb") as stream:
            os.fsync(stream.fileno())


def _put_in_place(work: Path, target: Path) -> None:
    try:
        work.rename(target)
        return
    except OSError:
        if _is_complete(target):
            return
    broken = _beside(target)
    try:
        with contextlib.suppress(FileNotFoundError):
            target.rename(broken / "old")
        work.rename(target)
    except OSError:
        if not _is_complete(target):
            raise
    finally:
        shutil.rmtree(broken, ignore_errors=True)
