"""Receipts of removals: counts and keyed digests, no content."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from memory_assets.storage.files import make_folder, write_atomically, write_errors
from memory_assets.storage.home import Home

KEY_FILE: Final = "key"
_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Receipt:
    """One removal; ``digests`` are given in clear here and keyed when they are written.

    Without a generation it is asked for, and not known to be published.
    """

    kind: str
    tenant_id: str
    at: datetime
    by: str
    generation: int | None
    counts: Mapping[str, int]
    digests: Sequence[str]


def write_receipt(home: Home, receipt: Receipt) -> Path:
    """Where the receipt now is.

    The digests are HMAC-SHA256 under a key of this home: whoever holds the key and knows a text can
    prove that it was removed, and nobody can find a text by trying.

    Raises:
        StoreWriteFailed: it cannot be written.
    """
    key = _key(home)
    body = {
        "kind": receipt.kind,
        "tenant_id": receipt.tenant_id,
        "at": receipt.at.isoformat(),
        "by": receipt.by,
        "generation": receipt.generation,
        "counts": dict(receipt.counts),
        "digest": "HMAC-SHA256 under receipts/key",
        "digests": [keyed_digest(key, d) for d in receipt.digests],
    }
    stamp = receipt.at.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    path = home.receipts / f"{receipt.kind.replace(' ', '-')}-{stamp}.json"
    write_atomically(path, json.dumps(body, indent=1, ensure_ascii=False).encode() + b"\n")
    return path


def keyed_digest(key: bytes, text: str) -> str:
    """Hex HMAC-SHA256 of a text."""
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _key(home: Home) -> bytes:
    path = home.receipts / KEY_FILE
    if not path.exists():
        make_folder(path.parent)
        write_atomically(path, secrets.token_hex(_KEY_BYTES).encode())
        with write_errors(path):
            path.chmod(0o600)
    return path.read_bytes()
