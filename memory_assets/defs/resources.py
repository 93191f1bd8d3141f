"""What assets need from outside: the workspace of one installation."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field, PrivateAttr

if TYPE_CHECKING:
    from memory_assets.pipeline.workspace import Workspace


class WorkspaceResource(dg.ConfigurableResource["WorkspaceResource"]):
    """Home and ledgers of this installation; what is left empty comes from the environment."""

    home: str = Field(default="", description="Home folder; empty: MEMORY_ASSETS_HOME.")
    ledgers: str = Field(default="", description="Ledgers folder; empty: MEMORY_ASSETS_LEDGERS.")

    _opened: Any = PrivateAttr(default=None)

    def open(self) -> "Workspace":
        """The wired installation; the same one throughout a run, unless the settings change.

        So the steps of a run share one embedding budget and know which providers failed before.
        """
        from memory_assets.pipeline.workspace import Workspace

        found = Workspace.load(home=self.home or None, ledgers=self.ledgers or None)
        last: Workspace | None = self._opened
        if last is None or last.settings != found.settings:
            last = self._opened = found
        return last


def now() -> datetime:
    """The present instant; the one clock of the assets."""
    return datetime.now(UTC)
