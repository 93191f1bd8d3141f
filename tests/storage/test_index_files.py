"""Durability, tags, clean-up and taking back versions: the files below the table's folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_assets.errors import CorruptStore, IndexMismatch
from memory_assets.storage.files import fsync_file, fsync_folder
from memory_assets.storage.index import SpaceIndex
from memory_assets.storage.index_files import discard_after, discard_tags_after, manifests
from tests.storage.index_samples import SPACE, Source, row, source


def sync(index: SpaceIndex, wanted: Source) -> int:
    return index.sync(wanted.target, wanted.rows_for).version


def all_files(index: SpaceIndex) -> set[Path]:
    return {path for path in index.path.rglob("*") if path.is_file()}


@pytest.fixture
def index(tmp_path: Path) -> SpaceIndex:
    return SpaceIndex.open(tmp_path / "index", SPACE)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """The files and folders that were really made durable while the test ran."""
    done: set[Path] = set()

    def file(path: Path) -> None:
        fsync_file(path)
        done.add(path)

    def folder(path: Path) -> None:
        fsync_folder(path)
        done.add(path)

    monkeypatch.setattr("memory_assets.storage.index_files.fsync_file", file)
    monkeypatch.setattr("memory_assets.storage.index_files.fsync_folder", folder)
    return done


def test_first_publication_makes_every_file_and_folder_durable(
    index: SpaceIndex, synced: set[Path]
) -> None:
    """Without a published version all files count, and all folders up to the home's."""
    sync(index, source(1, 2))
    index.tag("staged-1")
    assert index.fsync_new(None) == len(all_files(index))
    folders = {path.parent for path in all_files(index)}
    assert synced == all_files(index) | folders | {
        index.path / "_indices",
        index.path / "_refs",
        index.path,
        index.index_dir,
        index.index_dir.parent,
    }


def test_later_publication_makes_only_new_files_durable(
    index: SpaceIndex, synced: set[Path]
) -> None:
    """The cost follows what is new: files of the published version are left alone."""
    published = sync(index, source(*range(20)))
    before = all_files(index)
    for path in before - {manifests(index.path)[published]}:
        # File times are only as fine as the kernel's tick; a real night leaves hours between.
        os.utime(path, ns=(0, path.stat().st_mtime_ns - 10**9))
    known = index.stamps()
    sync(index, Source([row(n) for n in range(21)]))
    index.tag("staged-2")
    index.fsync_new(published, known)
    assert all_files(index) - before <= synced
    assert not (synced & {path for path in before if path.suffix in (".lance", ".txn")})


def test_files_of_a_crashed_run_are_made_durable_too(index: SpaceIndex, synced: set[Path]) -> None:
    """A crashed run's rows join the next version unwritten, so its files are new as well."""
    published = sync(index, source(1))
    before = all_files(index)
    sync(index, source(1, 2))
    left_behind = all_files(index) - before
    again = SpaceIndex.open(index.index_dir, SPACE)
    known = again.stamps()
    sync(again, source(1, 2))
    again.fsync_new(published, known)
    assert left_behind <= synced


def test_files_written_while_the_clock_was_behind_are_found_by_their_stamps(
    index: SpaceIndex, synced: set[Path]
) -> None:
    """A clock that went back hides nothing from the list of known files."""
    published = sync(index, source(1))
    before, known = all_files(index), index.stamps()
    sync(index, source(1, 2))
    new = all_files(index) - before
    for path in new:
        os.utime(path, ns=(0, 0))
    index.fsync_new(published, known)
    assert new <= synced


def test_nothing_new_costs_nothing(index: SpaceIndex, synced: set[Path]) -> None:
    """A table that is not there has no files to make durable."""
    missing = SpaceIndex.open(index.index_dir / "other", SPACE)
    for path in sorted(missing.path.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert missing.fsync_new(None) == 0
    assert synced == set()


def test_tags_are_set_moved_and_removed(index: SpaceIndex) -> None:
    """Tagging and untagging can be repeated, so a recovery may run them again."""
    first = sync(index, source(1))
    index.tag("published")
    index.tag("published")
    second = sync(index, source(2))
    index.tag("staged", second)
    assert index.tags() == {"published": first, "staged": second}
    index.tag("published", second)
    index.untag("staged")
    index.untag("staged")
    assert SpaceIndex.open(index.index_dir, SPACE).tags() == {"published": second}


def test_tag_of_a_version_that_is_gone_is_a_named_error(index: SpaceIndex) -> None:
    """A tag never names nothing."""
    with pytest.raises(IndexMismatch):
        index.tag("staged", 77)


def test_tagged_versions_survive_the_clean_up(index: SpaceIndex) -> None:
    """Untagged old versions go; tagged ones stay readable, rows and search."""
    kept = sync(index, source(*range(10)))
    index.tag("generation-1")
    lost = sync(index, Source([row(n, detail="second") for n in range(10)]))
    index.optimize()
    last = sync(index, Source([row(n, detail="third") for n in range(10)]))
    removed = index.cleanup(1, unreferenced_too=True)
    assert removed.versions > 0
    assert removed.bytes > 0
    assert set(manifests(index.path)) == {kept, last}
    with pytest.raises(IndexMismatch):
        index.pin(lost)
    old = index.pin(kept)
    assert old.rows(["row_key", "detail"])["detail"][3] == row(3)["detail"]
    assert old.text_search("detail3", 3)["row_key"].to_list() == ["ws/mem-0003"]
    assert index.pin(last).text_search("third", 20).height == 10


def test_clean_up_keeps_the_newest_versions(index: SpaceIndex) -> None:
    """As many newest versions stay as were asked for."""
    for n in range(6):
        sync(index, source(n))
    newest = list(manifests(index.path))[-3:]
    index.cleanup(3)
    assert list(manifests(index.path)) == newest
    assert sync(index, source(5)) == newest[-1]


def test_tagged_version_of_any_age_does_not_stop_the_optimizer(index: SpaceIndex) -> None:
    """Compaction prunes nothing: LanceDB's own fails once a tagged version is a week old."""
    kept = sync(index, source(1))
    index.tag("generation-1")
    sync(index, source(1, 2))
    before = set(manifests(index.path))
    index.optimize()
    assert before <= set(manifests(index.path))
    assert len(index.pin(kept).keys()) == 1


@pytest.mark.parametrize("content", [b"", b"garbage" * 50, None])
def test_unpublished_versions_can_be_taken_back(index: SpaceIndex, content: bytes | None) -> None:
    """After a power failure the table goes on from the published version, and nothing is lost."""
    published = sync(index, source(1, 2))
    index.tag("published")
    sync(index, source(1, 2, 3))
    newest = manifests(index.path)[index.version]
    if content is not None:
        newest.write_bytes(content)
        with pytest.raises(CorruptStore):
            SpaceIndex.open(index.index_dir, SPACE)
    assert discard_after(index.path, published)
    assert discard_after(index.path, published) == []
    again = SpaceIndex.open(index.index_dir, SPACE)
    assert again.version == published
    assert again.sync(source(1, 2, 3).target, source(1, 2, 3).rows_for).rows == 3
    assert again.tags() == {"published": published}


def test_tags_of_versions_taken_back_go_too(index: SpaceIndex) -> None:
    """A tag must not outlive its version, whose number the next one takes; torn ones go as well."""
    published = sync(index, source(1))
    index.tag("published")
    sync(index, source(1, 2))
    index.tag("staged")
    (index.path / "_refs" / "tags" / "torn.json").write_bytes(b"")
    discard_after(index.path, published)
    assert discard_tags_after(index.path, published) == 2
    assert SpaceIndex.open(index.index_dir, SPACE).tags() == {"published": published}


def test_empty_version_hint_is_no_harm(index: SpaceIndex) -> None:
    """The hint file is a shortcut only; an emptied one changes nothing."""
    version = sync(index, source(1))
    (index.path / "_versions" / "latest_version_hint.json").write_bytes(b"")
    assert SpaceIndex.open(index.index_dir, SPACE).version == version


def test_folder_without_any_version_becomes_a_table(tmp_path: Path) -> None:
    """A process that died while creating the table left a folder; the next one goes on."""
    (tmp_path / f"{SPACE.space_id}.lance" / "_versions").mkdir(parents=True)
    assert sync(SpaceIndex.open(tmp_path, SPACE), source(1)) > 1
