"""One home that holds something of a client in every file it can lie in, before and after."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from memory_assets.domain.merge_review import PairReview
from memory_assets.domain.review import ProposalDecision
from memory_assets.domain.schemas import (
    CANDIDATES,
    DECISIONS,
    DETACHMENTS,
    FACTS,
    NEAR_DUPLICATES,
    REFUSED_ANSWERS,
    REVIEW_QUEUE,
    TableSpec,
)
from memory_assets.domain.spaces import DEFINITION_RECIPE, definition_text, text_sha256
from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.merge.semantic import SemanticMerge
from memory_assets.pipeline.review.detach import detach
from memory_assets.pipeline.upkeep.erase import Subject, erase, plan_erasure
from memory_assets.pipeline.upkeep.migrate import migrate
from memory_assets.pipeline.upkeep.upkeep import drift_of
from memory_assets.steps.review.items import ItemRef
from memory_assets.steps.search.feedback import give_feedback
from memory_assets.steps.search.types import SearchRequest
from memory_assets.storage.access_log import UseEvent, append_uses
from memory_assets.storage.deviations import record_deviations
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.pair_log import append_pair_reviews
from memory_assets.storage.review_log import append_review_decisions
from memory_assets.storage.run_log import RunLog
from tests.building import close, row
from tests.chat_server import ChatServer, chat_server, fact
from tests.nights import World
from tests.pipeline.upkeep.test_erase import everything_in

CLIENT = "client-rossi-77"
WORDS = (b"quokka", b"zafferano", b"bradipo", b"ornitorinco", b"rossi-77")
FIRST = "Quokka patients admitted to a ward of the hospital during the calendar year"
ALIKE = "Quokka patients who are admitted to a ward of the hospital during the calendar year"
DOUBT = "Quokka patients admitted to a ward of the hospital during the 2 calendar years"
MINE: dict[str, Any] = {"client_id": CLIENT, "question_context": "zafferano"}
TENANTS = """[tenants.bank]
review = "automatic"
extractor = "openai:m"
duplicate_thresholds = { "hashed:64" = 0.6 }

[tenants.clinic]
"""


@dataclass
class Whole(World):
    """A world with a serving space, a warm one, and one kept for a rollback."""

    more: dict[str, str | None] = field(default_factory=dict)

    @property
    def flags(self) -> dict[str, str | None]:
        """Two providers; both are here."""
        flags: dict[str, str | None] = {"home": str(self.home), "ledgers": str(self.ledgers)}
        return flags | {"embedding": "hashed:64, hashed:32", "embedding_warm": "hashed:32"}

    def table(self, group: str, spec: TableSpec) -> str:
        """A derived table as text."""
        return self.workspace.derived.read(group, spec).write_json()


def answers(text: str) -> Any:
    """A fact from the text; one text gets an answer that is refused."""
    if "ornitorinco" in text:
        return "no JSON about ornitorinco"
    subject, _, detail = text.partition(" means ")
    return {"facts": [fact(subject, f"{subject} means {detail}", text)]}


@pytest.fixture
def asked() -> Iterator[ChatServer]:
    """A model on loopback that extracts facts."""
    with chat_server(answers) as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, asked: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Whole:
    """Everything that a home can hold of a client, made by the real thing."""
    monkeypatch.setenv("MEMORY_ASSETS_EXTRACTOR_URL", asked.url)
    made = Whole(tmp_path)
    made.tenants(TENANTS)
    made.session("bank", "s1", row(1, subject="Churn", detail="churned = TRUE"), close(2))
    made.session("bank", "s2", row(1, subject="Inpatient", detail=FIRST, **MINE), close(2))
    made.night()
    made.session(
        "bank",
        "s3",
        row(1, subject="Inpatient", detail=ALIKE, rationale="bradipo", **MINE),
        row(2, "memory_event", detail="Bradipo means slow client", source="CHAT", **MINE),
        row(3, "memory_event", detail="ornitorinco is odd", source="CHAT", **MINE),
        row(4, "memory_event", detail="Harvest means July", source="CHAT"),
        close(5),
    )
    made.night()
    migrate(made.workspace, "hashed:128", now=made.now)
    item = ItemRef("bank", "s3", 1)
    detach(made.workspace, item, by="anna", reason="bradipo is not quokka", now=made.now)
    made.session("bank", "s4", row(1, subject="Inpatient", detail=DOUBT, **MINE), close(2))
    made.session("clinic", "s5", row(1, subject="Wait", detail="waits"), close(2))
    made.night()
    of_words(made)
    return made


def of_words(world: Whole) -> None:
    """Verdicts, feedback, uses, logs, and a merge plan, about or naming the client."""
    workspace, home, now = world.workspace, world.workspace.home, world.now
    merge = SemanticMerge(workspace)
    merge.plan(["bank"])
    ids = mine(world)
    give_feedback(
        workspace.searcher,
        Principal.local("bank"),
        ids[0],
        tenant_id="bank",
        kind="wrong",
        why="a quokka is no fund",
        given_by="anna",
        now=now,
    )
    hashes = dict(workspace.registry().memories.select("memory_id", "content_sha256").iter_rows())
    pair = PairReview(
        tenant_id="bank",
        memory_a="mem-0001",
        memory_b=ids[0],
        verdict="different",
        reviewer="anna",
        decided_at=now,
        content_a=hashes["mem-0001"],
        content_b=hashes[ids[0]],
        reason="churn is no quokka",
    )
    append_pair_reviews(home, [pair])
    declined = ProposalDecision(
        tenant_id="bank",
        proposal=f"merge:{ids[0]}+{ids[1]}",
        verdict="decline",
        reviewer="anna",
        decided_at=now,
        content_sha256="0" * 64,
        reason="quokka twice",
    )
    append_review_decisions(home.review_decisions, [declined])
    uses = [
        UseEvent(
            tenant_id="bank",
            session_id="s9",
            decision_seq=n,
            memory_id=memory,
            used_at=now,
            used_by=by,
        )
        for n, memory, by in ((1, ids[0], "anna"), (2, "mem-0001", f"advisor of {CLIENT}"))
    ]
    append_uses(home.access_log, uses[:1])
    world.night()
    append_uses(home.access_log, uses[1:])
    RunLog(home.logs, "run").write(
        "markers-owed", now=now, level="warning", fields={"message": f"{CLIENT} has a bad line"}
    )
    why = {"tenant_id": "bank", "code": "x", "message": f"see {CLIENT}"}
    record_deviations(home.preflight, {"bank": why}, ["bank"])
    record_deviations(home.preflight, {}, ["bank"])


def mine(world: Whole) -> list[str]:
    """Ids of the client's memories."""
    memories = world.workspace.registry().memories
    return memories.filter(client_id=CLIENT)["memory_id"].to_list()


def vectors(world: Whole, *details: str) -> int:
    """Cached vectors of these definitions."""
    keys = [text_sha256(definition_text(subject="Inpatient", detail=d)) for d in details]
    workspace = world.workspace
    key = workspace.embedder.space(DEFINITION_RECIPE).model_key
    return len(workspace.cache.get(key, "document", keys))


def named_in_merge(world: Whole, ids: Sequence[str]) -> bool:
    """Whether the tables of the merge name one of the memories."""
    found = [pl.read_parquet(p).write_json() for p in world.home.glob("merge/*/*.parquet")]
    return any(m in text for text in found for m in ids)


def places(world: Whole, ids: Sequence[str]) -> dict[str, bool]:
    """Every place in which something of the client can lie, and whether it does."""
    home = world.workspace.home

    def says(pattern: str, *words: str) -> bool:
        files = [p for p in home.root.glob(pattern) if p.is_file()]
        return any(w in p.read_text() for p in files for w in words)

    def table(group: str, spec: TableSpec, *words: str) -> bool:
        return any(w.lower() in world.table(group, spec).lower() for w in words)

    found = {
        "feedback": says("review/feedback.jsonl", "quokka", *ids),
        "pair log": says("review/pairs.jsonl", "quokka", "bradipo", *ids),
        "review file": says("review/decisions.jsonl", "quokka", *ids),
        "access log": says("access/*/*.jsonl", CLIENT, *ids),
        "run log": says("logs/*.jsonl", CLIENT),
        "deviations": says("preflight/deviations.jsonl", CLIENT),
        "answers": says("answers/*/*.json", "Bradipo", "ornitorinco"),
        "facts": table("extracted_facts", FACTS, "bradipo"),
        "refused answers": table("extracted_facts", REFUSED_ANSWERS, "ornitorinco"),
        "decisions": table("effective_decisions", DECISIONS, "quokka"),
        "candidates": table("candidate_memories", CANDIDATES, "quokka"),
        "review queue": table("review_queue", REVIEW_QUEUE, "quokka", *ids),
        "near duplicates": table("near_duplicates", NEAR_DUPLICATES, *ids),
        "merge tables": named_in_merge(world, ids),
        "vectors": vectors(world, FIRST, ALIKE) > 0,
        "a candidate's vectors": vectors(world, DOUBT) > 0,
    }
    view = world.workspace.registry()
    found |= {
        name: frame.filter(pl.any_horizontal(pl.col(pl.String).is_in(ids))).height > 0
        for name, frame in view.tables().items()
        if name in (DETACHMENTS.name, "memories", "uses")
    }
    current, _ = world.workspace.generations.current()
    for space in current.spaces:
        rows = PinnedIndex(home.index, space.table, space.version).rows(["row_key", "detail"])
        found[f"space {space.space.model}"] = "Quokka" in rows.write_json()
    return found


def traces(world: Whole) -> list[str]:
    """Where a word of the client can be read in any byte of the home, packed or not."""
    return [
        f"{where}: {word.decode()}"
        for where, data in everything_in(world.home)
        for word in WORDS
        if word in data.lower()
    ]


def erase_client(world: Whole) -> None:
    """The client, all in one."""
    subject = Subject("bank", client_id=CLIENT)
    erase(world.workspace, subject, now=world.now, by="anna", redact_ledgers=False)


def erase_memories(world: Whole) -> None:
    """The client's memories one request at a time, and then what never became one."""
    for memory in mine(world):
        subject = Subject("bank", memory_ids=(memory,))
        erase(world.workspace, subject, now=world.now, by="anna", redact_ledgers=False)
    erase_client(world)


@pytest.mark.parametrize("how", [erase_client, erase_memories])
def test_a_client_is_gone_from_every_place(world: Whole, how: Callable[[Whole], None]) -> None:
    """Each place held something before; afterwards none does, and no byte of the home says it."""
    ids = mine(world)
    assert len(ids) == 3
    before = places(world, ids)
    assert [name for name, there in before.items() if not there] == []
    assert [name for name in before if name.startswith("space ")] != []
    assert len({w for w in WORDS if any(t.endswith(w.decode()) for t in traces(world))}) == 5
    how(world)
    assert [name for name, there in places(world, ids).items() if there] == []
    assert traces(world) == []
    assert drift_of(world.workspace).clean
    kept = world.workspace.registry().memories["subject"].to_list()
    assert kept == ["Churn", "Harvest"]


def test_it_stays_gone_through_a_night_and_a_merge_plan(world: Whole, asked: ChatServer) -> None:
    """The ledgers still say it; no model is asked about it again, and nothing of it comes back."""
    ids = mine(world)
    erase_client(world)
    asked.bodies.clear()
    world.night()
    SemanticMerge(world.workspace).plan(["bank"])
    assert [name for name, there in places(world, ids).items() if there] == []
    assert traces(world) == []
    assert asked.bodies == []
    found = world.workspace.search(SearchRequest("churn", Principal.local("bank"), world.now))
    assert [h.memory_id for h in found.hits][:1] == ["mem-0001"]


def test_people_s_own_words_are_listed(world: Whole) -> None:
    """A verdict about something else and a setting that name the client are left to their owner."""
    path = world.home / "tenants.toml"
    path.write_text(path.read_text() + f"\n# {CLIENT} asked for this\n")
    world.review("clinic", "s5", 1, "defer", reason=f"as {CLIENT} has it")
    plan = plan_erasure(world.workspace, Subject("bank", client_id=CLIENT))
    own = {Path(m.path).name for m in plan.mentions}
    assert own == {"tenants.toml"}, "another tenant's verdict may name a client of the same name"
    plan = plan_erasure(world.workspace, Subject("clinic", client_id=CLIENT))
    assert {Path(m.path).name for m in plan.mentions} == {"tenants.toml", "decisions.jsonl"}


def test_what_repeats_an_erased_memory_goes_with_it(world: Whole) -> None:
    """A row that proposes or reuses it holds its words, before anybody has accepted it."""
    (memory, *_) = mine(world)
    world.session(
        "bank",
        "s7",
        row(1, "memory_proposed", subject="Inpatient", detail=memory),
        row(2, subject="Inpatient", detail="own quokka", rationale=f"Reuses {memory}."),
        row(3, subject="Other", detail="nothing to do with it"),
    )
    plan = plan_erasure(world.workspace, Subject("bank", memory_ids=(memory,)))
    lines = {(Path(line.path).name, line.line) for line in plan.ledger_lines}
    assert lines == {("s2.jsonl", 1), ("s7.jsonl", 1), ("s7.jsonl", 2)}
    assert json.loads(json.dumps(plan.to_dict()))["memory_ids"] == [memory]
