"""The commands about facts."""

from __future__ import annotations

import json

from tests.building import close, row, write_session
from tests.cli.conftest import Cli


def test_facts_are_listed_with_their_source(fresh: Cli) -> None:
    """Row, span and extractor; nothing refused means nothing to retry."""
    text = "VIP = client above one million."
    write_session(
        fresh.ledgers,
        "banca",
        "talk",
        [row(1, "memory_event", detail=text, source="CHAT"), close(2)],
    )
    assert fresh("nightly").code == 0
    facts = fresh("facts", "list", "--tenant", "banca", "--json").json()
    (fact,) = (f for f in facts if f["session_id"] == "talk")
    assert (fact["ref"], fact["subject"], fact["detail"]) == ("seq:1#1", "VIP", text)
    assert (fact["span_start"], fact["span_end"]) == (0, len(text))
    assert "verbatim-1" in fresh("facts", "list", "--tenant", "banca").out
    assert json.loads(fresh("facts", "refused", "--tenant", "banca", "--json").out) == []
    assert fresh("facts", "retry", "--tenant", "banca", "--json").json() == {"forgotten": 0}
    assert fresh("facts", "list").code == 2
