"""Questions with known answers: from ledgers, and from files."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_assets.errors import UsageError
from memory_assets.steps.search.evaluation_cases import Case, file_cases, ledger_cases
from tests.building import close, note, row
from tests.nights import World

ABLATION = {"subject": "Ablation", "detail": "by catheter"}
VISIT = {"subject": "Visit", "detail": "at home"}


def asked(seq: int, question: str, content: dict[str, str], **more: str) -> dict[str, object]:
    return row(seq, question_context=question, **content, **more)


def cases(world: World) -> dict[str, Case]:
    found = ledger_cases(world.workspace.derived, world.workspace.searcher.served())
    return {case.session_id or "": case for case in found}


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.tenants('[tenants.clinic]\nreview = "automatic"\n')
    world.session("clinic", "s1", asked(1, "how many ablations?", ABLATION), close(2))
    world.session("clinic", "s2", asked(1, "how many visits?", VISIT), close(2))
    return world


def test_a_session_that_clarifies_what_another_had_implies_a_label(world: World) -> None:
    """Its question needed the other session's memory; the memory's own question implies nothing."""
    world.session("clinic", "s3", asked(1, "ablations by year?", ABLATION), close(2))
    world.night()
    assert cases(world) == {
        "s3": Case("clinic", "ablations by year?", frozenset({"mem-0001"}), "en", "recurring", "s3")
    }


def test_a_citation_implies_a_label_and_both_count_once(world: World) -> None:
    """A question that cites one memory and restates another needed both of them."""
    world.session(
        "clinic",
        "s3",
        asked(1, "what of both?", ABLATION, rationale="as in mem-0001"),
        asked(2, "what of both?", {"subject": "Ward", "detail": "x"}, rationale="see mem-0002"),
        close(3),
    )
    world.night()
    case = cases(world)["s3"]
    assert case.needed == {"mem-0001", "mem-0002"}
    assert case.source == "cited"


@pytest.mark.parametrize(
    "rows",
    [
        [asked(1, "open?", ABLATION)],
        [asked(1, " ", ABLATION), close(2)],
        [asked(1, "gone?", ABLATION), note(2, "decision_withdrawn", "seq:1"), close(3)],
        [asked(1, "else?", {"subject": "Ward", "detail": "x"}, rationale="mem-0099"), close(2)],
        [asked(1, "mine?", ABLATION, client_id="c1"), close(2)],
    ],
    ids=["open", "no question", "withdrawn", "unknown citation", "other scope"],
)
def test_what_is_no_label(world: World, rows: list[dict[str, object]]) -> None:
    """Open sessions, blank questions, withdrawn or foreign clarifications imply nothing."""
    world.session("clinic", "s3", *rows)
    world.night()
    assert "s3" not in cases(world)


def test_a_labelled_file_names_questions_and_memories(tmp_path: Path) -> None:
    """One JSON object per line; tenant and language may be left out; .gz is unpacked."""
    text = (
        '{"query": "the age of a patient", "relevant": ["mem-0001", "mem-0002"]}\n\n'
        '{"query": "x", "relevant": ["mem-0003"], "tenant_id": "bank", "language": "it"}\n'
    )
    for path, data in (
        (tmp_path / "a.jsonl", text.encode()),
        (tmp_path / "a.jsonl.gz", gzip.compress(text.encode())),
    ):
        path.write_bytes(data)
        first, second = file_cases(path, "clinic")
        assert (first.tenant_id, first.language, first.needed) == (
            "clinic",
            "en",
            frozenset({"mem-0001", "mem-0002"}),
        )
        assert (second.tenant_id, second.language) == ("bank", "it")


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '{"relevant": ["mem-0001"]}',
        '{"query": " ", "relevant": ["mem-0001"]}',
        '{"query": "x"}',
        '{"query": "x", "relevant": []}',
        '{"query": "x", "relevant": [1]}',
    ],
)
def test_a_line_that_is_no_labelled_question_is_named(tmp_path: Path, line: str) -> None:
    """The error names file and line, and says how to write it."""
    path = tmp_path / "bad.jsonl"
    path.write_text('{"query": "x", "relevant": ["mem-0001"]}\n' + line + "\n")
    with pytest.raises(UsageError, match="line 2"):
        file_cases(path, "clinic")


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_byte_order_mark_and_packing_change_nothing(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    """What an editor or gzip did to a file is undone, whatever its name."""
    path = tmp_path / name
    line = b'{"query": "x", "relevant": ["mem-0001"]}'
    path.write_bytes(pack(codecs.BOM_UTF8 + line + b"\r\n"))
    (case,) = file_cases(path, "clinic")
    assert (case.query, case.needed) == ("x", frozenset({"mem-0001"}))


def test_a_damaged_packed_file_cannot_be_read(tmp_path: Path) -> None:
    """Torn or garbled, it is named and no traceback shown."""
    packed = gzip.compress(b'{"query": "x", "relevant": ["mem-0001"]}\n')
    path = tmp_path / "a.jsonl.gz"
    for damaged in (packed[:20], packed[:12] + b"\xff" * 9 + packed[21:]):
        path.write_bytes(damaged)
        with pytest.raises(UsageError, match="cannot be read"):
            file_cases(path, "clinic")


def test_a_label_without_any_tenant_is_refused(tmp_path: Path) -> None:
    """Ids alone are unique per tenant only."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"query": "x", "relevant": ["mem-0001"]}\n')
    with pytest.raises(UsageError, match="tenant"):
        file_cases(path, None)
    with pytest.raises(UsageError, match="cannot be read"):
        file_cases(tmp_path / "none", "clinic")
