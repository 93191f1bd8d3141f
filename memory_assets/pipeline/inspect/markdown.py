"""Markdown that somebody else wrote → HTML that is safe to show; and text → Markdown."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_CODE: Final = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~&])")


def render(text: str) -> str:
    """HTML of a Markdown text: no raw HTML, no images, no links that run code.

    Raw HTML stays visible as text. Images are left out: one would tell its server who reads what.
    """
    return str(_renderer().render(text))


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # ``html`` off escapes tags; links are limited to http, https and mailto by ``_is_harmless``.
    made = MarkdownIt("commonmark", {"html": False, "breaks": True})
    made.enable("table").disable("image")
    made.validateLink = _is_harmless  # type: ignore[method-assign]
    return made


def _is_harmless(url: str) -> bool:
    return url.strip().casefold().startswith(("https://", "http://", "mailto:", "#", "/"))


def inline(text: str) -> str:
    """The text on one line of Markdown: code spans stay, everything else is literal."""
    line = " ".join(text.split())
    out = []
    at = 0
    for found in _CODE.finditer(line):
        out += [_escaped(line[at : found.start()]), found.group()]
        at = found.end()
    out.append(_escaped(line[at:]))
    return "".join(out)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
