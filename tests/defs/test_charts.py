"""Charts of counts: what is drawn, and that they are sound SVG without content."""

from __future__ import annotations

import base64
from xml.etree import ElementTree

import dagster as dg

from memory_assets.defs.charts import as_markdown, bar_chart

SVG = "{http://www.w3.org/2000/svg}"


def _heights(svg: str) -> list[float]:
    return [float(bar.get("height", "0")) for bar in ElementTree.fromstring(svg).iter(f"{SVG}rect")]


def test_bars_stand_in_proportion_to_their_counts() -> None:
    """Twice the count, twice the height; the axis starts at zero."""
    one, two, none = _heights(bar_chart([("a", 10), ("b", 20), ("c", 0)], title="lines"))
    assert two == 2 * one > 0
    assert none == 0


def test_nothing_yet_is_a_chart_as_well() -> None:
    """The first night has no history, and nights of zeros divide by nothing."""
    assert _heights(bar_chart([], title="lines")) == []
    assert _heights(bar_chart([("a", 0)], title="lines")) == [0]


def test_titles_cannot_break_the_picture() -> None:
    """Signs that mean something in SVG are escaped."""
    svg = bar_chart([("<b>", 1)], title="this & <that>")
    words = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert words[0] == "this & <that>"


def test_the_picture_is_in_the_metadata_itself() -> None:
    """No file and no server is needed to see it: the bytes are in the Markdown."""
    svg = bar_chart([("a", 1)], title="lines")
    found = as_markdown(svg, alt="lines")
    assert isinstance(found, dg.MarkdownMetadataValue)
    packed = (found.md_str or "").split("base64,")[1].rstrip(")")
    assert base64.b64decode(packed).decode() == svg
