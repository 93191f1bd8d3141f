"""Ledgers of any number, for measuring: plausible, different, deterministic."""

from __future__ import annotations

import json
import random
from pathlib import Path

_THINGS = ("patient", "claim", "order", "invoice", "visit", "product", "branch", "loan", "ward")
_STATES = ("late", "active", "closed", "premium", "urgent", "repeated", "overdue", "archived")
_COUNTS = ("COUNT(DISTINCT id_{0})", "SUM(amount_{0})", "AVG(days_{0})", "MAX(score_{0})")
_GRAINS = ("day", "week", "month", "quarter", "year")


def write_ledgers(folder: Path, sessions: int, *, seed: int = 1, tenants: int = 4) -> None:
    """Writes ``sessions`` finished ledgers of eight to twelve rows, a third of them promoted."""
    dice = random.Random(seed)
    for place in range(tenants):
        (folder / f"tenant{place}").mkdir(parents=True, exist_ok=True)
    for number in range(sessions):
        tenant = f"tenant{number % tenants}"
        session = f"s{number:06d}"
        rows = _rows(dice, number)
        text = "".join(_line(n, tenant, session, row) for n, row in enumerate(rows, 1))
        (folder / tenant / f"{session}.jsonl").write_text(text, "utf-8")


def grow(folder: Path, every: int, *, tenants: int = 4, sessions: int) -> int:
    """Appends one more promoted clarification to every ``every``-th session; how many grew."""
    grown = range(0, sessions, every)
    for number in grown:
        tenant = f"tenant{number % tenants}"
        path = folder / tenant / f"s{number:06d}.jsonl"
        seq = path.read_bytes().count(b"\n") + 1
        rows = [
            _clarified("late rule", f"added later for session {number}: delay > {number} minutes"),
            ("F8", "memory_promoted", "late rule", f"seq:{seq}"),
            ("F8", "session_closed", "session", "closed"),
        ]
        with path.open("a", encoding="utf-8") as out:
            for offset, row in enumerate(rows):
                out.write(_line(seq + offset, tenant, path.stem, row))
    return len(grown)


Row = tuple[str, str, str, str]


def _clarified(subject: str, detail: str) -> Row:
    return ("F1", "concept_clarified", subject, detail)


def _rows(dice: random.Random, number: int) -> list[Row]:
    thing, state = dice.choice(_THINGS), dice.choice(_STATES)
    measure = dice.choice(_COUNTS).format(thing)
    limit, grain = dice.randint(1, 5000), dice.choice(_GRAINS)
    rows = [
        _clarified(
            f"{state} {thing}",
            f"{state} {thing} = {thing} with flag_{state} = TRUE and more than {limit} units",
        ),
        _clarified(f"{thing} total {number}", f"{measure} counted by {grain} from {limit} on"),
        _clarified(f"period of {thing}", f"the {limit} days before the {grain} of the question"),
        ("F3", "table_promoted", f"fact_{thing}", "include"),
        ("F3", "table_excluded", f"dim_{grain}", "not relevant"),
        ("F4", "column_promoted", f"id_{thing}", "select"),
        ("F4", "column_promoted", f"flag_{state}", "select"),
    ]
    if number % 7 == 0:
        rows.append(("F1", "decision_withdrawn", f"period of {thing}", "seq:3"))
    rows.append(("F8", "memory_promoted", f"{thing} total {number}", "seq:2"))
    rows.append(("F8", "memory_promotion_declined", f"{state} {thing}", "seq:1"))
    rows.append(("F8", "session_closed", "session", "closed"))
    return rows


def _line(seq: int, tenant: str, session: str, row: Row) -> str:
    phase, kind, subject, detail = row
    body = {
        "seq": seq,
        "ts": f"2026-02-{1 + seq % 28:02d}T10:{seq % 60:02d}:00Z",
        "session_id": session,
        "tenant_id": tenant,
        "phase": phase,
        "type": kind,
        "subject": subject,
        "detail": detail,
        "rationale": f"Needed to answer the question of {session}",
        "question_context": f"How many {subject} are there in {session}?",
        "tables": [],
        "concepts": [subject] if kind == "concept_clarified" else [],
    }
    return json.dumps(body, ensure_ascii=False) + "\n"
