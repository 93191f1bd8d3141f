"""What a killed publication left behind, taken back before the next one begins."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from memory_assets.storage.files import write_errors
from memory_assets.storage.generations import Generation, GenerationStore
from memory_assets.storage.index_files import discard_after, discard_tags_after


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was found and taken back; all zero after a publication that ended well."""

    unpublished: int = 0
    """Manifests that no CURRENT ever named."""
    index_versions: int = 0
    """Index versions newer than the published ones."""
    index_tables: int = 0
    """Index tables that no generation names."""
    temporary: int = 0
    """Files whose writing was cut short."""

    def __bool__(self) -> bool:
        return bool(self.unpublished or self.index_versions or self.index_tables or self.temporary)


def recover(store: GenerationStore, current: Generation) -> Recovery:
    """What was taken back, so that the files are those of the published generations again.

    Readers know published versions only, so nothing that anybody can see is touched. The same code
    runs at every start; after a clean end it finds nothing. Unpublished index rows are not taken
    over: after a loss of power nobody could tell a torn file of them from a whole one, and their
    vectors wait in the cache. Call it under the publisher's lock.

    Raises:
        StoreWriteFailed: a leftover cannot be removed.
    """
    unpublished = [n for n in store.with_manifest() if not current.floor <= n <= current.number]
    for number in unpublished:
        remove_generation(store, number)
    versions, tables = _take_back_index(store, current)
    temporary = 0
    for pattern in (".CURRENT.*.tmp", "generations/*/.*.tmp", "registry/*/.*.tmp"):
        for path in store.home.root.glob(pattern):
            with write_errors(path):
                path.unlink(missing_ok=True)
            temporary += 1
    return Recovery(len(unpublished), versions, tables, temporary)


def remove_generation(store: GenerationStore, number: int) -> None:
    """Removes one generation's folder: the manifest first, so that nobody starts to read it."""
    manifest = store.manifest_path(number)
    with write_errors(manifest):
        manifest.unlink(missing_ok=True)
        shutil.rmtree(manifest.parent, ignore_errors=True)


def pinned_versions(store: GenerationStore, current: Generation) -> dict[str, set[int]]:
    """For each index table, the versions that a kept generation names."""
    pinned: dict[str, set[int]] = {}
    for number in store.kept(current):
        generation = current if number == current.number else store.find(number)
        for space in generation.spaces if generation else ():
            pinned.setdefault(space.table, set()).add(space.version)
    return pinned


def _take_back_index(store: GenerationStore, current: Generation) -> tuple[int, int]:
    pinned = pinned_versions(store, current)
    versions = tables = 0
    for folder in sorted(store.home.index.glob("*.lance")):
        known = pinned.get(folder.name.removesuffix(".lance"))
        if known is None:
            with write_errors(folder):
                shutil.rmtree(folder)
            tables += 1
            continue
        newest = max(known)
        versions += len(discard_after(folder, newest))
        discard_tags_after(folder, newest)
    return versions, tables
