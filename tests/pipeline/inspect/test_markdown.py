"""Markdown of strangers becomes HTML that can do nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.pipeline.inspect.markdown import inline, render

TAG = re.compile(r"<\s*/?\s*([a-zA-Z][\w-]*)([^>]*)>")
ALLOWED = {
    *("p", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "h1", "h2", "h3", "h4"),
    *("h5", "h6", "hr", "br", "a", "table", "thead", "tbody", "tr", "th", "td"),
}


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
        "![x](http://evil.example/p.png)",
        "[x]: javascript:alert(1)\n\n[x]",
        "`<b>` <style>*{}</style>",
    ],
)
def test_nothing_runs_and_nothing_is_fetched(text: str) -> None:
    """Raw HTML is text, links go to pages only, images are left out."""
    html = render(text)
    assert {name.lower() for name, _ in TAG.findall(html)} <= ALLOWED
    assert not re.search(r'(href|src)="\s*(javascript|data|vbscript)', html, re.IGNORECASE)
    assert "<img" not in html


@given(st.text(max_size=200))
def test_only_harmless_tags_come_out(text: str) -> None:
    """Whatever goes in, no other tag and no attribute but a link's address."""
    for name, attributes in TAG.findall(render(text)):
        assert name.lower() in ALLOWED
        assert re.fullmatch(r'(\s+(href|title|start|class|style)="[^"]*")*\s*/?', attributes)


def test_code_spans_stay_and_everything_else_is_literal() -> None:
    """On one line, so that a text can stand inside a list of a larger document."""
    assert inline("a `x_y = '<b>'`\n*not bold* # [x](y)") == (
        r"a `x_y = '<b>'` \*not bold\* # \[x\](y)"
    )
    assert "<em>" not in render(inline("*a* _b_ <c>"))
    assert "<code>x_y</code>" in render(inline("`x_y`"))
