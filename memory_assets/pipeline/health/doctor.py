"""A look at the whole installation: what is wrong, what is worth knowing, and what mends it.

One place to extend: an area is one function in :data:`AREAS` that yields findings. Nothing is
written, whatever is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memory_assets.errors import MemoryAssetsError, SettingsError
from memory_assets.pipeline.health import home as doctor_home
from memory_assets.pipeline.health import machine as doctor_machine
from memory_assets.pipeline.health import models as doctor_models
from memory_assets.pipeline.health.findings import Finding, error, info
from memory_assets.pipeline.workspace import Workspace
from memory_assets.settings import SETTINGS, Setting

LEVELS: Final = ("error", "warning", "info", "ok")
_HOME_AREA: Final = "storage"
"""Where an error of the home folder belongs, whoever else meets it."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What an area may look at."""

    workspace: Workspace
    now: datetime
    deep: bool
    """Also load the model and embed a text: slower by some seconds."""


AREAS: Final[Mapping[str, Callable[[Examination], Iterator[Finding]]]] = {
    "environment": lambda e: doctor_machine.environment(e.workspace.home.root),
    "settings": lambda e: doctor_machine.settings(e.workspace.settings),
    "model": lambda e: doctor_models.models(e.workspace, deep=e.deep),
    "storage": lambda e: doctor_home.storage(e.workspace),
    "disk": lambda e: doctor_home.disk(e.workspace.home),
    "locks": lambda e: doctor_home.locks(e.workspace.home),
    "drift": lambda e: doctor_home.drift(e.workspace, now=e.now),
}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Every finding by area, and every setting with its origin."""

    findings: tuple[tuple[str, Finding], ...]
    settings: tuple[dict[str, str], ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings do not count."""
        return all(finding.level != "error" for _, finding in self.findings)

    def counts(self) -> dict[str, int]:
        """Number of findings per level."""
        levels = [finding.level for _, finding in self.findings]
        return {level: levels.count(level) for level in LEVELS}

    def to_dict(self) -> dict[str, Any]:
        """The report as ``--json`` prints it."""
        return {
            "ok": self.ok,
            "counts": self.counts(),
            "findings": [{"area": area, **f.to_dict()} for area, f in self.findings],
            "settings": list(self.settings),
        }


def diagnose(load: Callable[[], Workspace], *, now: datetime, deep: bool = False) -> DoctorReport:
    """What is wrong with an installation, even one whose settings cannot be read.

    ``load`` opens the workspace; its failure is a finding too.
    """
    try:
        workspace = load()
    except SettingsError as failure:
        found = [("environment", f) for f in doctor_machine.environment(None)]
        found.append(("settings", _of(failure)))
        return DoctorReport(tuple(found), ())
    examination = Examination(workspace, now, deep)
    findings = [(name, f) for name, look in AREAS.items() for f in _guarded(look, examination)]
    return DoctorReport(tuple(_each_once(findings)), tuple(setting_rows(workspace)))


def _each_once(findings: Sequence[tuple[str, Finding]]) -> Iterator[tuple[str, Finding]]:
    """The findings; an error that stops several areas is told in one, and named in the others."""
    areas: dict[Finding, list[str]] = {}
    for area, finding in findings:
        if finding.level == "error":
            areas.setdefault(finding, []).append(area)
    for area, finding in findings:
        told = areas.get(finding, [area])
        place = _HOME_AREA if _HOME_AREA in told else told[0]
        if area == place:
            yield area, finding
        else:
            yield area, info(finding.name, f"not examined further: see {place}")


def setting_rows(workspace: Workspace) -> Iterator[dict[str, str]]:
    """Every setting with its value, where it came from, and the variable that sets it."""
    settings = workspace.settings
    for setting in SETTINGS:
        yield {
            "name": setting.name,
            "value": _shown(setting, settings.values[setting.name]),
            "origin": settings.origins[setting.name],
            "variable": setting.variable,
        }


def _shown(setting: Setting, value: str) -> str:
    return "(set, not shown)" if setting.secret and value else value


def _guarded(
    look: Callable[[Examination], Iterator[Finding]], examination: Examination
) -> Iterator[Finding]:
    """The findings of an area; an error that stops it is its last one."""
    try:
        yield from look(examination)
    except MemoryAssetsError as failure:
        yield _of(failure)


def _of(failure: MemoryAssetsError) -> Finding:
    where = f" ({failure.where})" if failure.where else ""
    return error(failure.code, failure.what + where, failure.remedy)
