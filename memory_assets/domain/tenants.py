"""What a tenant can set, declared once: name, type, default, meaning, and what makes it valid.

One place to extend: a new field is one attribute of :class:`TenantSettings` and one entry of
:data:`FIELDS`. The check of ``tenants.toml`` and the documentation page derive from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from memory_assets.domain.candidates import DEFAULT_SCHEMA_PATTERNS

REVIEW_POLICIES: Final = ("manual", "automatic")
LANGUAGES: Final = ("it", "en")
PRIVACY_DEFAULTS: Final = ("owner", "user")
PROVIDERS: Final = ("packaged", "local", "voyage", "openai", "hashed")
"""Embedding providers that a chain may name."""
VERBATIM: Final = "verbatim"
_SPEC: Final = re.compile(r"[a-z]+:\S+")
_NAME: Final = re.compile(r"[^/\\.\x00-\x1f][^/\\\x00-\x1f]*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Retention:
    """For how long a tier keeps a memory that nobody uses; archival keeps it for ever."""

    core_days: int = 14
    recall_days: int = 90


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """What one tenant wants; the defaults hold for tenants without an entry."""

    tenant_id: str
    enabled: bool = True
    review: str = "manual"
    language: str = "it"
    schema_table_patterns: tuple[str, ...] = DEFAULT_SCHEMA_PATTERNS
    refuse_column_names: bool = False
    duplicate_thresholds: Mapping[str, float] = field(default_factory=dict)
    retention: Retention = field(default_factory=Retention)
    privacy_default: str = "owner"
    embedding: tuple[str, ...] = ()
    extractor: str = VERBATIM
    client_names: tuple[str, ...] = ()

    @property
    def is_automatic(self) -> bool:
        """Whether the policy may accept what needs no person."""
        return self.review == "automatic"


@dataclass(frozen=True, slots=True)
class TenantField:
    """One key of a tenant's table."""

    name: str
    form: str
    """How a value is written, for people."""
    meaning: str
    check: Callable[[Any], str | None]
    """What is wrong with a value, or None."""
    read: Callable[[Any], Any] = lambda value: value
    """The value as the settings hold it."""


def _one_of(allowed: tuple[str, ...]) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        return None if value in allowed else f"must be one of {', '.join(allowed)}"

    return check


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _texts(what: str) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        sound = isinstance(value, list) and all(isinstance(v, str) and v.strip() for v in value)
        return None if sound else f"must be a list of {what}"

    return check


def _chain(value: Any) -> str | None:
    wrong = _texts("models such as 'voyage:voyage-3-large'")(value)
    if wrong is not None:
        return wrong
    odd = [v for v in value if not _is_model(v)]
    if odd:
        return f"names {odd[0]!r}, which is not PROVIDER:MODEL of {', '.join(PROVIDERS)}"
    return "names a model twice" if len(set(value)) < len(value) else None


def _is_model(text: str) -> bool:
    return _SPEC.fullmatch(text) is not None and text.partition(":")[0] in PROVIDERS


def _thresholds(value: Any) -> str | None:
    if not isinstance(value, dict):
        return "must be a table of PROVIDER:MODEL = cosine"
    for model, cosine in value.items():
        if not _is_model(model):
            return f"names {model!r}, which is not PROVIDER:MODEL of {', '.join(PROVIDERS)}"
        if isinstance(cosine, bool) or not isinstance(cosine, int | float):
            return f"must give {model!r} a number"
        if not 0 < cosine <= 1:
            return f"must give {model!r} a cosine above 0 and not above 1"
    return None


def _retention(value: Any) -> str | None:
    names = tuple(Retention.__dataclass_fields__)
    if not isinstance(value, dict) or not value.keys() <= set(names):
        return f"must be a table of {', '.join(names)}"
    for name, days in value.items():
        if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= 36_500:
            return f"must give {name} whole days from 1 to 36500"
    return None


def _extractor(value: Any) -> str | None:
    if value == VERBATIM:
        return None
    sound = isinstance(value, str) and re.fullmatch(r"openai:\S+", value)
    return None if sound else f"must be {VERBATIM} or openai:MODEL"


FIELDS: Final = (
    TenantField(
        "enabled",
        "`true` or `false`",
        "Whether the tenant's ledgers are consolidated. Switched off, what is published stays.",
        _flag,
    ),
    TenantField(
        "review",
        "`manual` or `automatic`",
        "Who accepts candidates: a reviewer, or the policy. Personal data, refused lines and "
        "refinements go to a reviewer under either.",
        _one_of(REVIEW_POLICIES),
    ),
    TenantField("language", "`it` or `en`", "Language of the texts: stemming.", _one_of(LANGUAGES)),
    TenantField(
        "schema_table_patterns",
        "list of patterns",
        "Subjects of this shape are tables in disguise and are never offered.",
        _texts("patterns like 'fact_*'"),
        tuple,
    ),
    TenantField(
        "refuse_column_names",
        "`true` or `false`",
        "Whether subjects that equal a column chosen in the session are refused too.",
        _flag,
    ),
    TenantField(
        "duplicate_thresholds",
        "table, model = cosine",
        "Raw cosine from which, with every guard passed, the automatic policy corroborates an "
        "existing memory. A figure belongs to one model. Without one, and without a calibrated "
        "one, only equal text corroborates by itself.",
        _thresholds,
        dict,
    ),
    TenantField(
        "retention",
        "table, days",
        "`core_days` and `recall_days`: days without an access after which a memory leaves core "
        "for recall, and recall for archival. Archival keeps it for ever.",
        _retention,
        lambda value: Retention(**value),
    ),
    TenantField(
        "privacy_default",
        "`owner` or `user`",
        "To whom a row belongs that states no audience: to its client, else its user, else the "
        "tenant; or (`user`) to its user alone wherever it names one.",
        _one_of(PRIVACY_DEFAULTS),
    ),
    TenantField(
        "embedding",
        "list of models",
        "Models that may see this tenant's texts; it allows and does not choose: one chain, the "
        "setting `embedding` and its fallbacks, serves all tenants. Empty: whatever the "
        "installation uses. The pre-flight check stops a tenant whose list lacks it.",
        _chain,
        tuple,
    ),
    TenantField(
        "extractor",
        "`verbatim` or `openai:MODEL`",
        "What makes facts of free-text events. `verbatim` asks no model.",
        _extractor,
    ),
    TenantField(
        "client_names",
        "list of names",
        "Names of clients: a text that holds one goes to a reviewer, whatever the policy.",
        _texts("names"),
        tuple,
    ),
)
_BY_NAME: Final = {f.name: f for f in FIELDS}


def tenant_table(tenant_id: str) -> str:
    """The heading of a tenant's entry in ``tenants.toml``: quoted where TOML wants it."""
    bare = _BARE.fullmatch(tenant_id) is not None
    return f"[tenants.{tenant_id if bare else json.dumps(tenant_id, ensure_ascii=False)}]"


def read_tenants(
    document: Mapping[str, Any], where: str
) -> tuple[dict[str, TenantSettings], list[str]]:
    """The tenants of a parsed ``tenants.toml``, and everything that is wrong with it.

    ``where`` names the file in the problems. A tenant with a problem is still listed, with the
    default in the place of what is wrong, so that every other problem is found as well.
    """
    problems = [
        f"{where}: {key!r} is not known here; tenants are tables such as [tenants.clinica]"
        for key in sorted(document.keys() - {"tenants"})
    ]
    entries = document.get("tenants", {})
    found: dict[str, TenantSettings] = {}
    if not isinstance(entries, dict):
        return found, [*problems, f"{where}: tenants must be tables such as [tenants.clinica]"]
    for name, entry in entries.items():
        place = f"{where}: tenants.{name}"
        if _NAME.fullmatch(name) is None:
            problems.append(f"{place} is not the name of a folder")
        if not isinstance(entry, dict):
            problems.append(f"{place} must be a table")
            continue
        problems += _problems(place, entry)
        sound = {
            key: _BY_NAME[key].read(value)
            for key, value in entry.items()
            if key in _BY_NAME and _BY_NAME[key].check(value) is None
        }
        found[name] = TenantSettings(name, **sound)
    return found, problems


def _problems(place: str, entry: Mapping[str, Any]) -> Iterator[str]:
    for key, value in entry.items():
        declared = _BY_NAME.get(key)
        if declared is None:
            yield f"{place}.{key} is not a tenant setting; known are {', '.join(_BY_NAME)}"
        elif (wrong := declared.check(value)) is not None:
            yield f"{place}.{key} = {value!r} {wrong}"
