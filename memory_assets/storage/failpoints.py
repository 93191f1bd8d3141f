"""Named places where a test can kill the process, to prove what the next run makes of it."""

from __future__ import annotations

import os
import signal
from typing import Final

VARIABLE: Final = "MEMORY_ASSETS_FAILPOINT"
FAILPOINTS: Final = (
    "publish.locked",
    "publish.recovered",
    "publish.planned",
    "publish.embedded",
    "publish.parts-staged",
    "publish.index-synced",
    "publish.index-tagged",
    "publish.index-durable",
    "publish.checked",
    "publish.manifest-written",
    "publish.committed",
    "publish.generation-tagged",
    "publish.collected",
    "markers.first-written",
    "markers.all-written",
)
"""In the order in which a night reaches them."""


def reached(name: str) -> None:
    """Kills this process with SIGKILL if the environment names this place; else does nothing."""
    if os.environ.get(VARIABLE) == name:
        os.kill(os.getpid(), signal.SIGKILL)
