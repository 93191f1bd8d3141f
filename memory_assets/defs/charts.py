"""Small bar charts of counts, night by night, as the Dagster UI shows them: inline, no content."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import dagster as dg

from memory_assets.defs.resources import now

NIGHTS: Final = 30
"""How many nights a chart looks back."""
_WIDTH, _HEIGHT, _TOP, _BOTTOM = 620, 150, 24, 20
_BAR, _TONIGHT, _INK = "#8da2c0", "#2f5b9c", "#5c6370"

Night = tuple[str, float]
"""A label (the day) and a count."""


def night_by_night(
    context: dg.AssetExecutionContext, asset: str, count: str, tonight: float, *, title: str
) -> dg.MarkdownMetadataValue:
    """A chart of one count of an asset over its last materializations, and the present one.

    The figures are those that earlier runs left in their metadata: numbers and days, no content.
    """
    earlier = context.instance.fetch_materializations(dg.AssetKey(asset), limit=NIGHTS - 1)
    nights: list[Night] = []
    for record in reversed(earlier.records):
        found = record.asset_materialization
        value = found.metadata.get(count) if found else None
        if value is not None and isinstance(value.value, int | float):
            nights.append((_day(record.timestamp), value.value))
    nights.append((_day(now().timestamp()), tonight))
    return as_markdown(bar_chart(nights, title=title), alt=f"{title}: {tonight:g} now")


def bar_chart(nights: Sequence[Night], *, title: str) -> str:
    """An SVG with one bar per night, the last one stressed; the axis starts at zero."""
    most = max((value for _, value in nights), default=0) or 1
    step = _WIDTH / max(len(nights), 10)
    room = _HEIGHT - _TOP - _BOTTOM
    bars = []
    for number, (label, value) in enumerate(nights):
        height = room * max(value, 0) / most
        colour = _TONIGHT if number == len(nights) - 1 else _BAR
        bars.append(
            f'<rect x="{number * step + 1:.1f}" y="{_TOP + room - height:.1f}" '
            f'width="{step - 2:.1f}" height="{height:.1f}" fill="{colour}">'
            f"<title>{_text(label)}: {value:g}</title></rect>"
        )
    first, last = (nights[0][0], nights[-1]) if nights else ("", ("", 0.0))
    base = _HEIGHT - 5
    right = min(len(nights) * step, _WIDTH)
    words = f'font-family="sans-serif" font-size="11" fill="{_INK}"'
    extremes = f"most {most:g}, last {last[1]:g}"
    labels = [
        f'<text x="0" y="12" {words} font-weight="bold">{_text(title)}</text>',
        f'<text x="{_WIDTH}" y="12" {words} text-anchor="end">{extremes}</text>',
        f'<text x="0" y="{base}" {words}>{_text(first)}</text>',
    ]
    if len(nights) > 1 and right > 160:
        end = f'<text x="{right:.0f}" y="{base}" {words} text-anchor="end">'
        labels.append(f"{end}{_text(last[0])}</text>")
    line = f'<path d="M0 {_TOP + room + 0.5}H{_WIDTH}" stroke="{_INK}" stroke-width="0.5"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}">{"".join(bars)}{line}{"".join(labels)}</svg>'
    )


def as_markdown(svg: str, *, alt: str) -> dg.MarkdownMetadataValue:
    """The SVG inside Markdown, as the UI can show it: an image whose bytes are in its address."""
    packed = base64.b64encode(svg.encode()).decode()
    return dg.MetadataValue.md(f"![{alt}](data:image/svg+xml;base64,{packed})")


def _day(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%d %b %H:%M")


def _text(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;")
