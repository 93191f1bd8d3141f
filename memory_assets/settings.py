"""All settings, declared once: name, default, meaning; and the tenants' own settings.

Precedence: command-line flag, environment variable, ``<home>/settings.toml``, default. Every value
remembers where it came from, for ``memory-assets doctor``. Secrets are never settings: API keys
are read from their own environment variables by the providers that need them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

from memory_assets.domain.providers import Precision, parse_by_spec, parse_specs
from memory_assets.domain.tenants import TenantSettings, read_tenants
from memory_assets.errors import SettingsError

__all__ = ["SETTINGS", "Setting", "Settings", "TenantSettings", "load_settings"]

ENV_PREFIX: Final = "MEMORY_ASSETS_"
DEFAULT_HOME: Final = ".home"
_KEY_LIKE: Final = re.compile(r"key|token|secret|sig|password", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name in ``settings.toml``, and (upper case, prefixed) in the environment."""

    name: str
    default: str
    meaning: str
    check: Callable[[str], str | None] = lambda _: None
    """What is wrong with a value, or None."""
    secret: bool = False
    """The value opens a door, as the address of a webhook does: it is used, and never shown."""

    @property
    def variable(self) -> str:
        """The environment variable."""
        return ENV_PREFIX + self.name.upper()


def _number(low: float, high: float) -> Callable[[str], str | None]:
    def check(value: str) -> str | None:
        try:
            number = float(value)
        except ValueError:
            return "must be a number"
        return None if low <= number <= high else f"must lie between {low:g} and {high:g}"

    return check


def _whole(low: int, high: int) -> Callable[[str], str | None]:
    inside = _number(low, high)

    def check(value: str) -> str | None:
        return inside(value) or (None if float(value).is_integer() else "must be a whole number")

    return check


def _time_zone(value: str) -> str | None:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        return "is not a time zone name such as Europe/Rome"
    return None


def _web_address(value: str) -> str | None:
    if not value or value.startswith(("http://", "https://")):
        return None
    return "must be an address that begins with http:// or https://"


def _specs(value: str) -> str | None:
    try:
        parse_specs(value)
    except ValueError as error:
        return str(error)
    return None


def _by_spec(check: Callable[[str], str | None]) -> Callable[[str], str | None]:
    """A check of each value of ``PROVIDER:MODEL=VALUE, …``."""

    def checked(value: str) -> str | None:
        try:
            values = parse_by_spec(value)
        except ValueError as error:
            return str(error)
        return next((wrong for v in values.values() if (wrong := check(v))), None)

    return checked


def _address(url: str) -> str | None:
    """Why an address may not be set: it is none, or it carries what only the environment may."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must hold addresses that begin with http:// or https://"
    if "@" in parts.netloc:
        return "must not hold a user name or password: keys belong in the environment"
    if any(_KEY_LIKE.search(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        return "must not hold a key in its query: keys belong in the environment"
    return None


def _or_empty(check: Callable[[str], str | None]) -> Callable[[str], str | None]:
    return lambda value: check(value) if value else None


def _precision(value: str) -> str | None:
    return None if value in list(Precision) else f"must be one of {', '.join(Precision)}"


_CRON: Final = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)
_OF_CRON: Final = re.compile(r"(?<![/\d])\d+")
"""Numbers of a field, without its step; what else may stand there the scheduler knows."""


def _cron(value: str) -> str | None:
    fields = value.split()
    if len(fields) != len(_CRON):
        return "must have five fields, such as 30 3 * * *"
    for text, (name, low, high) in zip(fields, _CRON, strict=True):
        for number in _OF_CRON.findall(text):
            if not low <= int(number) <= high:
                return f"has the {name} {number}, which must lie between {low} and {high}"
    return None


SETTINGS: Final = (
    Setting("home", DEFAULT_HOME, "Folder of the registry, the index and all derived data."),
    Setting("ledgers", "", "Folder that holds <tenant>/<session>.jsonl, written by agents."),
    Setting(
        "embedding",
        "",
        "Embedding models, PROVIDER:MODEL, the one that serves first, then its fallbacks, comma "
        "between; empty takes the packaged multilingual one where it installs.",
        _specs,
    ),
    Setting(
        "embedding_warm",
        "",
        "Those fallbacks that keep a complete index of their own, and answer queries while the "
        "first is down.",
        _specs,
    ),
    Setting(
        "embedding_base_url",
        "",
        "Base address of hosted models, for services that speak the same form: one for all, or "
        "PROVIDER:MODEL=ADDRESS, comma between.",
        _by_spec(_address),
        secret=True,
    ),
    Setting(
        "embedding_dimension",
        "",
        "Length of the vectors of a hosted model, where it is not known: one for all, or "
        "PROVIDER:MODEL=NUMBER, comma between.",
        _by_spec(_whole(1, 100_000)),
    ),
    Setting(
        "embedding_price",
        "",
        "Dollars per million tokens of a hosted model, where the published price does not hold: "
        "one for all, or PROVIDER:MODEL=PRICE, comma between.",
        _by_spec(_number(0, 10_000)),
    ),
    Setting(
        "embedding_query_prefix",
        "",
        "Text before every query, for local folders and OpenAI-form services whose model wants it: "
        "one for all, or PROVIDER:MODEL=TEXT, comma between; a text with a comma in double quotes.",
        _by_spec(lambda _: None),
    ),
    Setting(
        "embedding_document_prefix",
        "",
        "Text before every memory, as embedding_query_prefix before queries.",
        _by_spec(lambda _: None),
    ),
    Setting(
        "embedding_precision",
        Precision.AUTO,
        "What local models compute their matrix products in: auto = bfloat16 on processors with "
        "tile units for it (AMX), float32 elsewhere and for single queries; float32 = always that. "
        "Texts that are embedded already keep their vectors.",
        _precision,
    ),
    Setting(
        "embedding_budget_dollars",
        "",
        "Most that hosted embedding may cost in one run; what is left stays pending until the next "
        "run. Empty: no limit.",
        _or_empty(_number(0, 1_000_000)),
    ),
    Setting(
        "embedding_timeout_seconds",
        "30",
        "Time limit of one request to a hosted model.",
        _number(0.1, 3_600),
    ),
    Setting(
        "embedding_attempts",
        "4",
        "Times that a request to a hosted model is tried while it fails in a way that may pass.",
        _whole(1, 20),
    ),
    Setting(
        "embedding_grace_days",
        "7",
        "Days for which the former index stays ready for `embedding rollback` after a migration.",
        _number(0, 3_650),
    ),
    Setting(
        "extractor_url",
        "",
        "Base address of the chat service that makes facts of free text, for tenants that name a "
        "model; empty takes the provider's own.",
    ),
    Setting(
        "embedding_cache_mb",
        "4096",
        "Size limit of the shared vector cache, in MB.",
        _number(1, 1_000_000),
    ),
    Setting("schedule", "30 3 * * *", "When the nightly job starts, as cron.", _cron),
    Setting("time_zone", "UTC", "Time zone of the schedules.", _time_zone),
    Setting(
        "merge_schedule", "0 5 * * 0", "When the global semantic merge starts, as cron.", _cron
    ),
    Setting("evaluation_schedule", "0 6 * * 0", "When retrieval is measured, as cron.", _cron),
    Setting(
        "merge_precision",
        "0.95",
        "Precision that reviewed pairs must prove before pairs like them merge by themselves.",
        _number(0.5, 0.9999),
    ),
    Setting(
        "merge_ray",
        "",
        "Where pairs are compared: empty = this process, local = Ray on this machine, or the "
        "address of a Ray cluster.",
    ),
    Setting(
        "sensor_seconds",
        "60",
        "How often the sensor looks for new or grown finished sessions.",
        _number(5, 86_400),
    ),
    Setting(
        "idle_close_hours",
        "0",
        "A session without a row for so many hours counts as finished; 0 turns that off.",
        _number(0, 87_600),
    ),
    Setting(
        "quarantine_warn_ratio",
        "0.01",
        "Share of refused lines from which the quarantine check warns.",
        _number(0, 1),
    ),
    Setting(
        "review_warn_days",
        "14",
        "Days after which an item of the review queue that nobody looked at is warned about.",
        _number(0, 36_500),
    ),
    Setting(
        "alert_webhook",
        "",
        "Address that gets a POST with JSON for each failed run and for checks that did not pass; "
        "empty: only the log is told.",
        _web_address,
        secret=True,
    ),
    Setting(
        "metrics_file",
        "",
        "Where the figures of the night are written for Prometheus; empty: metrics.prom in the "
        "home folder.",
    ),
    Setting(
        "keep_generations",
        "7",
        "Published generations that stay readable, the current one included.",
        _number(1, 100_000),
    ),
    Setting(
        "keep_days",
        "30",
        "Days for which every published generation stays readable, however many they are.",
        _number(0, 36_500),
    ),
    Setting(
        "weight_cosine", "0.55", "Weight of vector similarity in the search score.", _number(0, 1)
    ),
    Setting("weight_text", "0.25", "Weight of the text match in the search score.", _number(0, 1)),
    Setting("weight_recency", "0.15", "Weight of recency in the search score.", _number(0, 1)),
    Setting("weight_access", "0.05", "Weight of recorded uses in the search score.", _number(0, 1)),
    Setting(
        "text_k",
        "0",
        "BM25 score that counts as one half in the search score; 0 takes the generation's own.",
        _number(0, 1_000),
    ),
    Setting(
        "exact_rows",
        "50000",
        "Tenants of at most so many memories are ranked exactly, their vectors kept in memory.",
        _number(0, 100_000_000),
    ),
    Setting(
        "recency_days",
        "14",
        "Time constant of recency in days: exp(-age/T). Not a half-life (that is 0.69 T).",
        _number(0.01, 36_500),
    ),
)
_BY_NAME: Final = {s.name: s for s in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one run, with the origin of each value."""

    values: Mapping[str, str]
    origins: Mapping[str, str]
    tenants: Mapping[str, TenantSettings] = field(default_factory=dict)
    tenants_file: Path | None = None
    """Where the tenants were declared; None when every folder is a tenant."""

    def text(self, name: str) -> str:
        """A setting as text."""
        return self.values[name]

    def number(self, name: str) -> float:
        """A setting as a number."""
        return float(self.values[name])

    @property
    def home(self) -> Path:
        """The home folder, absolute."""
        return Path(self.values["home"]).expanduser().absolute()

    @property
    def ledgers(self) -> Path:
        """The ledgers folder, absolute.

        Raises:
            SettingsError: it was not named.
        """
        if not self.values["ledgers"]:
            raise SettingsError(
                "No ledgers folder is named.",
                remedy="add --ledgers DIR, or set MEMORY_ASSETS_LEDGERS; DIR holds "
                "<tenant>/<session>.jsonl. `memory-assets samples DIR` makes one to try.",
            )
        return Path(self.values["ledgers"]).expanduser().absolute()

    def is_known(self, tenant_id: str) -> bool:
        """Whether the tenant may be consolidated: without a tenants file every folder is one."""
        if self.tenants_file is None:
            return True
        return tenant_id in self.tenants and self.tenants[tenant_id].enabled

    def is_switched_off(self, tenant_id: str) -> bool:
        """Whether somebody says that the tenant is not to be consolidated."""
        return tenant_id in self.tenants and not self.tenants[tenant_id].enabled

    def tenant(self, tenant_id: str) -> TenantSettings:
        """The tenant's settings, or the defaults."""
        return self.tenants.get(tenant_id) or TenantSettings(tenant_id)


def load_settings(
    *,
    flags: Mapping[str, str | None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force, checked as a whole.

    Raises:
        SettingsError: with every problem of every file and variable in one message.
    """
    env = os.environ if environment is None else environment
    given = {k: v for k, v in (flags or {}).items() if v is not None}
    problems: list[str] = []
    values: dict[str, str] = {}
    origins: dict[str, str] = {}

    def settle(setting: Setting, from_file: Mapping[str, Any], file: Path | None) -> None:
        if setting.name in given:
            value, origin = str(given[setting.name]), "flag --" + setting.name.replace("_", "-")
        elif env.get(setting.variable):
            value, origin = env[setting.variable], "variable " + setting.variable
        elif setting.name in from_file:
            value, origin = str(from_file[setting.name]), f"file {file}"
        else:
            value, origin = setting.default, "default"
        wrong = setting.check(value)
        if wrong:
            shown = "(not shown)" if setting.secret else repr(value)
            problems.append(f"{setting.name} = {shown} ({origin}) {wrong}")
        values[setting.name], origins[setting.name] = value, origin

    settle(_BY_NAME["home"], {}, None)
    home = Path(values["home"]).expanduser().absolute()
    file = home / "settings.toml"
    from_file = _toml(file, problems)
    problems.extend(
        f"{file}: {unknown!r} is not a setting; known are {', '.join(_BY_NAME)}"
        for unknown in sorted(from_file.keys() - _BY_NAME.keys())
    )
    for setting in SETTINGS:
        if setting.name != "home":
            settle(setting, from_file, file)
    tenants_file = home / "tenants.toml"
    tenants, wrong = read_tenants(_toml(tenants_file, problems), str(tenants_file))
    problems += wrong
    if problems:
        raise SettingsError(
            "The settings are not valid: " + "; ".join(problems) + ".",
            remedy="mend each of them; `memory-assets doctor` shows every setting with its origin.",
        )
    return Settings(values, origins, tenants, tenants_file if tenants_file.exists() else None)


def _toml(path: Path, problems: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))  # some editors write a byte order mark
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        problems.append(f"{path}: {error}")
        return {}
