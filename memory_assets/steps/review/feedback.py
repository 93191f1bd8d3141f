"""Feedback as proposals: what somebody said of a memory waits for a reviewer like all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from memory_assets.domain.intents import Intent
from memory_assets.domain.review import ProposalDecision
from memory_assets.steps.review.proposals import RETIREMENT, Kind, Proposal, State, digest_of
from memory_assets.storage.feedback_log import Feedback, read_feedback

_RETIRES: Final = ("wrong", "outdated")
"""What retires a memory once a reviewer accepts it; ``useful`` is only taken note of."""


def _find(state: State) -> Iterable[Proposal]:
    """One proposal for each item of the feedback file whose memory is still in the registry.

    It stays when its memory is retired or merged away, so that nothing unread disappears; there is
    just nothing left for it to retire.
    """
    given = read_feedback(state.home.feedback).items
    if not given:
        return
    columns = ["tenant_id", "memory_id", "status"]
    status = {(t, m): s for t, m, s in state.registry.status().select(columns).iter_rows()}
    for item in given:
        found = status.get((item.tenant_id, item.memory_id))
        if found is not None:
            yield _proposal(item, found)


def _proposal(item: Feedback, status: str) -> Proposal:
    now = "" if status == "active" else f" (the memory is {status} by now)"
    return Proposal(
        item.tenant_id,
        "feedback",
        (item.memory_id,),
        f"feedback: {item.kind}",
        f"{item.given_by}, {item.given_at:%Y-%m-%d %H:%M %Z}: {item.why}{now}",
        since=item.given_at,
        evidence={"feedback": item.kind, "given_by": item.given_by},
        content_sha256=digest_of("feedback", item.feedback_id, item.content_sha256),
        part=item.feedback_id,
        acts=item.kind in _RETIRES and status == "active",
    )


def _intents(proposal: Proposal, verdict: ProposalDecision) -> Sequence[Intent]:
    return RETIREMENT.intents(proposal, verdict) if proposal.acts else ()


FEEDBACK: Final = Kind("feedback", _find, _intents)
