"""What assets need from outside: the workspace of one installation."""

from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field, PrivateAttr

from memory_assets.defs.killed_runs import NIGHT_TAG, living_run
from memory_assets.errors import MemoryAssetsError

if TYPE_CHECKING:
    from memory_assets.pipeline.workspace import Workspace


class WorkspaceResource(dg.ConfigurableResource["WorkspaceResource"]):
    """Home and ledgers of this installation; what is left empty comes from the environment."""

    home: str = Field(default="", description="Home folder; empty: MEMORY_ASSETS_HOME.")
    ledgers: str = Field(default="", description="Ledgers folder; empty: MEMORY_ASSETS_LEDGERS.")

    _opened: Any = PrivateAttr(default=None)
    _held: ExitStack = PrivateAttr(default_factory=ExitStack)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """A run holds a lock of its own, by which others tell whether its process still lives."""
        run = context.run
        if run is None or NIGHT_TAG in run.tags:  # The command line holds it for its nights.
            return
        try:
            self._held.enter_context(living_run(self.open().home, run.run_id))
        except MemoryAssetsError:
            return  # The first step meets the same error, and tells it by name.

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """The run is over."""
        self._held.close()

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
