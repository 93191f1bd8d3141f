"""Homes of older versions, brought forward: one step per schema version, told before it is done.

CURRENT carries the schema version, so the commit of a step is the same as that of a publication:
one file replaced. A step writes what it needs beside the old files first; after a crash it is
simply done again. There is no way back except a backup.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memory_assets.errors import CorruptStore, SchemaTooNew, SchemaTooOld
from memory_assets.storage.generations import RESTORE, SCHEMA_VERSION
from memory_assets.storage.home import Home
from memory_assets.storage.locks import exclusive
from memory_assets.storage.pointer import LocalPointer


@dataclass(frozen=True, slots=True)
class Migration:
    """One step forward; it must be repeatable, and must not touch what CURRENT names."""

    to: int
    """The schema version that the home has afterwards."""
    meaning: str
    """What it changes, as the dry run says it."""
    apply: Callable[[Home, dict[str, Any]], dict[str, Any]]
    """Takes the home and the content of CURRENT; answers with CURRENT's next content."""


MIGRATIONS: Final[tuple[Migration, ...]] = ()
"""In order. Empty while there is one schema version only."""


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """Where a home stands, and the steps that bring it to this version of the package."""

    found: int
    wanted: int
    steps: tuple[Migration, ...]
    applied: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The plan as ``--json`` prints it."""
        return {
            "schema_version": self.found,
            "wanted": self.wanted,
            "applied": self.applied,
            "steps": [{"to": step.to, "meaning": step.meaning} for step in self.steps],
        }


def plan_migration(home: Home, migrations: Sequence[Migration] = MIGRATIONS) -> MigrationPlan:
    """What would be done to the home; an empty home needs nothing.

    Raises:
        SchemaTooNew: a newer version of this package wrote it.
        CorruptStore: CURRENT cannot be read, or no step leads on from its version.
    """
    wanted = max([SCHEMA_VERSION, *(m.to for m in migrations)])
    body = _current(home)
    if body is None:
        return MigrationPlan(wanted, wanted, ())
    found = int(body["schema_version"])
    if found > wanted:
        raise SchemaTooNew(
            f"This home has schema version {found}; this package knows {wanted}.",
            where=str(home.current),
            remedy="upgrade memory-assets.",
        )
    steps = tuple(m for m in sorted(migrations, key=lambda m: m.to) if m.to > found)
    if [m.to for m in steps] != list(range(found + 1, wanted + 1)):
        raise CorruptStore(
            f"No known step leads from schema version {found} to {wanted}.",
            where=str(home.current),
            remedy="upgrade to the versions between, one after the other.",
        )
    return MigrationPlan(found, wanted, steps)


def migrate(home: Home, migrations: Sequence[Migration] = MIGRATIONS) -> MigrationPlan:
    """The plan, carried out: each step is committed by itself, under the publisher's lock.

    Raises:
        PublisherBusy: a publication is under way.
        SchemaTooNew, CorruptStore: as for ``plan_migration``.
        StoreWriteFailed: a step could not be written; the steps before it stand.
    """
    with exclusive(home.publisher_lock, purpose="migrating"):
        plan = plan_migration(home, migrations)
        pointer = LocalPointer(home.current)
        for step in plan.steps:
            value, tag = pointer.read() or (b"{}", None)
            body = {**step.apply(home, json.loads(value)), "schema_version": step.to}
            pointer.replace(
                json.dumps(body, indent=1, ensure_ascii=False).encode(), expected_tag=tag
            )
    return MigrationPlan(plan.found, plan.wanted, plan.steps, applied=bool(plan.steps))


def refuse_older(home: Home) -> None:
    """Nothing for a home of this version.

    Raises:
        SchemaTooOld: publishing would mix two forms in one home.
    """
    body = _current(home)
    if body is not None and int(body["schema_version"]) < SCHEMA_VERSION:
        raise SchemaTooOld(
            f"This home has schema version {body['schema_version']}; this package publishes "
            f"{SCHEMA_VERSION}.",
            where=str(home.current),
            remedy="make a backup, look at `memory-assets migrate --dry-run`, then run "
            "`memory-assets migrate`. Reading and searching work meanwhile.",
        )


def _current(home: Home) -> dict[str, Any] | None:
    found = LocalPointer(home.current).read()
    if found is None:
        return None
    try:
        body: dict[str, Any] = json.loads(found[0])
        int(body["schema_version"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptStore(
            "CURRENT is not readable.", where=str(home.current), remedy=RESTORE
        ) from error
    return body
