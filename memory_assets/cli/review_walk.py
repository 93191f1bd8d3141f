"""``memory-assets review``: one item after the other, a key for each verdict."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, console, text
from memory_assets.cli.review_verdicts import Reviewer
from memory_assets.errors import MemoryAssetsError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.review.decide import Decided, Verdict
    from memory_assets.pipeline.workspace import Workspace

KEYS: Final[Mapping[str, str]] = {
    "a": "accept",
    "e": "accept with another wording",
    "m": "says the same as a memory",
    "d": "decline",
    "l": "later",
    "n": "next, say nothing",
    "u": "undo the last verdict",
    "o": "more about this item",
    "q": "quit",
    "?": "this list",
}
_SAID: Final = {"a": "accept", "d": "decline", "l": "defer"}


def register(group: typer.Typer) -> None:
    """Adds the command to the group."""

    @command(group, "walk", writes=True)
    def walk(
        run: Run,
        tenant: Tenant = None,
        session: Annotated[
            str | None, typer.Option("--session", metavar="SESSION", help="Only this session.")
        ] = None,
        label: Annotated[
            str | None,
            typer.Option("--label", metavar="LABEL", help="Only labels that begin so."),
        ] = None,
        reviewer: Reviewer = None,
    ) -> View:
        """Go through what waits, one key per item, with undo and a summary; the default.

        Each verdict is on record at once: quitting, or losing the connection, loses none.
        """
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.pipeline.review.decide import named_reviewer, require_reviewer
        from memory_assets.pipeline.review.state import QueueFilter, ReviewState, queues_of

        name = require_reviewer(named_reviewer(reviewer))
        state = ReviewState(run.workspace, now=run.now)
        tenants = state.tenants() if tenant is None else [require_tenant(run.workspace, tenant)]
        queues = queues_of(state, tenants, lambda t: QueueFilter(t, session, label))
        items = [item for queue in queues for item in queue.items]
        out = console(stderr=run.as_json)
        done = Walk(run.workspace, name, items, out, _keys()).go()
        return View(done.to_dict(), lambda told: _summary(told, done))


@dataclass
class Outcome:
    """What a walk came to."""

    counts: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    left: int = 0

    def add(self, verdict: str, by: int = 1) -> None:
        """Counts a verdict, or takes it out of the count."""
        self.counts[verdict] = self.counts.get(verdict, 0) + by

    def to_dict(self) -> dict[str, Any]:
        """The outcome as ``--json`` prints it."""
        counts = {verdict: n for verdict, n in self.counts.items() if n}
        return {"verdicts": counts, "refused": self.refused, "left": self.left}


class Walk:
    """The loop over the items; ``keys`` gives what is pressed."""

    def __init__(
        self,
        workspace: Workspace,
        reviewer: str,
        items: list[dict[str, Any]],
        out: Console,
        keys: Iterator[str],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.workspace = workspace
        self.reviewer = reviewer
        self.items = items
        self.out = out
        self.keys = keys
        self.clock = clock
        self.outcome = Outcome()
        self._undoable: list[tuple[int, str]] = []
        """Places of the items that were decided in this walk, and how."""
        self._at = 0
        self._just_pressed = False

    def go(self) -> Outcome:
        """The outcome, once everything was looked at or somebody quits."""
        self._show()
        while self._at < len(self.items):
            key = next(self.keys, "q")
            if key == "q":
                break
            try:
                self._press(key)
            except MemoryAssetsError as error:
                self.out.print(text(f"{error.what} {error.remedy}"))
        self.outcome.left = len(self.items) - len({at for at, _ in self._undoable})
        return self.outcome

    def _press(self, key: str) -> None:
        self._just_pressed = True
        if key in ("a", "e", "m") and self._open():
            self.out.print("Personal data was covered; this is the text. Press the key again.")
        elif key in _SAID:
            self._say(_SAID[key])
        elif key == "e":
            self._edit()
        elif key == "m":
            self._duplicate()
        elif key == "n":
            self._move(1)
        elif key == "u":
            self._undo()
        elif key == "o":
            self._more()
        elif key == "?":
            for name, meaning in KEYS.items():
                self.out.print(f"  {name}  {meaning}")
        elif key.strip():
            self.out.print(f"{text(key)} means nothing here; ? lists the keys.")

    def _say(self, kind: str, **more: Any) -> None:
        from memory_assets.pipeline.review.decide import Verdict

        item = self.items[self._at]
        name = item["item_id"]
        seen, said = {name: item["content_sha256"]}, {name: item["reviewed_at"] or ""}
        verdict: Any = kind
        done = self._decide(name, Verdict(verdict, seen=seen, said=said, **more))
        for refused in done.refused:
            self.outcome.refused += 1
            self.out.print(text(f"  refused: {refused.reason}"), style="bold")
        if done.recorded:
            self.outcome.add(kind)
            self._undoable.append((self._at, kind))
            self._move(1)

    def _decide(self, item_id: str, verdict: Verdict) -> Decided:
        from memory_assets.pipeline.review.decide import ReviewDesk
        from memory_assets.steps.review.items import parse_items

        desk = ReviewDesk(self.workspace, self.reviewer, now=self.clock())
        return desk.decide(parse_items([item_id]), verdict)

    def _undo(self) -> None:
        from memory_assets.pipeline.review.decide import Verdict

        if not self._undoable:
            self.out.print("Nothing to undo in this walk.")
            return
        at, kind = self._undoable.pop()
        done = self._decide(self.items[at]["item_id"], Verdict("reopen"))
        for refused in done.refused:
            self.out.print(text(f"Not taken back: {refused.reason}."), style="bold")
        if not done.recorded:
            return
        self.outcome.add(kind, -1)
        self.out.print("Taken back.")
        self._at = at
        self._show()

    def _edit(self) -> None:
        from memory_assets.domain.review import Edit

        item = self.items[self._at]
        if item["kind"] != "candidate":
            raise UsageError("A proposal has no wording of its own.")
        subject = self._ask("Subject", item["subject"])
        detail = None if subject is None else self._ask("Detail", item["detail"])
        if subject is None or detail is None:
            return
        self._say("accept", edited=Edit(subject, detail, item["rationale"]))

    def _duplicate(self) -> None:
        item = self.items[self._at]
        near = item.get("nearest")
        memory = self._ask("The memory that says the same", near["memory_id"] if near else "")
        if memory:
            self._say("duplicate_of", memory_id=memory)

    def _ask(self, what: str, present: str) -> str | None:
        """The answer, or what stands now for an empty one; None at the end of the input."""
        shown = f" [{present}]" if present else ""
        # Polars, once loaded, lets a read go on after Control-C; here it shall end the command.
        signal.siginterrupt(signal.SIGINT, True)
        self.out.print(text(f"{what}{shown}: "), end="")
        answer = sys.stdin.readline()
        if self._just_pressed and not sys.stdin.isatty() and not answer.strip():
            answer = sys.stdin.readline()  # in a pipe the key may stand on a line of its own
        self._just_pressed = False
        if not answer:
            self.out.print("\nNothing was said.")
            return None
        return answer.strip() or present

    def _more(self) -> None:
        from memory_assets.cli.review import print_item

        print_item(self.out, self._whole())

    def _whole(self) -> dict[str, Any]:
        """The present item in full, as it is now."""
        from memory_assets.domain.visibility import Principal
        from memory_assets.pipeline.review.state import ReviewState

        state = ReviewState(self.workspace, now=self.clock())
        return state.named_item(Principal.local, self.items[self._at]["item_id"])

    def _open(self) -> bool:
        """Whether the item was covered until now: nobody accepts or edits what they cannot see."""
        item = self.items[self._at]
        if not item.get("masked"):
            return False
        self.items[self._at] = {**item, **self._whole()}
        self._show()
        return True

    def _move(self, step: int) -> None:
        self._at += step
        self._show()

    def _show(self) -> None:
        if self._at >= len(self.items):
            return
        item = self.items[self._at]
        self.out.print(
            text(f"\n{self._at + 1} of {len(self.items)}  {item['item_id']}  [{item['label']}]")
        )
        self.out.print(text(item["subject"]), style="bold")
        self.out.print(text(item["detail"]))
        if item["rationale"]:
            self.out.print(text(f"because: {item['rationale']}"))
        if item["question_context"]:
            self.out.print(text(f"question: {item['question_context']}"))
        if item.get("why"):
            self.out.print(text(item["why"]))
        near = item.get("nearest")
        if near:
            cosine = "" if near["cosine"] is None else f", cosine {near['cosine']:.3f}"
            self.out.print(text(f"nearest: {near['memory_id']} ({near['relation']}{cosine})"))
        self.out.print("[a]ccept [e]dit [m]erge [d]ecline [l]ater [n]ext [u]ndo m[o]re [q]uit ?")


def _keys() -> Iterator[str]:
    """Single keys of a terminal, or the characters of a pipe, line ends left out."""
    if sys.stdin.isatty():
        while True:
            key = typer.getchar()
            if key in ("\x03", "\x04"):
                return
            yield key
    while (key := sys.stdin.read(1)) != "":
        if not key.isspace():
            yield key


def _summary(out: Console, done: Outcome) -> None:
    found = done.to_dict()
    said = ", ".join(f"{n} {verdict.replace('_', ' ')}" for verdict, n in found["verdicts"].items())
    out.print(f"\n{said or 'No verdicts'}; {done.refused} refused; {done.left} left.")
    if {"accept", "decline", "duplicate_of"} & found["verdicts"].keys():
        out.print("The next run applies this: memory-assets nightly")
