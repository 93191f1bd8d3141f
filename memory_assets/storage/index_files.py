"""The files of an index table: which are new, making them durable, and taking back a bad HEAD."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_assets.storage.files import fsync_file, fsync_folder
from memory_assets.storage.index_errors import lance_errors

FileStamps = Mapping[str, tuple[int, int, int]]
"""Per file below the table's folder: (size, modification time in ns, inode)."""

_MANIFEST = re.compile(r"(\d+)\.manifest")
_NEWEST_FIRST = 2**64 - 1


def file_stamps(table_dir: Path) -> dict[str, tuple[int, int, int]]:
    """The stamps of every file of the table as it is now; empty for a table that is not there."""
    return dict(_walk(table_dir))


def fsync_new(table_dir: Path, since_version: int | None, known: FileStamps | None = None) -> int:
    """Count of files made durable; Lance itself never calls fsync.

    ``since_version`` is the version of the table that is already published, hence durable. Whatever
    was written after its manifest is new, **what a crashed run left behind included**: such files
    become part of the next version without being written again. ``known`` adds the files that
    changed since those stamps, in case the clock went back. None and None means every file.
    The folders, up to the one that holds the index folder, are made durable with them.
    """
    with lance_errors("making the index durable", str(table_dir)):
        since = _written_at(table_dir, since_version)
        new = [
            path
            for path, stamp in _walk(table_dir)
            if since is None
            or stamp[1] >= since
            or (known is not None and known.get(path) != stamp)
        ]
        for path in new:
            fsync_file(table_dir / path)
        folders = {(table_dir / path).parent for path in new}
        if new:
            folders |= {parent for folder in folders for parent in _below(folder, table_dir)}
            folders |= {table_dir, table_dir.parent, table_dir.parent.parent}
        for folder in sorted(folders, reverse=True):
            fsync_folder(folder)
    return len(new)


def manifests(table_dir: Path) -> dict[int, Path]:
    """The manifest file of each version that is on disk, oldest version first."""
    found = {}
    for path in (table_dir / "_versions").glob("*.manifest"):
        match = _MANIFEST.fullmatch(path.name)
        if match:
            number = int(match.group(1))
            # Long names count down from the largest number, so that a listing is newest first.
            found[_NEWEST_FIRST - number if len(match.group(1)) == 20 else number] = path
    return dict(sorted(found.items()))


def discard_after(table_dir: Path, version: int) -> list[int]:
    """The versions taken back: every one newer than the published ``version``.

    A power failure can leave the manifest of an unpublished version empty, and then nothing can be
    written to the table. No reader knows such a version, so its manifest may go; its data files are
    swept by a later clean-up. Call it under the publisher's lock only, and open the table anew.
    """
    with lance_errors("taking back unpublished versions of the index", str(table_dir)):
        newer = {v: path for v, path in manifests(table_dir).items() if v > version}
        for path in newer.values():
            path.unlink()
        if newer:
            # The hint names the newest version; without it Lance lists the folder.
            (table_dir / "_versions" / "latest_version_hint.json").unlink(missing_ok=True)
            fsync_folder(table_dir / "_versions")
    return list(newer)


def discard_tags_after(table_dir: Path, version: int) -> int:
    """Count of tags removed: those of versions newer than ``version``, and torn ones."""
    removed = 0
    for path in (table_dir / "_refs" / "tags").glob("*.json"):
        try:
            tagged = int(json.loads(path.read_bytes())["version"])
        except (OSError, ValueError, KeyError, TypeError):
            tagged = version + 1
        if tagged > version:
            with lance_errors("removing a tag of the index", str(path)):
                path.unlink(missing_ok=True)
            removed += 1
    return removed


def _written_at(table_dir: Path, version: int | None) -> int | None:
    path = manifests(table_dir).get(version) if version is not None else None
    return path.stat().st_mtime_ns if path else None


def _walk(folder: Path, prefix: str = "") -> Iterator[tuple[str, tuple[int, int, int]]]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            name = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(folder / entry.name, f"{name}/")
            else:
                stat = entry.stat(follow_symlinks=False)
                yield name, (stat.st_size, stat.st_mtime_ns, stat.st_ino)


def _below(folder: Path, top: Path) -> list[Path]:
    """The folder and its parents up to, and without, ``top``."""
    return [one for one in (folder, *folder.parents) if top in one.parents]
