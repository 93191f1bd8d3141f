"""CURRENT and the Parquet parts on an object store, through ``obstore``; nothing else knows S3.

The pointer's commit is a conditional PUT on the entity tag, which S3 and compatible stores judge
themselves: no lock is needed for it. Lance keeps its own files on the same store by its own means.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets.errors import PublicationConflict, StoreError, StoreWriteFailed
from memory_assets.storage.parts import Part, PartStore

if TYPE_CHECKING:
    from obstore.store import ObjectStore


@dataclass(frozen=True, slots=True)
class S3Location:
    """A bucket and a prefix; credentials come from the environment unless ``options`` hold them."""

    bucket: str
    prefix: str = ""
    options: Mapping[str, Any] | None = None
    """Options of obstore's ``S3Store``: endpoint, region, access keys."""

    def open(self) -> ObjectStore:
        """A handle on the store; nothing is asked of it yet."""
        from obstore.store import S3Store

        return S3Store(self.bucket, prefix=self.prefix or None, **dict(self.options or {}))

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


class ObjectPointer:
    """CURRENT as an object: replaced only by whoever saw its present entity tag."""

    def __init__(self, location: S3Location, name: str = "CURRENT") -> None:
        self._store = location.open()
        self._name = name
        self._where = f"{location}/{name}"

    def read(self) -> tuple[bytes, str] | None:
        """The value and its entity tag; None when there is no such object.

        Raises:
            StoreError: the store does not answer.
        """
        import obstore

        with _errors("reading", self._where):
            try:
                found = obstore.get(self._store, self._name)
            except FileNotFoundError:
                return None
            return bytes(found.bytes()), str(found.meta["e_tag"])

    def replace(self, value: bytes, *, expected_tag: str | None) -> None:
        """Compare and swap by conditional PUT; durable once this returns."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with _errors("writing", self._where):
            try:
                mode: Any = "create" if expected_tag is None else {"e_tag": expected_tag}
                obstore.put(self._store, self._name, value, mode=mode)
            except (AlreadyExistsError, PreconditionError) as error:
                raise PublicationConflict(
                    "CURRENT moved while this publication was being prepared.",
                    where=self._where,
                    remedy="run again: nothing was published, and the next run starts from the "
                    "new state.",
                ) from error


class ObjectPartStore(PartStore):
    """Parts as objects. They are addressed by content, so writing one twice is writing it once."""

    def __init__(self, location: S3Location, *, remedy: str) -> None:
        super().__init__(Path(location.prefix), remedy=remedy)
        self._store = location.open()
        self._location = location

    def _put(self, part: Part, data: bytes) -> None:
        import obstore

        with _errors("writing", self._where(part)):
            obstore.put(self._store, part.path, data)

    def _read_all(self, parts: Sequence[Part], columns: list[str]) -> None:
        """Objects are fetched one by one."""

    def _source(self, part: Part) -> io.BytesIO:
        return io.BytesIO(self._as_listed(part))

    def _bytes(self, part: Part) -> bytes:
        import obstore

        try:
            with _errors("reading", self._where(part)):
                return bytes(obstore.get(self._store, part.path).bytes())
        except FileNotFoundError:
            raise FileNotFoundError(2, "no such object") from None

    def _where(self, part: Part) -> str:
        return f"{self._location}/{part.path}"


@contextmanager
def _errors(doing: str, where: str) -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError:
        raise
    except BaseError as error:
        kind = StoreWriteFailed if doing == "writing" else StoreError
        raise kind(
            f"The object store failed while {doing}: {str(error).splitlines()[0]}",
            where=where,
            remedy="check endpoint, bucket and credentials, and run again; nothing was changed.",
        ) from error
