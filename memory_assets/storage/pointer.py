"""CURRENT: the one file whose replacement publishes a generation."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Protocol

from memory_assets.errors import CorruptStore, PublicationConflict
from memory_assets.storage.files import fsync_folder, make_folder, write_errors


class Pointer(Protocol):
    """A small value that is replaced in one step, and only by whoever saw its present state.

    An object store implements it with a conditional PUT on the entity tag.
    """

    def read(self) -> tuple[bytes, str] | None:
        """The value and its tag; None when it was never written."""
        ...

    def replace(self, value: bytes, *, expected_tag: str | None) -> None:
        """Writes the value if the tag still is the expected one (None: not written yet).

        Raises:
            PublicationConflict: somebody else replaced it meanwhile.
        """
        ...


class LocalPointer:
    """CURRENT as a local file: rename is the commit. Callers hold the publisher's lock."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[bytes, str] | None:
        """The value and the hash of its bytes; None when there is no file."""
        try:
            value = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CorruptStore(
                f"CURRENT cannot be read: {error.strerror or error}.",
                where=str(self.path),
                remedy="mend its permissions, or restore the home folder from a backup.",
            ) from error
        return value, hashlib.sha256(value).hexdigest()

    def replace(self, value: bytes, *, expected_tag: str | None) -> None:
        """Compare and swap: durable once this returns."""
        make_folder(self.path.parent)
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        with write_errors(self.path):
            with temporary.open("wb") as out:
                out.write(value)
                out.flush()
                os.fsync(out.fileno())
            found = self.read()
            if (found[1] if found else None) != expected_tag:
                temporary.unlink()
                raise PublicationConflict(
                    "CURRENT moved while this publication was being prepared.",
                    where=str(self.path),
                    remedy="run again: nothing was published, and the next run starts from the new "
                    "state.",
                )
            temporary.replace(self.path)
            fsync_folder(self.path.parent)
