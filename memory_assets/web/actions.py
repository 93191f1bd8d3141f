"""What a reviewer does on the pages: every form is ours, every verdict is judged by the desk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from memory_assets.domain.review import Edit, ReviewVerdict
from memory_assets.errors import UsageError
from memory_assets.pipeline.review.decide import Decided, ReviewDesk, Verdict
from memory_assets.pipeline.review.state import QueueFilter
from memory_assets.steps.review.items import Named, parse_items
from memory_assets.web.access import require_own_form
from memory_assets.web.page import Page, item_path, session_path
from memory_assets.web.pages import around, named_item

_VERDICTS: Final = ("accept", "decline", "defer", "reopen")
_WORDS: Final = {
    "accept": "accepted",
    "duplicate_of": "accepted as duplicate",
    "decline": "declined",
    "defer": "put off",
    "reopen": "waiting again",
}
_MOST_TEXT: Final = 1_000_000
Action = Callable[[Page, FormData], Response]


def _action(handler: Action) -> Callable[[Request], Awaitable[Response]]:
    """A route that takes a form of ours from a signed-in reviewer."""

    @wraps(handler)
    async def answer(request: Request) -> Response:
        form = await request.form(max_fields=50_000)
        require_own_form(request, form.get("csrf"))
        this = Page.of(request)
        return await run_in_threadpool(handler, this, form)

    return answer


@_action
def verdicts(this: Page, form: FormData) -> Response:
    """One verdict on many items of the queue."""
    kind = _kind(form.get("action"))
    named = _items(this, form.getlist("item"))
    back = _text(form, "back") or "/"
    if not named:
        return this.go(back, "Nothing was selected.")
    done = _desk(this).decide(named, _on_list(kind, form))
    return _tell(this, back, done, undo=len(done.recorded) == 1)


@_action
def session(this: Page, form: FormData) -> Response:
    """A session's checklist: ticked is accepted, unticked is declined; or all of it is put off."""
    tenant = this.tenant(this.request.path_params["tenant"])
    name = this.request.path_params["session"]
    offered = _items(this, form.getlist("offered"))
    ticked = set(_items(this, form.getlist("item")))
    desk = _desk(this)
    back = session_path(tenant, name)
    if form.get("action") == "defer":
        return _tell(this, back, desk.decide(offered, _on_list("defer", form)))
    if form.get("action") != "decide":
        raise HTTPException(400, "This form says nothing that can be done.")
    yes = desk.decide([o for o in offered if o in ticked], _on_list("accept", form))
    no = desk.decide([o for o in offered if o not in ticked], _on_list("decline", form))
    done = Decided(yes.recorded + no.recorded, yes.refused + no.refused, yes.notes + no.notes)
    return _tell(this, back, done)


@_action
def item(this: Page, form: FormData) -> Response:
    """A verdict on one item, then the next one that waits."""
    tenant = this.tenant(this.request.path_params["tenant"])
    named = named_item(this, tenant)
    waiting = this.state.queue(this.reviewer.principal, QueueFilter(tenant)).items
    _, after = around(waiting, str(named))
    verdict = _verdict(form)
    done = _desk(this).decide([named], verdict)
    here = item_path(str(named))
    if done.refused:
        return _tell(this, here, done)
    return _tell(this, here if verdict.verdict == "reopen" else after or "/", done, undo=True)


@_action
def undo(this: Page, form: FormData) -> Response:
    """Takes back this reviewer's last verdict, and shows its item again."""
    try:
        done = _desk(this).undo()
    except UsageError as error:
        return this.go("/", error.what)
    if done.refused:
        return _tell(this, item_path(done.refused[0].item_id), done)
    from memory_assets.pipeline.review.decide import line_item

    return this.go(item_path(line_item(done.recorded[0])), "Taken back: it waits again.")


async def sign_out(request: Request) -> Response:
    """Ends the session."""
    form = await request.form()
    require_own_form(request, form.get("csrf"))
    request.session.clear()
    return RedirectResponse("/sign-in", 303)


def _desk(this: Page) -> ReviewDesk:
    reviewer = this.reviewer
    return ReviewDesk(this.workspace, reviewer.name, now=this.now, principal=reviewer.principal)


def _verdict(form: FormData) -> Verdict:
    reason, (seen, said) = _text(form, "reason"), _seen(form)
    action = form.get("action")
    if action == "duplicate":
        memory = _text(form, "memory_id").strip()
        if not memory:
            raise HTTPException(400, "Which memory says the same?")
        return Verdict("duplicate_of", reason, memory_id=memory, seen=seen, said=said)
    if action == "edit":
        subject, detail = _text(form, "subject").strip(), _text(form, "detail").strip()
        if not subject or not detail:
            raise HTTPException(400, "The new wording needs a subject and a detail.")
        edit = Edit(subject, detail, _text(form, "rationale").strip())
        return Verdict("accept", reason, edit, seen=seen, said=said)
    return Verdict(_kind(action), reason, seen=seen, said=said)


def _on_list(kind: ReviewVerdict, form: FormData) -> Verdict:
    """The verdict on what a list showed, personal data covered."""
    seen, said = _seen(form)
    return Verdict(kind, _text(form, "reason"), seen=seen, said=said, from_list=True)


def _kind(action: object) -> ReviewVerdict:
    if action not in _VERDICTS:
        raise HTTPException(400, "This form says nothing that can be done.")
    return action


def _items(this: Page, texts: list[Any]) -> list[Named]:
    """The items that a form names, all of tenants that the reviewer was given."""
    try:
        named = parse_items([str(text) for text in texts])
    except UsageError as error:
        raise HTTPException(400, error.what) from None
    for one in named:
        this.tenant(one.tenant_id)
    return named


def _seen(form: FormData) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """What the page showed, by item: the hash of its content, and when it had been decided."""
    seen, said = {}, {}
    for name, value in form.multi_items():
        if name.startswith("seen:"):
            item = name.removeprefix("seen:")
            seen[item], parted, when = str(value).partition(" ")
            if parted:
                said[item] = when
    return seen, said


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    text = value if isinstance(value, str) else ""
    if len(text) > _MOST_TEXT:
        raise HTTPException(400, "This text is too long.")
    return text.replace("\r\n", "\n")


def _tell(this: Page, path: str, done: Decided, *, undo: bool = False) -> Response:
    return this.go(path, _told(done), undo=undo, refused=bool(done.refused))


def _told(done: Decided) -> str:
    counts: dict[str, int] = {}
    for line in done.recorded:
        counts[line.verdict] = counts.get(line.verdict, 0) + 1
    parts = [f"{count} {_WORDS[verdict]}" for verdict, count in counts.items()]
    said = (", ".join(parts) + "." if parts else "").capitalize()
    for refused in done.refused[:3]:
        said += f" Refused: {refused.item_id}: {refused.reason}."
    if len(done.refused) > 3:
        said += f" And {len(done.refused) - 3} more were refused."
    return " ".join([said, *done.notes]).strip()
