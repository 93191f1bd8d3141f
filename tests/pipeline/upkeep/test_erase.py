"""A person, or a memory, is gone from every byte of the home, and does not come back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from memory_assets.domain.intents import Supersede
from memory_assets.errors import UnknownGeneration, UnknownMemoryError, UsageError
from memory_assets.pipeline.upkeep.erase import Subject, erase, plan_erasure
from memory_assets.pipeline.upkeep.upkeep import drift_of
from memory_assets.steps.registry.as_of import generation_at
from memory_assets.storage import failpoints
from memory_assets.storage.access_log import UseEvent, append_uses
from memory_assets.storage.intents import append_intents
from tests.building import close, note, row
from tests.nights import World

CLIENT = "client-rossi-77"
SECRETS = (b"client-rossi-77", b"zafferano", b"quokka", b"ornitorinco", b"bradipo")
"""The client's id, and words that only the client's rows hold."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A bank with shared concepts, one client's memories, a restatement, a verdict and a use."""
    made = World(tmp_path)
    made.tenants("[tenants.bank]\nreview = 'automatic'\n\n[tenants.clinic]\n")
    mine = {"client_id": CLIENT, "question_context": "what does zafferano prefer"}
    made.session(
        "bank",
        "s1",
        row(1, subject="Churn", detail="churned = TRUE"),
        row(2, subject="Preference", detail="prefers quokka funds", **mine),
        row(3, "table_promoted", subject="dim_ornitorinco", detail="for zafferano", **mine),
        close(4),
    )
    made.session(
        "bank",
        "s2",
        row(1, subject="Preference", detail="prefers quokka funds.", rationale="bradipo", **mine),
        b'{"seq": 3, "client_id": "client-rossi-77", "detail": "bradipo", broken',
        close(4),
    )
    made.session("bank", "s4", row(1, subject="Margin", detail="revenue - cost"), close(2))
    same_name = row(1, subject="Waiting", detail="waits = TRUE", client_id=CLIENT)
    made.session("clinic", "s3", same_name, close(2))
    made.night()
    made.review("bank", "s2", 1, "accept", reason="said bradipo")
    use = UseEvent(
        tenant_id="bank",
        session_id="s9",
        decision_seq=1,
        memory_id="mem-0002",
        used_at=made.now,
        used_by=f"advisor of {CLIENT}",
    )
    append_uses(made.workspace.home.access_log, [use])
    made.night()
    return made


def everything_in(home: Path) -> Iterator[tuple[str, bytes]]:
    """Every file's bytes, and what Parquet and Lance files say once they are unpacked."""
    import lance

    for path in sorted(home.rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes()
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            binary = frame.select(pl.col(pl.Binary))
            yield f"{path} (read)", frame.drop(binary.columns).write_json().encode()
            yield f"{path} (raw)", b"".join(b for column in binary for b in column.to_list())
        if path.suffix == ".lance" and path.is_dir():
            for version in lance.dataset(str(path)).versions():
                table = lance.dataset(str(path), version=version["version"]).to_table()
                text = str(table.drop(["vector"]).to_pylist())
                yield f"{path} (version {version['version']})", text.encode()


SAID = SECRETS[1:]


def traces(world: World, words: tuple[bytes, ...] = SAID) -> list[str]:
    """Where one of the words can still be found."""
    return [
        f"{where}: {word.decode()}"
        for where, data in everything_in(world.home)
        for word in words
        if word in data
    ]


ROSSI = Subject("bank", client_id=CLIENT)


def test_the_plan_counts_and_shows_no_content(world: World) -> None:
    """Memories, rows, ledger lines with file and line, and a mention in a line nobody can read."""
    plan = plan_erasure(world.workspace, ROSSI).to_dict()
    assert plan["memory_ids"] == ["mem-0002"]
    lines = [(Path(line["path"]).name, line["line"]) for line in plan["ledger_lines"]]
    assert lines == [("s1.jsonl", 2), ("s1.jsonl", 3), ("s2.jsonl", 1)]
    assert [(Path(m["path"]).name, m["line"]) for m in plan["mentions"]] == [("s2.jsonl", 2)]
    assert not any(word.decode() in json.dumps(plan) for word in SECRETS)


def test_nothing_is_left_in_any_byte_of_the_home(world: World) -> None:
    """Parts, index, old versions and generations, review files, caches, logs, derived tables."""
    assert traces(world)
    before = world.workspace.registry()
    result = erase(world.workspace, ROSSI, now=world.now, by="reviewer anna", redact_ledgers=False)
    assert traces(world) == []
    others = [w for w in traces(world, (CLIENT.encode(),)) if "derived" not in w]
    assert others == [], "another tenant's candidate may name a client of the same name"
    assert len(result.left) == 4
    after = world.workspace.registry()
    assert after.memories["memory_id"].to_list() == ["mem-0001", "mem-0003"]
    assert before.corroborations.height == 1
    assert after.corroborations.is_empty()
    assert after.uses.is_empty()
    assert drift_of(world.workspace).clean
    with pytest.raises(UnknownGeneration, match="destroyed"):
        generation_at(world.workspace.generations, 1)


def test_what_was_erased_does_not_come_back(world: World) -> None:
    """The ledgers still hold it; grown sessions are read again, and nothing of it is kept."""
    erase(world.workspace, ROSSI, now=world.now, by="reviewer anna", redact_ledgers=False)
    path = world.ledgers / "bank" / "s2.jsonl"
    more = [row(5, subject="Fresh", detail="fresh = 1"), close(6)]
    path.write_bytes(path.read_bytes() + b"".join(json.dumps(r).encode() + b"\n" for r in more))
    report = world.night()
    assert report.ingest.changed == 1
    assert report.publish.new_memories == 0, "a session with a bad line waits for a reviewer"
    assert traces(world) == []
    world.review("bank", "s2", 5, "accept")
    assert world.night().publish.new_memories == 1
    assert world.workspace.registry().memories["memory_id"].to_list()[-1] == "mem-0004"
    assert traces(world) == []


def test_ledgers_are_redacted_in_place_when_asked(world: World) -> None:
    """Their lines keep number, length and references; the session goes on."""
    path = world.ledgers / "bank" / "s1.jsonl"
    size, inode = path.stat().st_size, path.stat().st_ino
    result = erase(world.workspace, ROSSI, now=world.now, by="reviewer anna", redact_ledgers=True)
    assert result.redacted_ledger_lines == 3
    assert (path.stat().st_size, path.stat().st_ino) == (size, inode)
    assert not any(word in path.read_bytes() for word in SECRETS)
    assert json.loads(path.read_bytes().split(b"\n")[1])["seq"] == 2
    report = world.night()
    assert (report.ingest.problems, report.publish.published) == ((), False)
    assert world.workspace.registry().memories["subject"].to_list() == ["Churn", "Margin"]


def test_the_receipt_proves_without_telling(world: World) -> None:
    """Counts and keyed digests; the key is readable by its owner alone."""
    result = erase(world.workspace, ROSSI, now=world.now, by="reviewer anna", redact_ledgers=False)
    assert result.receipt is not None
    receipt = json.loads(result.receipt.read_bytes())
    assert (receipt["counts"]["memories"], receipt["generation"]) == (1, result.generation)
    assert len(receipt["digests"]) == 1 + len(result.plan.keys)
    assert len(set(receipt["digests"])) == len(receipt["digests"])
    assert not any(word in result.receipt.read_bytes() for word in SECRETS)
    assert (result.receipt.parent / "key").stat().st_mode & 0o077 == 0


def test_one_memory_can_be_erased_and_twice_is_once(world: World) -> None:
    """Intents that named it are redacted; a second run finds nothing and publishes nothing."""
    wish = Supersede(
        tenant_id="bank",
        memory_id="mem-0001",
        superseded_by="mem-0003",
        decided_by="reviewer anna",
        decided_at=world.now,
        evidence='{"why": "zafferano said so"}',
    )
    append_intents(world.workspace.home, [wish])
    world.night()
    subject = Subject("bank", memory_ids=("mem-0003",))
    first = erase(world.workspace, subject, now=world.now, by="reviewer anna", redact_ledgers=False)
    assert traces(world, (b"said so", b"revenue - cost")) == []
    assert world.workspace.registry().active()["memory_id"].to_list() == ["mem-0001", "mem-0002"]
    with pytest.raises(UnknownMemoryError):
        plan_erasure(world.workspace, subject)
    again = world.night()
    assert (again.publish.published, again.publish.generation) == (False, first.generation)


@pytest.mark.parametrize(
    "point", ["publish.index-synced", "publish.committed", "publish.request-redacted"]
)
def test_an_erasure_that_was_cut_short_is_ended_by_the_next_night(
    point: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is on record, so no one has to ask again."""

    class Crash(BaseException):
        pass

    def die(name: str) -> None:
        raise Crash(name)

    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "_end", die)
        patched.setenv(failpoints.VARIABLE, point)
        with pytest.raises(Crash):
            erase(world.workspace, ROSSI, now=world.now, by="reviewer anna", redact_ledgers=False)
    world.night()
    assert traces(world) == []
    assert drift_of(world.workspace).clean


def test_a_kill_leaves_the_receipt_of_what_was_asked_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was erased cannot be found again to be counted, so it is on record before; once."""

    class Crash(BaseException):
        pass

    def die(name: str) -> None:
        raise Crash(name)

    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "_end", die)
        patched.setenv(failpoints.VARIABLE, "publish.committed")
        with pytest.raises(Crash):
            erase(world.workspace, ROSSI, now=world.now, by="reviewer anna", redact_ledgers=False)
    (path,) = world.workspace.home.receipts.glob("*.json")
    killed = json.loads(path.read_text())
    assert killed["generation"] is None, "it is not known to be published"
    assert killed["counts"]["memories"] == 1
    assert len(killed["digests"]) > 1


def test_a_person_nobody_knows_gets_no_receipt(world: World) -> None:
    """Nothing is published or destroyed, and nothing says that it was."""
    before = world.workspace.generations.current()[0].number
    nobody = Subject("bank", client_id="nobody")
    assert plan_erasure(world.workspace, nobody).empty
    done = erase(world.workspace, nobody, now=world.now, by="reviewer anna", redact_ledgers=True)
    assert (done.generation, done.published, done.receipt) == (before, False, None)
    assert not world.workspace.home.receipts.exists()


@pytest.mark.parametrize("written", ["Client-Rossi-77", " client-rossi-77", "CLIENT-ROSSI-77"])
def test_an_identifier_in_other_letters_is_not_taken_for_another_person(
    written: str, world: World
) -> None:
    """An erasure of somebody nobody knows would look done while the person stays."""
    with pytest.raises(UsageError, match=CLIENT) as caught:
        plan_erasure(world.workspace, Subject("bank", client_id=written))
    assert "letter by letter" in caught.value.remedy


def test_a_memory_that_names_the_person_without_being_about_them_is_listed(world: World) -> None:
    """It stays, so whoever asks for the erasure learns of it, and can name it."""
    context = f"the yearly review of {CLIENT}, at home"
    world.session("bank", "s5", row(1, subject="Review", question_context=context), close(2))
    world.night()
    plan = plan_erasure(world.workspace, ROSSI).to_dict()
    (named,) = plan["memories_that_name_it"]
    assert named["columns"] == ["question_context"]
    assert named["memory_id"] not in plan["memory_ids"]
    erase(world.workspace, ROSSI, now=world.now, by="reviewer anna", redact_ledgers=True)
    this = Subject("bank", memory_ids=(named["memory_id"],))
    erase(world.workspace, this, now=world.now, by="reviewer anna", redact_ledgers=True)
    bank = world.workspace.registry().of_tenant("bank")
    assert CLIENT not in bank.memories.write_json()
    assert plan_erasure(world.workspace, ROSSI).naming == ()


def test_it_must_be_clear_what_to_erase() -> None:
    """Nobody, or two at once, is refused."""
    with pytest.raises(UsageError):
        Subject("bank")
    with pytest.raises(UsageError):
        Subject("bank", client_id="c", user_id="u")


def test_markers_about_erased_rows_stay_markers(tmp_path: Path) -> None:
    """A verdict's reference survives redaction; what it quotes does not."""
    world = World(tmp_path)
    world.session(
        "clinic",
        "s1",
        row(1, subject="A", detail="quokka", client_id=CLIENT),
        note(2, "memory_promoted", "seq:1", rationale="quokka is right"),
        row(3, subject="B", detail="b"),
        close(4),
    )
    world.night()
    erase(
        world.workspace,
        Subject("clinic", client_id=CLIENT),
        now=world.now,
        by="reviewer anna",
        redact_ledgers=True,
    )
    lines = (world.ledgers / "clinic" / "s1.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert rows[1] == {"seq": 2, "ts": rows[1]["ts"], "type": "memory_promoted", "detail": "seq:1"}
    assert rows[2]["detail"] == "b"
    assert world.night().ingest.problems == ()
