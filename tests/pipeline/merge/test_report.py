"""The report page: self-contained, escaped, one tenant only."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from memory_assets.domain.calibration import Label, curve, operating_point
from memory_assets.pipeline.merge.report import curve_svg, merge_report
from memory_assets.pipeline.merge.view import marked, proposal_views
from memory_assets.steps.merge.calibrate import THRESHOLDS, TenantCalibration
from tests.merging import NOW, TENANT, MergeWorld


class _Balance(HTMLParser):
    """Checks that every tag is closed in order."""

    VOID = frozenset({"meta", "polyline", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture
def world(tmp_path: Path) -> MergeWorld:
    """Two conflicting definitions, and a hostile one beside its paraphrase."""
    made = MergeWorld(tmp_path)
    made.add(
        [
            ("Readmission", "A stay within 30 days"),
            ("Readmission", "A stay within 90 days"),
            ("<script>alert(1)</script>", "An order that lasts long & is late"),
            ("<script>alert(1)</script>", "Order which lasts long & is late"),
        ]
    )
    made.add([("Secret of others", "text of another tenant")] * 2, tenant="other")
    return made


def test_the_page_stands_alone_and_is_escaped(world: MergeWorld) -> None:
    """No script, nothing fetched, content only as text, tags balanced."""
    merge = world.merge()
    merge.plan(merge.tenants())
    page = merge_report(merge, TENANT, now=NOW)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert re.search(r"(src|href)=", page) is None
    assert "Secret of others" not in page
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []


def test_differing_tokens_are_marked_side_by_side(world: MergeWorld) -> None:
    """Reader's eyes go to 30 and 90."""
    merge = world.merge()
    merge.plan([TENANT])
    page = merge_report(merge, TENANT, now=NOW)
    assert "<mark>30</mark>" in page
    assert "<mark>90</mark>" in page
    assert "numbers: 30 / 90" in page


def test_nothing_turns_the_writing_round(tmp_path: Path) -> None:
    """Marks that reverse what follows are spelt out: a reviewer reads what is stored."""
    world = MergeWorld(tmp_path)
    world.add([("Stay", "not \u202eexactly 30 days"), ("Stay", "not \u202eexactly 90 days")])
    merge = world.merge()
    merge.plan([TENANT])
    page = merge_report(merge, TENANT, now=NOW)
    assert "\u202e" not in page
    assert "not \\u202eexactly" in page


def test_a_limit_says_what_is_left_out(world: MergeWorld) -> None:
    """A page never hides that there is more."""
    merge = world.merge()
    merge.plan([TENANT])
    assert "1 more are not shown" in merge_report(merge, TENANT, now=NOW, limit=1)


def test_a_report_without_a_plan_says_so(world: MergeWorld) -> None:
    """Nothing is invented."""
    assert "No plan was made yet" in merge_report(world.merge(), TENANT, now=NOW)


def test_the_tables_hold_no_content(world: MergeWorld) -> None:
    """What lies on disk about pairs and proposals are ids and figures."""
    merge = world.merge()
    merge.plan(merge.tenants())
    for path in merge.derived.root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert b"Readmission" not in data
            assert b"Secret" not in data


def test_views_name_members_and_reasons(world: MergeWorld) -> None:
    """Each proposal comes with its members' content and one line per pair."""
    merge = world.merge()
    merge.plan([TENANT])
    conflict = next(v for v in proposal_views(merge, TENANT) if v["kind"] == "conflicts")
    assert [m["differs"] for m in conflict["members"]] == [["30"], ["90"]]
    assert conflict["pairs"][0]["because"].startswith("numbers: 30 / 90")


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["30"], [("within ", False), ("30", True), (" days of 300", False)]),
        (["30 days", "days"], [("within ", False), ("30 days", True), (" of 300", False)]),
        ([], [("within 30 days of 300", False)]),
    ],
)
def test_marking_finds_whole_words(tokens: list[str], expected: list[tuple[str, bool]]) -> None:
    """A token is marked where it stands as a word, overlaps once."""
    assert list(marked("within 30 days of 300", tokens)) == expected


def test_the_curve_draws_every_threshold() -> None:
    """Three lines, one point per threshold each."""
    labels = [Label(0.95, same=True, passed=True)] * 3
    found = TenantCalibration(
        TENANT, "s", 3, operating_point(labels), 0.9, curve(labels, THRESHOLDS, guards=True)
    )
    lines = re.findall(r'points="([^"]+)"', curve_svg(found))
    assert [len(line.split()) for line in lines] == [len(THRESHOLDS)] * 3
