"""Named places where a test can end the process, to prove what the next run makes of it."""

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
    "publish.request-redacted",
    "publish.collected",
    "markers.first-written",
    "markers.all-written",
)
"""In the order in which a night reaches them."""


def reached(name: str) -> None:
    """Ends this process at once if the environment names this place; else does nothing."""
    if os.environ.get(VARIABLE) == name:
        _end(name)


def _end(name: str) -> None:
    del name  # a test that stays in its process puts another end here, and asks where it came
    os.kill(os.getpid(), signal.SIGKILL)
