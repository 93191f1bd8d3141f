"""One session as reviewers and scripts see it: what holds, what was decided on it, what waits."""

from __future__ import annotations

from typing import Any

from memory_assets.domain.candidates import SchemaNames, pending_refs, preview
from memory_assets.domain.effective import EffectiveSession


def session_line(
    session: EffectiveSession, names: SchemaNames, tenant_id: str, session_id: str
) -> dict[str, Any]:
    """One session's clarifications as a JSON object: ``decisions --nl`` prints a line of these.

    ``in_force`` are the refs (``N`` for ledger row N, ``-N`` for companion row N) of the effective
    clarifications; ``promoted`` and ``declined`` those of them with a verdict; ``to_review`` what
    the preview still offers, decisions with equal content each by themselves. Bare schema names are
    in force but never offered, so the three lists need not add up to the first.
    """
    held = [d for d in session.clarifications() if d.in_force]
    return {
        "tenant_id": tenant_id,
        "session_id": session_id,
        "closed": session.finished,
        "in_force": [d.event.ref for d in held],
        "promoted": [d.event.ref for d in held if d.verdict == "promoted"],
        "declined": [d.event.ref for d in held if d.verdict == "declined"],
        "to_review": list(pending_refs(preview(session, names).candidates)),
    }
