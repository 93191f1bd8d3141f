"""What assets need from outside: the workspace of one installation."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

if TYPE_CHECKING:
    from memory_assets.pipeline.workspace import Workspace


class WorkspaceResource(dg.ConfigurableResource["WorkspaceResource"]):
    """Home and ledgers of this installation; what is left empty comes from the environment."""

    home: str = Field(default="", description="Home folder; empty: MEMORY_ASSETS_HOME.")
    ledgers: str = Field(default="", description="Ledgers folder; empty: MEMORY_ASSETS_LEDGERS.")

    def open(self) -> "Workspace":
        """The wired installation."""
        from memory_assets.pipeline.workspace import Workspace

        return Workspace.load(home=self.home or None, ledgers=self.ledgers or None)


def now() -> datetime:
    """The present instant; the one clock of the assets."""
    return datetime.now(UTC)
