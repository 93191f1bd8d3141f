"""Guards on values: numbers, dates, comparisons, units, booleans, assignments."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from memory_assets.domain.guards.reading import Reading, bound_dates
from memory_assets.domain.guards.tokens import Quantity, Token
from memory_assets.domain.guards.verdict import Outcome, Verdict, compare, passed

_MONTH = Decimal(12)
_BASES: Final[dict[str, tuple[str, Decimal]]] = {
    "second": ("s", Decimal(1)), "minute": ("s", Decimal(60)), "hour": ("s", Decimal(3600)),
    "day": ("s", Decimal(86_400)), "week": ("s", Decimal(604_800)),
    "fortnight": ("s", Decimal(1_209_600)),
    "month": ("month", Decimal(1)), "quarter": ("month", Decimal(3)),
    "fourmonth": ("month", Decimal(4)), "semester": ("month", Decimal(6)),
    "year": ("month", _MONTH), "decade": ("month", Decimal(120)),
    "mcg": ("mg", Decimal("0.001")), "mg": ("mg", Decimal(1)), "g": ("mg", Decimal(1000)),
    "kg": ("mg", Decimal(1_000_000)), "t": ("mg", Decimal(1_000_000_000)),
    "mm": ("mm", Decimal(1)), "cm": ("mm", Decimal(10)), "m": ("mm", Decimal(1000)),
    "km": ("mm", Decimal(1_000_000)), "ml": ("ml", Decimal(1)), "l": ("ml", Decimal(1000)),
    "cent": ("eur", Decimal("0.01")), "eur": ("eur", Decimal(1)),
    "kwh": ("kwh", Decimal(1)), "mwh": ("kwh", Decimal(1000)),
}  # fmt: skip


def numbers(a: Reading, b: Reading) -> Verdict:
    """Numbers and number words, ordinals included: 15 is not 16, the first is not the last.

    The same amount in another unit (24 hours, one day) is left to a person.
    """
    guard = "numbers"
    mine, theirs = _by_value(a), _by_value(b)
    only_a = [q for v, q in mine.items() if v not in theirs]
    only_b = [q for v, q in theirs.items() if v not in mine]
    ordinals = compare(guard, _ordinals(a), _ordinals(b))
    if only_a and only_b:
        same = {_base(q) for q in only_a} == {_base(q) for q in only_b}
        outcome = Outcome.UNSURE if same else Outcome.MISMATCH
        note = "the same amount in other units" if same else ""
        return Verdict(guard, outcome, _labels(only_a), _labels(only_b), note)
    if ordinals.outcome is Outcome.MISMATCH:
        return ordinals
    if only_a or only_b:
        return Verdict(guard, Outcome.UNSURE, _labels(only_a), _labels(only_b))
    if ordinals.outcome:
        return ordinals
    spelled = [
        (mine[v].token, theirs[v].token)
        for v in mine
        if mine[v].token.value != theirs[v].token.value
        and "." in mine[v].token.value + theirs[v].token.value
    ]
    if spelled:
        texts = tuple(x.text for x, _ in spelled), tuple(y.text for _, y in spelled)
        return Verdict(guard, Outcome.UNSURE, *texts, "equal numbers, but not equal codes")
    return passed(guard)


def dates(a: Reading, b: Reading) -> Verdict:
    """Dates, months and weekdays; a date that is only less precise is left to a person."""
    guard = "dates"
    verdict = compare(guard, _dates(a), _dates(b))
    if verdict.outcome is not Outcome.MISMATCH:
        return verdict
    left = [d for d in _dates(a) if d not in _dates(b)]
    right = [d for d in _dates(b) if d not in _dates(a)]
    if all(any(_vague(x, y) for y in right) for x in left) and all(
        any(_vague(x, y) for x in left) for y in right
    ):
        return Verdict(guard, Outcome.UNSURE, verdict.only_a, verdict.only_b, "may be the same day")
    return verdict


def operators(a: Reading, b: Reading) -> Verdict:
    """Comparisons, as signs or words, bound to the number or date that they compare with.

    ``at least 18`` against ``more than 18`` or plain ``18`` differ; ``since``, ``until`` and
    ``within`` may be left out.
    """
    guard = "operators"
    left, right = _ops(a), _ops(b)
    wrong_a, wrong_b = [], []
    unsure = False
    for target in left.keys() & right.keys():
        (ops_a, text_a), (ops_b, text_b) = left[target], right[target]
        x, y = {o.rstrip("~") for o in ops_a} - {""}, {o.rstrip("~") for o in ops_b} - {""}
        if x == y:
            continue
        soft = all(o.endswith("~") or o in ("", "between") for o in ops_a | ops_b)
        loose = "between" in x | y and x | y <= {"between", ">=", "<="}
        if loose or (soft and (not x or not y)):
            unsure = True
        else:
            wrong_a.append(f"{'/'.join(sorted(x)) or '='} {text_a}")
            wrong_b.append(f"{'/'.join(sorted(y)) or '='} {text_b}")
    if wrong_a:
        return Verdict(guard, Outcome.MISMATCH, tuple(wrong_a), tuple(wrong_b))
    verdict = compare(guard, _loose_ops(a), _loose_ops(b))
    if verdict.outcome is Outcome.PASS and unsure:
        return Verdict(guard, Outcome.UNSURE, note="one text names a limit more exactly")
    return verdict


def units(a: Reading, b: Reading) -> Verdict:
    """Units of the same number, and units that stand alone (``in thousands of euros``)."""
    guard = "units"
    left, right = _by_value(a), _by_value(b)
    wrong = [
        (left[v], right[v]) for v in left.keys() & right.keys() if left[v].unit != right[v].unit
    ]
    hard = [p for p in wrong if all(q.unit for q in p) or "percent" in (p[0].unit, p[1].unit)]
    if hard:
        texts = tuple(f"{x.label} {x.unit}".strip() for x, _ in hard)
        return Verdict(
            guard, Outcome.MISMATCH, texts, tuple(f"{y.label} {y.unit}".strip() for _, y in hard)
        )
    scales = compare(guard, _texts(a, "scale"), _texts(b, "scale"), one_sided=Outcome.MISMATCH)
    if scales.outcome and not (left.keys() ^ right.keys()):
        return scales
    free = compare(guard, _free_units(a, b), _free_units(b, a))
    if free.outcome is Outcome.PASS and (cased := _cased(a, b)):
        return Verdict(guard, Outcome.UNSURE, *cased, "the case of a unit differs")
    if free.outcome is Outcome.PASS and wrong:
        return Verdict(guard, Outcome.UNSURE, note="one text leaves the unit out")
    return free


def _cased(a: Reading, b: Reading) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Units of one abbreviation that differ in the case of its last letter: ``Mb`` and ``MB``."""
    left, right = ({t.text for t in r.of("unit") if len(t.text) == 2} for r in (a, b))
    for x in sorted(left - right):
        for y in sorted(right - left):
            if x.casefold() == y.casefold() and x[1] != y[1] and not (x.islower() or y.islower()):
                return (x,), (y,)
    return None


def booleans(a: Reading, b: Reading) -> Verdict:
    """TRUE, FALSE and NULL in any wording; where one is negated once more, a person decides."""
    guard = "booleans"
    left, right = _booleans(a), _booleans(b)
    verdict = compare(guard, left, right)
    if verdict.outcome is Outcome.MISMATCH and _negations(a) % 2 != _negations(b) % 2:
        return Verdict(
            guard,
            Outcome.UNSURE,
            verdict.only_a,
            verdict.only_b,
            "negated once more, so perhaps equal",
        )
    return verdict


def assignments(a: Reading, b: Reading) -> Verdict:
    """What each identifier is compared with: ``x = 1 and y = 2`` is not ``x = 2 and y = 1``."""
    guard = "assignments"
    left, right = _assigned(a), _assigned(b)
    wrong = [k for k in left.keys() & right.keys() if not left[k].keys() & right[k].keys()]
    if not wrong:
        return passed(guard)
    show = [
        tuple(f"{k} {'/'.join(side[k].values())}" for k in sorted(wrong)) for side in (left, right)
    ]
    return Verdict(guard, Outcome.MISMATCH, show[0], show[1])


def _by_value(reading: Reading) -> dict[Decimal, Quantity]:
    return {q.value: q for q in reversed(reading.quantities)}


def _base(quantity: Quantity) -> tuple[str, Decimal]:
    name, factor = _BASES.get(quantity.unit, (quantity.unit, Decimal(1)))
    return name, quantity.value * factor


def _labels(found: list[Quantity]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(q.label for q in reversed(found)))


def _ordinals(reading: Reading) -> dict[str, str]:
    return {t.value: t.text for t in reading.of("ord")}


def _dates(reading: Reading) -> dict[str, str]:
    found = {t.value: t.text for t in reading.of("date")}
    return found | {f"weekday {t.value}": t.text for t in reading.of("weekday")}


def _vague(x: str, y: str) -> bool:
    """Whether one date is the other with less said, or with day and month the other way round."""
    if x.startswith("weekday") or y.startswith("weekday"):
        return False
    short, long = sorted((x, y), key=len)
    if long.startswith(short) or (short.startswith("--") and long.endswith(short[1:])):
        return True
    p, q = x.split("-"), y.split("-")
    return len(p) == 3 == len(q) and p[0] == q[0] and p[1:] == q[:0:-1] and "/" in x + y + "/"


def _ops(reading: Reading) -> dict[str, tuple[set[str], str]]:
    found: dict[str, tuple[set[str], str]] = {}
    for quantity in reading.quantities:
        found.setdefault(str(quantity.value.normalize()), (set(), quantity.label))[0].add(
            quantity.op
        )
    texts = {t.value: t.text for t in reading.of("date")}
    for value, op in bound_dates(reading).items():
        found.setdefault(value, (set(), texts[value]))[0].add(op)
    return found


def _loose_ops(reading: Reading) -> dict[str, str]:
    """Comparisons between names: no number or date is near."""
    bound = {q.op for q in reading.quantities} | set(bound_dates(reading).values())
    skip = {"=", "!=", "like", "between"} | bound
    return {t.value: t.text for t in reading.of("op") if t.value not in skip}


def _texts(reading: Reading, kind: str) -> dict[str, str]:
    return {t.value: t.text for t in reading.of(kind)}


def _free_units(a: Reading, b: Reading) -> dict[str, str]:
    """Units of ``a`` that belong to no number and are no grain of ``b``."""
    bound = {q.unit for q in a.quantities}
    grains = {t.value for t in b.of("grain")}
    return {t.value: t.text for t in a.of("unit") if t.value not in bound | grains}


def _booleans(reading: Reading) -> dict[str, str]:
    found = _texts(reading, "bool")
    nulls = reading.of("null")
    return found | ({"null": nulls[0].text} if nulls else {})


def _negations(reading: Reading) -> int:
    return len(reading.of("neg")) + sum(t.value == "!=" for t in reading.of("op"))


def _assigned(reading: Reading) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    tokens = reading.tokens
    for at, token in enumerate(tokens):
        if token.kind != "id":
            continue
        value = _value_after(tokens, at)
        if value is not None:
            found.setdefault(token.value.casefold(), {})[value.key] = value.text
    return found


def _value_after(tokens: tuple[Token, ...], at: int) -> Token | None:
    for token in tokens[at + 1 : at + 4]:
        if token.kind in ("num", "lit", "bool", "null", "date", "code"):
            return token
        if token.kind not in ("op", "neg") or token.value in ("like", "between"):
            return None
    return None
