"""The pages that show: queue, session, item, summary, digest, refused lines, sign-in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from memory_assets.domain.neighbours import LABELS
from memory_assets.errors import UnknownSessionError, UsageError
from memory_assets.pipeline.inspect.markdown import render
from memory_assets.pipeline.inspect.sessions import find_session, read_session
from memory_assets.pipeline.inspect.summary import summarise
from memory_assets.pipeline.review.digest import make_digest
from memory_assets.pipeline.review.state import (
    PENDING,
    STATES,
    Item,
    QueueFilter,
    refused_lines,
)
from memory_assets.steps.registry.diff import side_by_side
from memory_assets.steps.review.items import ItemRef, ProposalRef, parse_items
from memory_assets.web.access import Access, require_own_form
from memory_assets.web.page import Page, item_path, own_path, page

SESSIONS_PER_PAGE: Final = 25
_FIELDS: Final = ("subject", "detail", "rationale")
_OTHER_LABELS: Final = ("retire", "merge", "feedback")


@page
def queue(this: Page) -> Response:
    """What waits, session by session, with filters."""
    query = this.request.query_params
    tenants = this.reviewer.tenants
    chosen = [this.tenant(query["tenant"])] if query.get("tenant") else tenants
    wanted = {
        "tenant": query.get("tenant", ""),
        "session": query.get("session", "").strip(),
        "label": query.get("label", ""),
        "state": query.get("state", "pending"),
        "age": query.get("age", "").strip(),
    }
    if wanted["state"] not in STATES:
        wanted["state"] = "pending"
    queues = [this.state.queue(this.reviewer.principal, _filter(t, wanted)) for t in chosen]
    items = [item for one in queues for item in one.items]
    groups = _by_session(items)
    number = _page_number(query.get("page", "1"), len(groups))
    first = (number - 1) * SESSIONS_PER_PAGE
    kept = {k: v for k, v in wanted.items() if v}
    return this.render(
        "queue.html",
        {
            "groups": groups[first : first + SESSIONS_PER_PAGE],
            "shown": len(items),
            "waiting": sum(one.waiting for one in queues),
            "oldest": min((one.oldest for one in queues if one.oldest), default=None),
            "tenants": tenants,
            "labels": (*LABELS, *_OTHER_LABELS),
            "states": STATES,
            "wanted": wanted,
            "number": number,
            "pages": max(1, -(-len(groups) // SESSIONS_PER_PAGE)),
            "query": urlencode(kept),
            "pending": PENDING,
        },
    )


@page
def session(this: Page) -> Response:
    """One session's checklist: every candidate preselected, as in the gate of a session's end."""
    tenant = this.tenant(this.request.path_params["tenant"])
    name = this.request.path_params["session"]
    wanted = QueueFilter(tenant, session_id=name, state="all")
    everything = this.state.queue(this.reviewer.principal, wanted).items
    items = [i for i in everything if i["kind"] == "candidate"]
    finished, lines = _session_facts(this, tenant, name)
    if finished is None and not items:
        raise HTTPException(404)
    pending = [i for i in items if i["state"] in PENDING]
    return this.render(
        "session.html",
        {
            "tenant": tenant,
            "session": name,
            "finished": finished,
            "refused_lines": lines,
            "pending": pending,
            "decided": [i for i in items if i["state"] not in PENDING],
            "about": [i for i in everything if i["kind"] != "candidate" and i["state"] in PENDING],
            "question": next((i["question_context"] for i in items if i["question_context"]), ""),
        },
    )


@page
def item(this: Page) -> Response:
    """One item in full, beside its nearest memories."""
    tenant = this.tenant(this.request.path_params["tenant"])
    found = this.state.item(this.reviewer.principal, named_item(this, tenant))
    waiting = this.state.queue(this.reviewer.principal, QueueFilter(tenant)).items
    before, after = around(waiting, found["item_id"])
    return this.render(
        "item.html",
        {
            "item": found,
            "tenant": tenant,
            "pairs": [_compared(found, near) for near in found["neighbours"]],
            "before": before,
            "after": after,
            "left": len(waiting),
            "pending": found["state"] in PENDING,
            "candidate": found["kind"] == "candidate",
        },
    )


@page
def summary(this: Page) -> Response:
    """What became of a session's clarifications."""
    tenant = this.tenant(this.request.path_params["tenant"])
    name = this.request.path_params["session"]
    found = summarise(this.workspace, name, tenant_id=tenant, principal=this.reviewer.principal)
    return this.render("summary.html", {"summary": found, "tenant": tenant, "session": name})


@page
def digest(this: Page) -> Response:
    """What is new, what waits, and what conflicts, in the last day or so many."""
    tenant = this.tenant(this.request.path_params["tenant"])
    days = _days(this.request.query_params.get("days", ""))
    since = this.now - timedelta(days=days or 1)
    found = make_digest(this.state, this.reviewer.principal, tenant, since=since)
    body = Markup(render(found.to_markdown()))
    return this.render("digest.html", {"tenant": tenant, "body": body, "days": days or 1})


@page
def refused(this: Page) -> Response:
    """Lines of the review file that do not count, as far as they are this reviewer's to see."""
    if not this.reviewer.may_see_everything():
        raise HTTPException(404)
    tenants = this.reviewer.tenants
    found = refused_lines(this.state.assessment, this.state.proposals)
    of = [(row, _tenant_of(row["raw"])) for row in found]
    shown = [row for row, tenant in of if tenant in tenants]
    nobodys = [row["line"] for row, tenant in of if tenant is None]
    return this.render("refused.html", {"lines": shown, "nobodys": nobodys})


async def sign_in(request: Request) -> Response:
    """Asks for a token, and lets its owner in; ``?token=`` is the link that a server prints."""
    access: Access = request.app.state.access
    this = Page.of(request, allow_strangers=True)
    back = own_path(request.query_params.get("next", "/"))
    token = request.query_params.get("token")
    if request.method == "POST":
        form = await request.form()
        require_own_form(request, form.get("csrf"))
        token = str(form.get("token", ""))
    if access.proxy_header is not None:
        return this.render("problem.html", {"what": "A proxy signs in here.", "remedy": ""} | _403)
    if token is not None:
        if access.sign_in(request, token) is not None:
            return RedirectResponse(back, 303)
        return this.render("sign-in.html", {"wrong": True, "back": back}, status=403)
    return this.render("sign-in.html", {"wrong": False, "back": back})


_403: Final = {"status": 403}


def named_item(this: Page, tenant: str) -> ItemRef | ProposalRef:
    """The item that the address names.

    Raises:
        HTTPException: 404, it names none.
    """
    try:
        named = parse_items([f"{tenant}/{this.request.path_params['item']}"])
    except UsageError:
        raise HTTPException(404) from None
    if len(named) != 1 or not isinstance(named[0], ItemRef | ProposalRef):
        raise HTTPException(404)
    return named[0]


def around(waiting: Sequence[Item], item_id: str) -> tuple[str | None, str | None]:
    """Addresses of the items before and after this one; of the first one when it is not there."""
    ids = [i["item_id"] for i in waiting]
    if item_id not in ids:
        return None, item_path(ids[0]) if ids else None
    at = ids.index(item_id)
    before = item_path(ids[at - 1]) if at else None
    after = item_path(ids[at + 1]) if at + 1 < len(ids) else None
    return before, after


def _filter(tenant: str, wanted: Mapping[str, str]) -> QueueFilter:
    days = _days(wanted["age"])
    return QueueFilter(
        tenant,
        wanted["session"] or None,
        wanted["label"] or None,
        wanted["state"],
        timedelta(days=days) if days else None,
    )


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        return 0
    return days if 0 <= days <= 36_500 else 0


def _page_number(text: str, sessions: int) -> int:
    last = max(1, -(-sessions // SESSIONS_PER_PAGE))
    return min(max(1, int(text)), last) if text.isascii() and text.isdigit() else 1


def _by_session(items: Iterable[Item]) -> list[dict[str, Any]]:
    def place(one: Item) -> tuple[str, str]:
        return one["tenant_id"], one["session_id"]

    return [
        {"tenant": tenant, "session": name, "items": list(found)}
        for (tenant, name), found in groupby(sorted(items, key=place), key=place)
    ]


def _session_facts(this: Page, tenant: str, name: str) -> tuple[bool | None, int]:
    """Whether the session is finished (None: there is none), and its refused lines."""
    try:
        reading = read_session(this.workspace, find_session(this.workspace, name, tenant_id=tenant))
    except (UnknownSessionError, UsageError):
        return None, 0
    return reading.finished, reading.refused_lines


def _compared(found: Item, near: Mapping[str, Any]) -> dict[str, Any]:
    sides = {name: side_by_side(found[name] or "", near[name] or "") for name in _FIELDS}
    return {**near, "sides": sides}


def _tenant_of(raw: str) -> str | None:
    try:
        found = json.loads(raw)
    except ValueError:
        return None
    return found.get("tenant_id") if isinstance(found, dict) else None
