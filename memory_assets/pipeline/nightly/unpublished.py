"""Verdicts that are on record and would be published by the next run."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.promotion.markers import owed_markers
from memory_assets.steps.review.items import item_id


def unpublished_verdicts(workspace: Workspace, *, now: datetime) -> list[str]:
    """Ids of the items concerned; empty once a run has taken everything in.

    Accepts that are not published, declines that have no marker yet, and accepted proposals.
    """
    assessment = workspace.assess(now=now)
    owed = owed_markers(workspace.derived, workspace.registry(), assessment)
    reviewed = (pl.col("route") == "accepted") & pl.col("review_verdict").is_not_null()
    keys = [
        *assessment.routes.filter(reviewed).select(PROMOTION_KEY).rows(),
        *owed.filter(pl.col("wanted") == "declined").select(PROMOTION_KEY).rows(),
    ]
    proposals = [
        f"{proposal.tenant_id}/{proposal.proposal_id}"
        for proposal, verdict in workspace.proposals(now=now).proposals
        if verdict is not None and verdict.verdict == "accept" and proposal.acts
    ]
    return sorted({item_id(*key) for key in keys} | set(proposals))
