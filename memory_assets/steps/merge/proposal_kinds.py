"""Every kind of proposal that a reviewer may find in the queue: the one place to extend."""

from __future__ import annotations

from typing import Final

from memory_assets.steps.merge.queue import MERGE_KINDS
from memory_assets.steps.review.feedback import FEEDBACK
from memory_assets.steps.review.proposals import RETIREMENT, Kind

KINDS: Final[tuple[Kind, ...]] = (RETIREMENT, FEEDBACK, *MERGE_KINDS)
