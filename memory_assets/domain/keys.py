"""Keys that decide identity: equal content, content hashes, memory ids.

The duplicate key forgives what a person would not even notice (Unicode form, white space, final
punctuation, a capital letter) and nothing else: what stands in quotes or back-ticks, and anything
that looks like an identifier, keeps its case, since ``'Male'`` and ``'male'`` select other rows.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

import msgspec

MEMORY_ID: Final = re.compile(r"\bmem-(\d{4,})\b")
_PROTECTED: Final = re.compile(
    r"""(?<!\w)'[^'\n]*'(?!\w) | "[^"\n]*" | `[^`\n]*` | “[^”\n]*” | «[^»\n]*» """, re.VERBOSE
)
_WORD: Final = re.compile(r"[\w][\w\-./]*[\w]|\w")
_SPACE: Final = re.compile(r"\s+")
_FINAL: Final = ".;,:!?… "
_RAISED: Final = re.compile(r"[\u00b2\u00b3\u00b9\u2070-\u209c]")


def normalise(text: str) -> str:
    """The text as the duplicate key sees it.

    NFKC, white space collapsed, final punctuation dropped, case folded outside quoted literals,
    back-ticked names and identifiers. Raised and lowered figures keep a mark of their own, or
    ``10²`` would equal ``102``.
    """
    text = _SPACE.sub(" ", unicodedata.normalize("NFC", text))
    out = []
    at = 0
    for found in _PROTECTED.finditer(text):
        out += [_plain(text[at : found.start()]), found.group()]
        at = found.end()
    out.append(_plain(text[at:]))
    return _SPACE.sub(" ", "".join(out)).strip().rstrip(_FINAL)


def _plain(text: str) -> str:
    marked = _RAISED.sub(lambda m: "^" + unicodedata.normalize("NFKC", m.group()), text)
    return _WORD.sub(_fold_word, unicodedata.normalize("NFKC", marked))


def _fold_word(found: re.Match[str]) -> str:
    word = found.group()
    if "_" in word or any(c.isdigit() for c in word) or any(c.isupper() for c in word[1:]):
        return word
    return word.casefold()


def duplicate_key(subject: str, detail: str) -> str:
    """Hex key of equal content: subject and detail only; rationale and question do not count."""
    whole = normalise(subject) + "\x1f" + normalise(detail)
    return hashlib.sha256(whole.encode("utf-8")).hexdigest()[:32]


def content_sha256(
    *,
    type: str,
    subject: str,
    detail: str,
    rationale: str,
    question_context: str,
    tables: Iterable[str],
    concepts: Iterable[str],
) -> str:
    """Hex SHA-256 of all content columns: unchanged for ever once a memory is published."""
    whole = msgspec.json.encode(
        [type, subject, detail, rationale, question_context, list(tables), list(concepts)]
    )
    return hashlib.sha256(whole).hexdigest()


def memory_id(number: int) -> str:
    """``mem-0001`` for 1; numbers are allocated once per tenant and never reused."""
    return f"mem-{number:04d}"


def memory_number(memory: str) -> int:
    """1 for ``mem-0001``; 0 for an id of another form, which only imports bring in."""
    found = MEMORY_ID.fullmatch(memory)
    return int(found.group(1)) if found else 0


def cited_memories(text: str) -> tuple[str, ...]:
    """Memory ids that a rationale cites, in order, each once."""
    return tuple(dict.fromkeys(f"mem-{m}" for m in MEMORY_ID.findall(text)))


def row_key(tenant_id: str, memory_id: str) -> str:
    """The primary key of a memory everywhere: ids alone are unique per tenant only."""
    return f"{tenant_id}/{memory_id}"
