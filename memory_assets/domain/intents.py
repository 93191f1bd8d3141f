"""What other jobs ask the next publication to do: intents, and the rules by which they apply.

Merge, tiers, retirements, imports, erasure and cleanup change nothing themselves. They append
intents to a file, and publication turns them into registry rows, in the order of their numbers and
each exactly once. An intent that the registry's state forbids is refused by name, never bent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec

from memory_assets.domain.detaching import detached_memory, detachment
from memory_assets.domain.keys import MEMORY_ID, content_sha256, duplicate_key
from memory_assets.domain.keys import memory_id as format_memory_id

Text = Annotated[str, msgspec.Meta(min_length=1)]
Tier = Literal["core", "recall", "archival"]
RemovalReason = Literal["erasure", "legacy cleanup"]
MemoryKey = tuple[str, str]
"""(tenant_id, memory_id)."""


class _Intent(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    tenant_id: Text
    decided_by: Text
    """``reviewer NAME`` or ``rule NAME VERSION``."""
    decided_at: datetime
    reason: str = ""


class Supersede(_Intent, frozen=True, kw_only=True, tag="supersede"):
    """``superseded_by`` replaces ``memory_id``; both must be active and of one privacy scope."""

    memory_id: Text
    superseded_by: Text
    evidence: str = "{}"
    """JSON: cosine, space, guard verdicts, rule version."""


class Retract(_Intent, frozen=True, kw_only=True, tag="retract"):
    """Undoes the supersession of this pair; the replaced memory is active again."""

    memory_id: Text
    superseded_by: Text
    evidence: str = "{}"


class Retire(_Intent, frozen=True, kw_only=True, tag="retire"):
    """Takes a memory out of search; its record stays."""

    memory_id: Text


class AssignTier(_Intent, frozen=True, kw_only=True, tag="tier"):
    """Moves a memory to another tier."""

    memory_id: Text
    tier: Tier
    inputs: str = "{}"
    """JSON of the figures that the rule saw."""
    until: datetime | None = None
    """An administrator's override holds so long; also for a memory that is in the tier already."""


class Detach(_Intent, frozen=True, kw_only=True, tag="detach"):
    """Makes a corroboration that was no duplicate a memory of its own, in its own words.

    It names the corroboration; the words are taken from the registry.
    """

    memory_id: Text
    """The memory that it corroborates."""
    session_id: Text
    decision_seq: int
    fact_no: int = 0


class ImportMemory(_Intent, frozen=True, kw_only=True, tag="import"):
    """Brings in a record of another registry under its own id.

    ``retired`` says why it must not be found (a record of a schema choice); it is then stored for
    the legacy cleanup to list, and never enters the index.
    """

    memory_id: Text
    session_id: Text
    decision_seq: int
    fact_no: int = 0
    record_decided_at: datetime
    type: Text
    subject: str
    detail: str
    rationale: str = ""
    question_context: str = ""
    tables: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    user_id: str | None = None
    client_id: str | None = None
    audience: str | None = None
    source: str | None = None
    metadata: str = "{}"
    scope: Text
    retired: str = ""


class Remove(_Intent, frozen=True, kw_only=True, tag="remove"):
    """Removes memories physically and leaves content-free tombstones.

    Names ids and promotion keys only, so that the file of intents holds nothing about a person.
    ``keys`` are (session_id, decision_seq, fact_no) of decisions that must never be promoted.
    """

    memory_ids: tuple[str, ...] = ()
    keys: tuple[tuple[str, int, int], ...] = ()
    removal: RemovalReason


class Redacted(_Intent, frozen=True, kw_only=True, tag="redacted"):
    """Stands where an applied intent was that named something removed since."""


Intent = Supersede | Retract | Retire | AssignTier | Detach | ImportMemory | Remove | Redacted


class Recorded(msgspec.Struct, frozen=True):
    """One line of the file: the intent and its number, which only ever grows."""

    no: Annotated[int, msgspec.Meta(ge=1)]
    intent: Intent


@dataclass(frozen=True, slots=True)
class RefusedIntent:
    """An intent that was not applied, and why; it is never tried again."""

    no: int
    kind: str
    code: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """The refusal as JSON."""
        return {"no": self.no, "kind": self.kind, "code": self.code, "reason": self.reason}


@dataclass(slots=True)
class IntentState:
    """What the registry holds, as far as intents are judged by it; changes while they apply."""

    scopes: dict[MemoryKey, str]
    """Every memory with its privacy scope."""
    replaced: dict[MemoryKey, str]
    """Memories that are superseded now, and by which one (one step, not the chain)."""
    retired: set[MemoryKey]
    tiers: dict[MemoryKey, str]
    """The tier of memories that have a row; the others are in recall."""
    buried: set[MemoryKey]
    """Ids with a tombstone."""
    settled: set[tuple[str, str, int, int]]
    """Promotion keys that are taken."""
    counters: dict[str, int]
    holders: dict[tuple[str, str, int, int], MemoryKey]
    """The memory that was promoted under a key."""
    promoting: set[str]
    """Tenants that have memories of their own; an import must come before the first one."""
    corroborated: Mapping[tuple[str, str, int, int], Mapping[str, Any]] = field(
        default_factory=dict
    )
    """The rows of corroborations that wait to be detached, by promotion key."""
    owners: Mapping[MemoryKey, Mapping[str, Any]] = field(default_factory=dict)
    """Owner columns, scope and source of the memories that they corroborate."""
    detached: set[tuple[str, str, int, int]] = field(default_factory=set)


@dataclass(slots=True)
class IntentOutcome:
    """The rows that the intents add, by table, and what is to be removed."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    removed: dict[MemoryKey, RemovalReason] = field(default_factory=dict)
    buried_keys: dict[tuple[str, str, int, int], RemovalReason] = field(default_factory=dict)
    """Promotion keys that must never come back, beside those of what is removed."""
    applied: int = 0
    refused: list[RefusedIntent] = field(default_factory=list)
    through: int = 0
    """Number of the last intent that was looked at."""

    def add(self, table: str, row: dict[str, Any]) -> None:
        """Adds a row to a registry table."""
        self.rows.setdefault(table, []).append(row)


_SUPERSESSIONS: Final = "supersessions"


def apply_intents(
    recorded: Iterable[Recorded], state: IntentState, *, generation: int
) -> IntentOutcome:
    """The rows that the generation gains from these intents, in the order of their numbers."""
    outcome = IntentOutcome()
    for line in sorted(recorded, key=lambda r: r.no):
        outcome.through = line.no
        why = _apply(line.intent, state, outcome, generation)
        if why is None:
            outcome.applied += 1
        else:
            kind = str(line.intent.__struct_config__.tag)
            outcome.refused.append(RefusedIntent(line.no, kind, *why))
    return outcome


_Refusal = tuple[str, str] | None


def _apply(intent: Intent, state: IntentState, out: IntentOutcome, generation: int) -> _Refusal:
    match intent:
        case Supersede():
            return _supersede(intent, state, out, generation)
        case Retract():
            return _retract(intent, state, out, generation)
        case Retire():
            return _retire(intent, state, out, generation)
        case AssignTier():
            return _assign(intent, state, out, generation)
        case Detach():
            return _detach(intent, state, out, generation)
        case ImportMemory():
            return _import(intent, state, out, generation)
        case Remove():
            return _remove(intent, state, out)
        case Redacted():
            return None


def _inactive(key: MemoryKey, state: IntentState) -> _Refusal:
    if key not in state.scopes:
        return "unknown-memory", f"{key[1]} is not in the registry"
    if key in state.retired:
        return "not-active", f"{key[1]} is retired"
    if key in state.replaced:
        return "not-active", f"{key[1]} is superseded by {state.replaced[key]}"
    return None


def _supersede(i: Supersede, state: IntentState, out: IntentOutcome, generation: int) -> _Refusal:
    old, new = (i.tenant_id, i.memory_id), (i.tenant_id, i.superseded_by)
    if old == new:
        return "same-memory", "a memory cannot replace itself"
    why = _inactive(old, state) or _inactive(new, state)
    if why is not None:
        return why
    if state.scopes[old] != state.scopes[new]:
        return "other-scope", "the two memories are not visible to the same people"
    state.replaced[old] = i.superseded_by
    _add_pair(i, out, generation, retracted=False)
    return None


def _retract(i: Retract, state: IntentState, out: IntentOutcome, generation: int) -> _Refusal:
    key = (i.tenant_id, i.memory_id)
    if state.replaced.get(key) != i.superseded_by:
        return "no-such-pair", f"{i.memory_id} is not superseded by {i.superseded_by} now"
    del state.replaced[key]
    _add_pair(i, out, generation, retracted=True)
    return None


def _add_pair(
    i: Supersede | Retract, out: IntentOutcome, generation: int, *, retracted: bool
) -> None:
    """One row per pair and generation: what was undone before publication never was."""
    rows = out.rows.setdefault(_SUPERSESSIONS, [])
    pair = (i.tenant_id, i.memory_id, i.superseded_by)
    same = [r for r in rows if (r["tenant_id"], r["memory_id"], r["superseded_by"]) == pair]
    if same and same[0]["retracted"] != retracted:
        rows.remove(same[0])
        return
    rows.append(
        {
            "tenant_id": i.tenant_id,
            "memory_id": i.memory_id,
            "superseded_by": i.superseded_by,
            "generation": generation,
            "retracted": retracted,
            "decided_by": i.decided_by,
            "evidence": i.evidence,
        }
    )


def _retire(i: Retire, state: IntentState, out: IntentOutcome, generation: int) -> _Refusal:
    key = (i.tenant_id, i.memory_id)
    if key not in state.scopes:
        return "unknown-memory", f"{i.memory_id} is not in the registry"
    if key in state.retired:
        return "no-change", f"{i.memory_id} is retired already"
    _add_retirement(key, i.reason, i.decided_by, state, out, generation)
    return None


def _add_retirement(
    key: MemoryKey,
    reason: str,
    decided_by: str,
    state: IntentState,
    out: IntentOutcome,
    generation: int,
) -> None:
    state.retired.add(key)
    out.add(
        "retirements",
        {
            "tenant_id": key[0],
            "memory_id": key[1],
            "generation": generation,
            "reason": reason,
            "decided_by": decided_by,
        },
    )


def _assign(i: AssignTier, state: IntentState, out: IntentOutcome, generation: int) -> _Refusal:
    key = (i.tenant_id, i.memory_id)
    if key not in state.scopes:
        return "unknown-memory", f"{i.memory_id} is not in the registry"
    if i.until is None and state.tiers.get(key, "recall") == i.tier:
        return "no-change", f"{i.memory_id} is in {i.tier} already"
    state.tiers[key] = i.tier
    rows = out.rows.setdefault("tier_assignments", [])
    rows[:] = [r for r in rows if (r["tenant_id"], r["memory_id"]) != key]
    rows.append(
        {
            "tenant_id": i.tenant_id,
            "memory_id": i.memory_id,
            "tier": i.tier,
            "generation": generation,
            "reason": i.reason,
            "inputs": i.inputs,
        }
    )
    return None


def _detach(i: Detach, state: IntentState, out: IntentOutcome, generation: int) -> _Refusal:
    key = (i.tenant_id, i.session_id, i.decision_seq, i.fact_no)
    old = (i.tenant_id, i.memory_id)
    row = state.corroborated.get(key)
    if row is None or row["memory_id"] != i.memory_id or key in state.detached:
        return "no-such-corroboration", f"that decision corroborates {i.memory_id} no longer"
    if row["kind"] != "duplicate":
        return "equal-text", "it says the same, word for word"
    if old in out.removed:
        return "unknown-memory", f"{i.memory_id} is removed"
    number = state.counters.get(i.tenant_id, 0) + 1
    state.counters[i.tenant_id] = number
    new_id = format_memory_id(number)
    owner = state.owners[old]
    state.detached.add(key)
    state.scopes[i.tenant_id, new_id] = owner["scope"]
    state.holders[key] = (i.tenant_id, new_id)
    by = i.decided_by
    memory = detached_memory(row, owner, memory_id=new_id, generation=generation, by=by)
    out.add("memories", memory)
    undone = detachment(row, detached_as=new_id, generation=generation, by=by, reason=i.reason)
    out.add("detachments", undone)
    return None


def _import(i: ImportMemory, state: IntentState, out: IntentOutcome, generation: int) -> _Refusal:
    key = (i.tenant_id, i.memory_id)
    found = MEMORY_ID.fullmatch(i.memory_id)
    if found is None:
        return "bad-id", f"{i.memory_id} is not of the form mem-0001"
    if key in state.buried:
        return "buried", f"{i.memory_id} was removed for good"
    if key in state.scopes:
        return "id-taken", f"{i.memory_id} is in the registry already"
    if i.tenant_id in state.promoting:
        return "too-late", f"{i.tenant_id} has memories of its own: an import must come first"
    promotion = (i.tenant_id, i.session_id, i.decision_seq, i.fact_no)
    if promotion in state.settled:
        return "key-taken", "the decision that it came from is settled already"
    state.scopes[key] = i.scope
    state.settled.add(promotion)
    state.counters[i.tenant_id] = max(state.counters.get(i.tenant_id, 0), int(found.group(1)))
    out.add("memories", _imported_row(i, generation))
    if i.retired:
        _add_retirement(key, i.retired, i.decided_by, state, out, generation)
    return None


def _imported_row(i: ImportMemory, generation: int) -> dict[str, Any]:
    content: Mapping[str, Any] = {
        "type": i.type,
        "subject": i.subject,
        "detail": i.detail,
        "rationale": i.rationale,
        "question_context": i.question_context,
        "tables": list(i.tables),
        "concepts": list(i.concepts),
    }
    return {
        **content,
        "tenant_id": i.tenant_id,
        "memory_id": i.memory_id,
        "session_id": i.session_id,
        "decision_seq": i.decision_seq,
        "fact_no": i.fact_no,
        "decided_at": i.record_decided_at,
        "promoted_generation": generation,
        "user_id": i.user_id,
        "client_id": i.client_id,
        "audience": i.audience,
        "source": i.source,
        "metadata": i.metadata,
        "content_sha256": content_sha256(**content),
        "duplicate_key": duplicate_key(i.subject, i.detail),
        "scope": i.scope,
        "origin": "imported",
        "edited_from": None,
        "verdict_by": i.decided_by,
    }


def _remove(i: Remove, state: IntentState, out: IntentOutcome) -> _Refusal:
    buried = [(i.tenant_id, *k) for k in i.keys]
    named = [(i.tenant_id, m) for m in i.memory_ids]
    named += [state.holders[k] for k in buried if k in state.holders]
    keys = [k for k in dict.fromkeys(named) if k in state.scopes]
    if not keys and not buried:
        return "nothing-there", "none of the memories is in the registry"
    for key in keys:
        out.removed[key] = i.removal
        state.buried.add(key)
        state.scopes.pop(key, None)
        state.replaced.pop(key, None)
    for old in [k for k, new in state.replaced.items() if (k[0], new) in out.removed]:
        del state.replaced[old]
    out.buried_keys.update(dict.fromkeys(buried, i.removal))
    for rows in out.rows.values():  # what this generation was about to add for them
        rows[:] = [
            r
            for r in rows
            if (r["tenant_id"], r["memory_id"]) not in out.removed
            and (r["tenant_id"], r.get("superseded_by")) not in out.removed
        ]
    return None


def named_memories(intent: Intent) -> Sequence[MemoryKey]:
    """The memories that an intent names."""
    if isinstance(intent, Remove):
        return [(intent.tenant_id, m) for m in intent.memory_ids]
    if isinstance(intent, Redacted):
        return []
    named = [(intent.tenant_id, intent.memory_id)]
    if isinstance(intent, Supersede | Retract):
        named.append((intent.tenant_id, intent.superseded_by))
    return named
