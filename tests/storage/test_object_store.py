"""The pointer and the parts on a server that speaks S3; and Lance beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from memory_assets.domain.schemas import TIER_ASSIGNMENTS
from memory_assets.errors import CorruptStore, PublicationConflict, StoreError, StoreWriteFailed
from memory_assets.storage.object_store import ObjectPartStore, ObjectPointer, S3Location
from memory_assets.storage.parts import Part

moto_server = pytest.importorskip("moto.server")
BUCKET = "memory-assets"
KEYS = {"access_key_id": "test", "secret_access_key": "test", "region": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A real server on the loopback device, with one bucket."""
    import obstore  # noqa: F401 - the extra that these tests are about
    from botocore.session import get_session

    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    client = get_session().create_client(
        "s3",
        endpoint_url=url,
        region_name=KEYS["region"],
        aws_access_key_id=KEYS["access_key_id"],
        aws_secret_access_key=KEYS["secret_access_key"],
    )
    client.create_bucket(Bucket=BUCKET)
    yield url
    server.stop()


def location(endpoint: str, prefix: str) -> S3Location:
    """A folder of the test's own in the bucket."""
    options: dict[str, Any] = {
        **KEYS,
        "endpoint": endpoint,
        "virtual_hosted_style_request": False,
        "client_options": {"allow_http": True, "timeout": "5s"},
        "retry_config": {"max_retries": 0},
    }
    return S3Location(BUCKET, prefix, options)


def test_the_first_to_create_the_pointer_wins(endpoint: str) -> None:
    """A PUT that must create refuses when the object is there."""
    here = location(endpoint, "first")
    one, other = ObjectPointer(here), ObjectPointer(here)
    assert one.read() is None
    one.replace(b"one", expected_tag=None)
    with pytest.raises(PublicationConflict):
        other.replace(b"other", expected_tag=None)
    found = other.read()
    assert found is not None
    assert found[0] == b"one"


def test_of_two_publishers_from_one_state_one_wins(endpoint: str) -> None:
    """Both read the same state; the second to write is refused by name and loses nothing else."""
    here = location(endpoint, "swap")
    one, other = ObjectPointer(here), ObjectPointer(here)
    one.replace(b"0", expected_tag=None)
    seen_by_one, seen_by_other = one.read(), other.read()
    assert seen_by_one is not None
    assert seen_by_other is not None
    one.replace(b"1", expected_tag=seen_by_one[1])
    with pytest.raises(PublicationConflict) as raised:
        other.replace(b"2", expected_tag=seen_by_other[1])
    assert "run again" in raised.value.remedy
    again = other.read()
    assert again is not None
    assert again[0] == b"1"
    other.replace(b"2", expected_tag=again[1])


def rows() -> pl.DataFrame:
    """Two rows of a registry table."""
    return TIER_ASSIGNMENTS.frame(("t", f"mem-000{n}", "core", 1, "rule", "{}") for n in (1, 2))


def test_parts_are_written_once_and_read_back(endpoint: str) -> None:
    """Equal rows under one label are one object; hashes and schema are those of local parts."""
    parts = ObjectPartStore(location(endpoint, "parts"), remedy="restore it.")
    part = parts.write(TIER_ASSIGNMENTS, rows(), "00000001")
    assert part is not None
    assert parts.write(TIER_ASSIGNMENTS, rows(), "00000001") == part
    parts.verify([part])
    assert parts.read(TIER_ASSIGNMENTS, [part, part]).height == 4
    found = parts.read(TIER_ASSIGNMENTS, [part], ["tier"], pl.col("memory_id") == "mem-0002")
    assert found.rows() == [("core",)]


def test_a_lost_or_changed_object_is_a_named_error(endpoint: str) -> None:
    """The message names the object, whichever of the two it is."""
    parts = ObjectPartStore(location(endpoint, "lost"), remedy="restore it.")
    lost = Part("tier_assignments/part-x.parquet", "0" * 64, 1, 1)
    for read in (lambda: parts.verify([lost]), lambda: parts.read(TIER_ASSIGNMENTS, [lost])):
        with pytest.raises(CorruptStore, match="s3://memory-assets/lost/tier_assignments"):
            read()
    part = parts.write(TIER_ASSIGNMENTS, rows(), "1")
    assert part is not None
    with pytest.raises(CorruptStore, match="differs"):
        parts.verify([Part(part.path, "0" * 64, part.rows, part.bytes)])


def test_a_store_that_does_not_answer_is_a_named_error() -> None:
    """Reading and writing both say what to check."""
    pointer = ObjectPointer(location("http://127.0.0.1:9", "nowhere"))
    with pytest.raises(StoreError, match="endpoint"):
        pointer.read()
    with pytest.raises(StoreWriteFailed, match="endpoint"):
        pointer.replace(b"1", expected_tag=None)


def test_lance_holds_on_the_same_store(endpoint: str) -> None:
    """Append, merge, tag, and a reader pinned to an older version, all over S3."""
    import lance
    import lancedb

    options = {
        "aws_endpoint": endpoint,
        "aws_access_key_id": KEYS["access_key_id"],
        "aws_secret_access_key": KEYS["secret_access_key"],
        "aws_region": KEYS["region"],
        "allow_http": "true",
        "aws_virtual_hosted_style_request": "false",
    }
    path = f"s3://{BUCKET}/index/space.lance"
    lance.write_dataset(pa.table({"key": ["a", "b"]}), path, storage_options=options)
    table = lancedb.connect(f"s3://{BUCKET}/index", storage_options=options).open_table("space")
    table.tags.create("gen-00000001", 1)
    merge = table.merge_insert("key").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(pa.table({"key": ["b", "c"]}))
    assert table.count_rows() == 3
    pinned = lance.dataset(path, version=1, storage_options=options)
    assert sorted(pinned.to_table()["key"].to_pylist()) == ["a", "b"]
    assert pinned.tags.list()["gen-00000001"]["version"] == 1
