"""The merge from published memories to superseded ones and back."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import polars as pl
import pytest

from memory_assets.domain.guards import RULE_VERSION
from memory_assets.domain.visibility import Principal
from memory_assets.errors import CorruptStore, UnknownMemoryError, UsageError
from memory_assets.steps.merge.calibrate import read_calibrations
from memory_assets.steps.search.types import SearchRequest
from memory_assets.storage.pair_log import pair_log_path, read_pair_log
from tests.merging import NOW, TENANT, MergeWorld

PARAPHRASES = [
    ("Late order", "A late order is an order that lasts more than 24 hours, flag_late = TRUE."),
    ("Late order", "An order with flag_late = TRUE that lasts more than 24 hours is a late order."),
    ("Late order", "Late order: an order with flag_late = TRUE and that lasts over 24 hours."),
    (
        "late order",
        "Late orders are the orders with flag_late = TRUE that last more than 24 hours.",
    ),
]


@pytest.fixture
def world(tmp_path: Path) -> MergeWorld:
    """An empty home."""
    return MergeWorld(tmp_path)


def accept_all(world: MergeWorld) -> None:
    """A person accepts every open group, and the night publishes it."""
    merge = world.merge()
    merge.plan([TENANT])
    for row in merge.proposals(TENANT).filter(pl.col("kind") == "same").iter_rows(named=True):
        merge.accept(TENANT, row["proposal_id"], reviewer="rosa", now=NOW)
    world.night()


def test_four_paraphrases_make_one_proposal(world: MergeWorld) -> None:
    """One group of four, one survivor; once accepted, three are superseded."""
    ids = world.add(PARAPHRASES)
    merge = world.merge()
    (result,) = merge.plan([TENANT]).results
    (proposal,) = [p for p in result.proposals if p.kind == "same"]
    assert proposal.members == tuple(ids)
    accept_all(world)
    assert sorted(world.status().values()) == ["active", "superseded", "superseded", "superseded"]
    assert world.status()[proposal.survivor] == "active"


def test_the_survivor_is_found_by_the_text_of_a_merged_memory(world: MergeWorld) -> None:
    """The exact text of a superseded memory leads to the one that replaced it."""
    world.add(PARAPHRASES[:2])
    accept_all(world)
    (gone,) = [m for m, s in world.status().items() if s == "superseded"]
    (stays,) = [m for m, s in world.status().items() if s == "active"]
    query = "\n".join(PARAPHRASES[0])
    request = SearchRequest(query, Principal.local(TENANT), now=NOW)
    found = [h.memory_id for h in world.workspace().search(request).hits]
    assert stays in found
    assert gone not in found


def test_content_never_changes(world: MergeWorld) -> None:
    """Content hashes of survivors and of superseded memories are what they were."""
    world.add(PARAPHRASES)
    before = world.hashes()
    accept_all(world)
    assert world.hashes() == before


def test_a_containment_is_proposed_and_not_merged(world: MergeWorld) -> None:
    """What says A and B contains A, and contains B: two proposals, no group, nothing by itself."""
    both, one, other = world.add(
        [
            ("Net revenue", "Invoiced amount minus returns and discounts"),
            ("Net revenue", "Invoiced amount minus returns"),
            ("Net revenue", "Invoiced amount minus discounts"),
        ]
    )
    merge = world.merge()
    (result,) = merge.plan([TENANT]).results
    assert merge.apply([TENANT], now=NOW)[0].supersessions == ()
    kinds = {p.members: (p.kind, p.survivor) for p in result.proposals}
    assert kinds[both, one] == ("contains", both)
    assert kinds[both, other] == ("contains", both)
    assert not any(p.kind == "same" for p in result.proposals)


def test_old_and_new_definition_stay_until_a_person_decides(world: MergeWorld) -> None:
    """A conflict names the differing token; accepted, the newer one supersedes the older."""
    (old,) = world.add([("Readmission", "A stay within 30 days")], ts="2026-01-01T10:00:00Z")
    (new,) = world.add([("Readmission", "A stay within 90 days")], ts="2026-02-01T10:00:00Z")
    merge = world.merge()
    (result,) = merge.plan([TENANT]).results
    (conflict,) = result.proposals
    assert (conflict.kind, conflict.survivor) == ("conflicts", new)
    found = merge.explain(TENANT, old, new)
    assert found["verdicts"][0]["only_a"] == ["30"]
    assert set(world.status().values()) == {"active"}
    merge.accept(TENANT, conflict.proposal_id, reviewer="rosa", now=NOW)
    world.night()
    assert world.status() == {old: "superseded", new: "active"}


def test_one_subject_is_found_whatever_the_vectors_say(world: MergeWorld) -> None:
    """Four unlike definitions of one acronym meet; none merges by itself."""
    details = ["Gruppo di casi omogenei", "tariffa 105", "sistema di pagamento", "sigla inglese"]
    world.add([("DRG", d) for d in details])
    merge = world.merge()
    plan = merge.plan([TENANT])
    frames = [f for p in plan.results for f in p.proposals]
    assert plan.pairs.found == 6
    assert merge.apply([TENANT], now=NOW)[0].supersessions == ()
    assert {m for p in frames for m in p.members} == set(world.status())


def test_a_chain_of_neighbours_is_no_group(world: MergeWorld) -> None:
    """No group holds a pair that is not itself open for merging."""
    world.add([(f"Topic {i}", f"words {' '.join('abcdefgh'[i : i + 5])} end") for i in range(4)])
    merge = world.merge()
    (result,) = merge.plan([TENANT]).results
    for proposal in result.proposals:
        pairs = {p.key for p in proposal.pairs}
        if proposal.kind == "same":
            assert set(itertools.combinations(sorted(proposal.members), 2)) <= pairs


def test_tenants_and_scopes_never_meet(world: MergeWorld) -> None:
    """The same words of another tenant, or about another client, make no pair."""
    definition = [PARAPHRASES[0]]
    world.add(definition)
    world.add(definition, tenant="other")
    world.add([PARAPHRASES[1]], client_id="c1", audience="client")
    merge = world.merge()
    plan = merge.plan(merge.tenants())
    assert plan.pairs.found == 0
    assert all(r.proposals == () for r in plan.results)


def test_merge_undo_and_the_next_merge(world: MergeWorld) -> None:
    """After undo everything is as before, and the pair is never proposed again."""
    a, b = world.add(PARAPHRASES[:2])
    accept_all(world)
    merge = world.merge()
    change = merge.undo(TENANT, b, a, reviewer="rosa", reason="two things", now=NOW)
    assert change.supersessions[0].retracted
    world.night()
    assert set(world.status().values()) == {"active"}
    merge = world.merge()
    (result,) = merge.plan([TENANT]).results
    assert (result.proposals, result.remembered) == ((), 1)
    assert merge.apply([TENANT], now=NOW)[0].supersessions == ()
    assert merge.explain(TENANT, a, b)["reviewed"]["verdict"] == "different"


def test_a_merge_can_be_undone_before_it_is_published(world: MergeWorld) -> None:
    """A pending merge and its undoing cancel out."""
    a, b = world.add(PARAPHRASES[:2])
    merge = world.merge()
    merge.plan([TENANT])
    (row,) = merge.proposals(TENANT).to_dicts()
    merge.accept(TENANT, row["proposal_id"], reviewer="rosa", now=NOW)
    assert merge.proposals(TENANT).is_empty()
    merge.undo(TENANT, a, b, reviewer="rosa", now=NOW)
    world.night()
    assert set(world.status().values()) == {"active"}
    assert world.workspace().registry().supersessions.is_empty()


def test_undo_of_what_was_never_merged_is_refused(world: MergeWorld) -> None:
    """The error names the command that shows what replaced what."""
    a, b = world.add(PARAPHRASES[:2])
    with pytest.raises(UsageError, match="Neither"):
        world.merge().undo(TENANT, a, b, reviewer="rosa", now=NOW)


def test_a_decline_is_remembered(world: MergeWorld) -> None:
    """Declined pairs do not come back, and nothing is merged."""
    world.add(PARAPHRASES[:3])
    merge = world.merge()
    merge.plan([TENANT])
    (row,) = merge.proposals(TENANT).to_dicts()
    change = merge.decline(TENANT, row["proposal_id"], reviewer="rosa", now=NOW)
    assert (change.labels, change.supersessions) == (3, ())
    (result,) = merge.plan([TENANT]).results
    assert result.proposals == ()
    assert result.remembered == 3


def test_agents_and_nobody_cannot_decide(world: MergeWorld) -> None:
    """Only a named person accepts, declines or undoes."""
    world.add(PARAPHRASES[:2])
    merge = world.merge()
    merge.plan([TENANT])
    (row,) = merge.proposals(TENANT).to_dicts()
    for who in ("", "  ", "agent:helper", "Agent-7", "claude-bot"):
        with pytest.raises(UsageError, match="no reviewer"):
            merge.accept(TENANT, row["proposal_id"], reviewer=who, now=NOW)
    assert read_pair_log(merge.home).reviews == ()


def test_a_stale_proposal_is_refused(world: MergeWorld) -> None:
    """What was merged since cannot be accepted again."""
    world.add(PARAPHRASES[:2])
    merge = world.merge()
    merge.plan([TENANT])
    (row,) = merge.proposals(TENANT).to_dicts()
    merge.accept(TENANT, row["proposal_id"], reviewer="rosa", now=NOW)
    with pytest.raises(UsageError, match="no open proposal"):
        merge.accept(TENANT, row["proposal_id"], reviewer="rosa", now=NOW)


def test_a_declined_proposal_cannot_be_accepted(world: MergeWorld) -> None:
    """What a person has just said no to is open to nobody, before the next plan too."""
    world.add(PARAPHRASES[:2])
    merge = world.merge()
    merge.plan([TENANT])
    (row,) = merge.proposals(TENANT).to_dicts()
    merge.decline(TENANT, row["proposal_id"], reviewer="rosa", now=NOW)
    assert merge.proposals(TENANT).is_empty()
    with pytest.raises(UsageError, match="no open proposal"):
        merge.accept(TENANT, row["proposal_id"], reviewer="bruno", now=NOW)


def test_siblings_of_a_merged_memory_are_named(world: MergeWorld) -> None:
    """Of a family of near duplicates, those still active are listed with the merge."""
    ids = world.add([*PARAPHRASES[:2], ("Late order", "An order that lasts more than 48 hours.")])
    merge = world.merge()
    merge.plan([TENANT])
    rows = merge.proposals(TENANT).filter(pl.col("kind") == "same").to_dicts()
    change = merge.accept(TENANT, rows[0]["proposal_id"], reviewer="rosa", now=NOW)
    assert change.siblings == (ids[2],)
    world.night()
    (gone,) = [m for m, s in world.status().items() if s == "superseded"]
    assert world.merge().siblings(TENANT, [gone]) == (ids[2],)


def test_a_merge_row_says_what_it_rests_on(world: MergeWorld) -> None:
    """Who decided, cosine, space, rule version and verdicts are in the supersession row."""
    a, b = world.add(PARAPHRASES[:2])
    accept_all(world)
    (row,) = world.workspace().registry().supersessions.to_dicts()
    assert row["decided_by"] == "reviewer rosa"
    found = json.loads(row["evidence"])
    assert found["rule_version"] == RULE_VERSION
    assert found["space_id"].startswith("256-definition")
    assert 0 < found["cosine"] <= 1
    assert world.merge().explain(TENANT, a, b)["supersessions"][0]["evidence"] == found


def test_automation_must_be_earned(world: MergeWorld) -> None:
    """Sixty reviewed pairs without an error: the next such pair merges by itself, once.

    A line of the reviewed pairs that cannot be read may say that the two differ: then it does not.
    """
    frames = [
        (f"Concept{i} is a stay with flag_{i} = TRUE.", f"Concept{i}: stay with flag_{i} = TRUE")
        for i in range(61)
    ]
    details = [(f"Concept{i}", text) for i, pair in enumerate(frames[:60]) for text in pair]
    world.add(details)
    merge = world.merge()
    plan = merge.plan([TENANT])
    assert plan.calibrations[0].point.threshold is None
    accept_all(world)
    point = world.merge().calibrate([TENANT])[0].point
    assert (point.labels, point.errors) == (60, 0)
    assert point.threshold is not None
    a, b = world.add([("Concept60", text) for text in frames[60]])
    merge = world.merge()
    (result,) = merge.plan([TENANT], full=False).results
    assert [p.route for p in result.proposals if p.kind == "same"] == ["auto"]
    log = pair_log_path(merge.home)
    sound = log.read_bytes()
    log.write_bytes(b'{"torn\n' + sound)
    with pytest.raises(CorruptStore, match="reviewed pairs cannot be read: 1"):
        merge.apply([TENANT], now=NOW)
    log.write_bytes(sound)
    (change,) = merge.apply([TENANT], now=NOW)
    assert {s.memory_id for s in change.supersessions} < {a, b}
    assert change.supersessions[0].decided_by == f"rule merge {RULE_VERSION}"
    assert merge.apply([TENANT], now=NOW)[0].supersessions == ()
    world.night()
    assert sorted(world.status()[m] for m in (a, b)) == ["active", "superseded"]
    table = read_calibrations(world.merge().derived)
    assert table["threshold"].to_list() == [pytest.approx(point.threshold)]


def test_explaining_another_tenants_memory_is_denied(world: MergeWorld) -> None:
    """Ids of one tenant mean nothing in another, and nothing of them is quoted."""
    (a,) = world.add([PARAPHRASES[0]])
    world.add([("Secret", "of the other")], tenant="other")
    world.add([("Secret two", "of the other")], tenant="other")
    with pytest.raises(UnknownMemoryError) as caught:
        world.merge().explain(TENANT, a, "mem-0002")
    assert "Secret" not in str(caught.value)
