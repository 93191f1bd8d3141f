"""One request: who asks, what the state is, and how a template becomes a response."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, wraps
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memory_assets.pipeline.inspect.markdown import render
from memory_assets.pipeline.review.state import ReviewState
from memory_assets.pipeline.workspace import Workspace
from memory_assets.web.access import Access, csrf_token
from memory_assets.web.reviewers import Reviewer

if TYPE_CHECKING:
    from jinja2 import Environment

_FLASH: Final = "flash"
_MOST_FLASH: Final = 1_800
"""Bytes as the cookie writes them: a message lives in there, and a browser takes 4 KB at most."""
Handler = Callable[["Page"], Response]


@dataclass(frozen=True)
class Page:
    """What a handler needs to answer."""

    request: Request
    stranger_or_reviewer: Reviewer | None

    @classmethod
    def of(cls, request: Request, *, allow_strangers: bool = False) -> Page:
        """The page of a request.

        Raises:
            HTTPException: 401, nobody has signed in.
        """
        access: Access = request.app.state.access
        who = access.reviewer(request) if "session" in request.scope else None
        if who is None and not allow_strangers:
            raise HTTPException(401, "Sign in first.")
        return cls(request, who)

    @property
    def reviewer(self) -> Reviewer:
        """Who asks; a page for strangers has none."""
        assert self.stranger_or_reviewer is not None
        return self.stranger_or_reviewer

    @property
    def workspace(self) -> Workspace:
        """The installation."""
        found: Workspace = self.request.app.state.workspace
        return found

    @property
    def state(self) -> ReviewState:
        """Where every item stands."""
        found: ReviewState = self.request.app.state.states.now()
        return found

    @property
    def now(self) -> datetime:
        """The present instant."""
        found: datetime = self.request.app.state.clock()
        return found

    def tenant(self, name: str) -> str:
        """The tenant, when the reviewer was given it.

        Raises:
            HTTPException: 404; another tenant's page looks like none at all.
        """
        if name not in self.reviewer.tenants:
            raise HTTPException(404)
        return name

    def render(self, template: str, content: Mapping[str, Any], *, status: int = 200) -> Response:
        """The response that the template makes of the content."""
        who = self.stranger_or_reviewer
        session = self.request.session if "session" in self.request.scope else {}
        flash = session.pop(_FLASH, None) if who is not None else None
        html = (
            _environment()
            .get_template(template)
            .render(
                **content,
                reviewer=who,
                csrf=csrf_token(self.request) if "session" in self.request.scope else "",
                flash=flash,
                now=self.now,
                here=str(self.request.url.path),
            )
        )
        return HTMLResponse(html, status)

    def go(
        self, path: str, message: str = "", *, undo: bool = False, refused: bool = False
    ) -> Response:
        """A redirect to one of our own pages, which then shows the message.

        ``undo`` offers to take it back; ``refused`` shows that something was not done.
        """
        if message:
            self.request.session[_FLASH] = {
                "text": _fitting(message),
                "undo": undo,
                "refused": refused,
            }
        return RedirectResponse(own_path(path), 303)


def page(handler: Handler) -> Callable[[Request], Response]:
    """A route for signed-in reviewers; others are asked to sign in."""

    @wraps(handler)
    def answer(request: Request) -> Response:
        made = Page.of(request, allow_strangers=True)
        if made.stranger_or_reviewer is None:
            access: Access = request.app.state.access
            if access.proxy_header is not None:
                raise HTTPException(403, "The proxy named nobody who reviews here.")
            asked = request.url
            back = urlencode({"next": f"{asked.path}?{asked.query}" if asked.query else asked.path})
            return RedirectResponse(f"/sign-in?{back}", 303)
        return handler(made)

    return answer


def _fitting(message: str) -> str:
    """The message, cut to what its cookie holds; a character is up to twelve bytes in there."""
    room = _MOST_FLASH
    for at, character in enumerate(message):
        room -= len(json.dumps(character)) - 2
        if room < 0:
            return message[:at].rstrip() + " …"
    return message


def own_path(path: object) -> str:
    """The path when it is one of ours, else the start page: a redirect never leaves the site."""
    text = path if isinstance(path, str) else "/"
    parts = urlsplit(text)
    ours = text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if ours and not parts.scheme and not parts.netloc else "/"


def item_path(item_id: str) -> str:
    """The address of an item's page."""
    return "/items/" + quote(item_id, safe="/:")


def session_path(tenant: str, session: str) -> str:
    """The address of a session's checklist."""
    return f"/sessions/{quote(tenant, safe='')}/{quote(session, safe='')}"


def _short(text: str, most: int = 1_200) -> str:
    """The beginning of a long text; the item's own page shows more."""
    return text if len(text) <= most else text[:most].rstrip() + " …"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(str(files("memory_assets.web") / "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # ``render`` escapes raw HTML itself, which is why its result may go in unescaped.
    made.filters["md"] = lambda text: Markup(render(text or ""))
    made.filters["short"] = _short
    made.filters["day"] = lambda text: (text or "")[:10]
    made.globals["item_path"] = item_path
    made.globals["session_path"] = session_path
    return made
