"""A registry of the source system, and its import, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memory_assets.pipeline.exchange.legacy_import import import_registry, plan_import
from tests.nights import World

BY = "reviewer anna"


def record(number: int, **fields: Any) -> dict[str, Any]:
    """A record as the source system writes it."""
    base = {
        "id": f"mem-{number:04d}",
        "ts": "2025-11-05T09:00:00Z",
        "session_id": f"old-{number}",
        "decision_seq": 3,
        "type": "concept_clarified",
        "subject": f"Concept {number}",
        "detail": f"definition {number}",
        "rationale": "",
        "question_context": "how many?",
        "tables": [],
        "concepts": ["c"],
    }
    return base | fields


RECORDS = [
    record(1),
    record(2, type="table_promoted", subject="fact_cardioversione", tables=["fact_cardioversione"]),
    record(3, subject="dim_time", detail="the calendar table"),
    record(7, subject="Late", confidence=0.9),
]


def imported(
    world: World, records: list[dict[str, Any]], tenant: str = "clinic"
) -> Mapping[str, Any]:
    """The plan of an import that was then carried out."""
    path = world.root / "registry.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    plan = plan_import(world.workspace, path, tenant_id=tenant, by=BY, now=world.now)
    import_registry(world.workspace, plan, now=world.now)
    return plan.to_dict()
