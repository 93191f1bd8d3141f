"""Who may sign in: a file of reviewers with the hashes of their tokens, and what each may see."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memory_assets.domain.review import reviewer_refusal
from memory_assets.domain.visibility import PERSONAS, Principal, may_see_tenants
from memory_assets.errors import SettingsError
from memory_assets.storage.files import write_atomically

_FIELDS: Final = ("token_sha256", "tenants", "persona", "user", "clients")
_HEX: Final = 64


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A person who reviews, and as whom they see the queue."""

    name: str
    principal: Principal
    token_sha256: str = ""

    @property
    def tenants(self) -> list[str]:
        """The tenants that this person was given, in order."""
        return sorted(may_see_tenants(self.principal))

    def may_see_everything(self) -> bool:
        """Whether the persona sees all memories of its tenants."""
        return PERSONAS[self.principal.persona].crosses_tenants


class ReviewersFile:
    """``reviewers.toml``, read again when it changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._found: dict[str, Reviewer] = {}

    def all(self) -> dict[str, Reviewer]:
        """Reviewers by name; none without a file.

        Raises:
            SettingsError: the file is not what it should be; every problem is in the message.
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._found = None, {}
            return {}
        stamp = (stat.st_mtime_ns, stat.st_size)
        if stamp != self._stamp:
            self._found = _read(self.path)
            self._stamp = stamp
        return self._found

    def named(self, name: str) -> Reviewer | None:
        """The reviewer of this name."""
        return self.all().get(name)

    def with_token(self, token: str) -> Reviewer | None:
        """The reviewer whose token this is; all hashes are compared, in constant time each."""
        given = token_hash(token)
        found = None
        for one in self.all().values():
            if one.token_sha256 and hmac.compare_digest(one.token_sha256, given):
                found = one
        return found


def token_hash(token: str) -> str:
    """The hash under which a token is kept. Tokens are long and random, so one round is enough."""
    return hashlib.sha256(token.strip().encode()).hexdigest()


def new_token(
    path: Path,
    name: str,
    *,
    tenants: Sequence[str],
    persona: str = "SUPERVISOR",
    user: str | None = None,
    clients: Sequence[str] = (),
) -> str:
    """A fresh token for a reviewer, whose hash replaces the one on file; shown this once only.

    Raises:
        SettingsError: the file, the name, the tenants or the persona is not valid.
        StoreWriteFailed: the file cannot be written.
    """
    token = secrets.token_urlsafe(32)
    entry: dict[str, Any] = {"token_sha256": token_hash(token), "tenants": list(tenants)}
    entry["persona"] = persona
    entry |= {"user": user} if user else {}
    entry |= {"clients": list(clients)} if clients else {}
    problems = _problems(name, entry)
    if problems:
        raise SettingsError("; ".join(problems) + ".", remedy="mend it and run the command again.")
    entries = _entries(path) if path.exists() else {}
    entries[name] = entry
    write_atomically(path, _toml(entries).encode())
    os.chmod(path, 0o600)
    return token


def _read(path: Path) -> dict[str, Reviewer]:
    entries = _entries(path)
    problems = [p for name, entry in entries.items() for p in _problems(name, entry)]
    if problems:
        raise SettingsError(
            f"{'; '.join(problems)}.",
            where=str(path),
            remedy="mend the entry, or make it anew with `memory-assets review token`.",
        )
    return {name: _reviewer(name, entry) for name, entry in entries.items()}


def _entries(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text("utf-8")).get("reviewers", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"Cannot read the reviewers: {error}.", where=str(path)) from error
    if not isinstance(found, dict):
        raise SettingsError("reviewers must be tables such as [reviewers.anna].", where=str(path))
    return found


def _problems(name: str, entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return [f"reviewers.{name} must be a table"]
    found = [f"reviewers.{name}.{key} is not known" for key in sorted(entry.keys() - set(_FIELDS))]
    why = reviewer_refusal(name)
    if why is not None:
        found.append(why[1])
    for field in ("tenants", "clients"):
        value = entry.get(field, [])
        if not (isinstance(value, list) and all(isinstance(v, str) and v for v in value)):
            found.append(f"reviewers.{name}.{field} must be a list of names")
    if not entry.get("tenants"):
        found.append(f"reviewers.{name}.tenants names no tenant")
    token = entry.get("token_sha256", "")
    if token and not (isinstance(token, str) and len(token) == _HEX):
        found.append(f"reviewers.{name}.token_sha256 is not a SHA-256 in hex")
    persona = str(entry.get("persona", "SUPERVISOR"))
    if persona not in PERSONAS or "review" not in PERSONAS[persona].paths:
        able = ", ".join(p for p, one in PERSONAS.items() if "review" in one.paths)
        found.append(f"reviewers.{name}.persona {persona!r} does not review; known are {able}")
    elif len(entry.get("tenants", [])) > 1 and not PERSONAS[persona].crosses_tenants:
        found.append(f"reviewers.{name}: {persona} has one tenant only")
    return found


def _reviewer(name: str, entry: Mapping[str, Any]) -> Reviewer:
    first, *more = entry["tenants"]
    principal = Principal(
        first,
        entry.get("persona", "SUPERVISOR"),
        entry.get("user"),
        frozenset(entry.get("clients", [])),
        frozenset(more),
    )
    return Reviewer(name, principal, entry.get("token_sha256", ""))


def _toml(entries: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["# Who may review in the browser. Tokens are made by `memory-assets review token`."]
    for name, entry in sorted(entries.items()):
        lines += ["", f"[reviewers.{_quoted(name)}]"]
        for key in _FIELDS:
            value = entry.get(key)
            if isinstance(value, list):
                lines.append(f"{key} = [{', '.join(_quoted(v) for v in value)}]")
            elif value:
                lines.append(f"{key} = {_quoted(str(value))}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = "".join(
        f"\\u{ord(c):04X}" if ord(c) < 0x20 or c == "\x7f" else "\\" + c if c in '"\\' else c
        for c in text
    )
    return f'"{escaped}"'
