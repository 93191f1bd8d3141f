"""Where embedding stands: providers, the spaces of the published generation, a migration."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.index.provider_states import last_states


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """What is configured, what is published, and what the last run left; nobody was asked."""

    configured: tuple[str, ...]
    in_force: tuple[str, ...]
    """The configured providers, or what a migration made of them."""
    warm: tuple[str, ...]
    budget_dollars: float | None
    generation: int
    spaces: tuple[dict[str, Any], ...]
    building: str
    migrated_from: str
    """The model of the settings that a migration replaced; empty without one."""
    last_run: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The status as ``--json`` prints it."""
        return asdict(self)


def embedding_status(workspace: Workspace) -> EmbeddingStatus:
    """The status of a home."""
    current, _ = workspace.generations.current()
    setup = workspace.embedding
    in_force = setup.after(current.migration)
    spaces = []
    for place, pinned in enumerate(current.spaces):
        role = "serves" if place == 0 else "waits" if pinned.until else "warm"
        spaces.append(
            {
                "space_id": pinned.space.space_id,
                "model": f"{pinned.space.provider}:{pinned.space.model}",
                "dimension": pinned.space.dimension,
                "role": role,
                "rows": pinned.rows,
                "pending": pinned.pending,
                "until": pinned.until,
            }
        )
    migrated = current.migration is not None and in_force != setup.specs
    return EmbeddingStatus(
        configured=setup.specs,
        in_force=in_force,
        warm=setup.warm,
        budget_dollars=setup.budget.limit_dollars,
        generation=current.number,
        spaces=tuple(spaces),
        building=current.building,
        migrated_from=setup.specs[0] if migrated else "",
        last_run=last_states(workspace.home.cache),
    )
