"""Each guard by itself: what it lets pass, what it doubts, what it refuses."""

from __future__ import annotations

import pytest

from memory_assets.domain.guards import GUARDS, Outcome, Verdict
from memory_assets.domain.guards.reading import read_pair

PASS, UNSURE, MISMATCH = Outcome.PASS, Outcome.UNSURE, Outcome.MISMATCH
_BY_NAME = {guard.__name__: guard for guard in GUARDS}

CASES: list[tuple[str, str, str, Outcome]] = [
    ("numbers", "after 15 days", "after 16 days", MISMATCH),
    ("numbers", "dopo quindici giorni", "dopo 15 giorni", PASS),
    ("numbers", "within 24 hours of the visit", "within one day of the visit", UNSURE),
    ("numbers", "entro 12 mesi dalla visita", "entro un anno dalla visita", UNSURE),
    ("numbers", "the first visit", "the second visit", MISMATCH),
    ("numbers", "la prima visita", "l'ultima visita", MISMATCH),
    ("numbers", "three visits in 2020", "three visits", UNSURE),
    ("numbers", "code 37.3 of the list", "code 37.30 of the list", UNSURE),
    ("dates", "on 3 March 2021", "on 4 March 2021", MISMATCH),
    ("dates", "on 3 March 2021", "on 2021-03-03", PASS),
    ("dates", "il 3 marzo 2021", "in marzo 2021", UNSURE),
    ("dates", "every Monday", "every Tuesday", MISMATCH),
    ("operators", "at least 18 years", "more than 18 years", MISMATCH),
    ("operators", "almeno 18 anni", "18 anni", MISMATCH),
    ("operators", "at least 18 years", "età non inferiore a 18 anni", PASS),
    ("operators", "since 2021", "from the year 2021", UNSURE),
    ("operators", "between 18 and 65", ">= 18 and <= 65", UNSURE),
    ("operators", "prima del 2020", "dal 2020", MISMATCH),
    ("operators", "a > b", "a < b", MISMATCH),
    ("units", "30 days", "30 months", MISMATCH),
    ("units", "30 giorni", "30 days", PASS),
    ("units", "sconto del 10%", "sconto di 10", MISMATCH),
    ("units", "older than 18 years", "older than 18", UNSURE),
    ("units", "in thousands of euros", "in millions of euros", MISMATCH),
    ("units", "in days", "in hours", MISMATCH),
    ("units", "a rate of 10 Mb", "a rate of 10 MB", UNSURE),
    ("units", "a file of 10 mb", "a file of 10 MB", PASS),
    ("units", "giorni lavorativi", "giorni di calendario", MISMATCH),
    ("booleans", "flag is true", "flag is false", MISMATCH),
    ("booleans", "flag è vero", "flag = TRUE", PASS),
    ("booleans", "flag is not true", "flag is false", UNSURE),
    ("assignments", "a_x = 1 and b_x = 2", "a_x = 2 and b_x = 1", MISMATCH),
    ("assignments", "a_x = 1 and b_x = 2", "b_x = 2 and a_x = 1", PASS),
    ("negation", "the row is valid", "the row is not valid", MISMATCH),
    ("negation", "excluding test accounts", "including test accounts", MISMATCH),
    ("negation", "esclusi i resi", "inclusi i resi", MISMATCH),
    ("negation", "exclude the test accounts", "test accounts are excluded", PASS),
    ("negation", "use the order date, not the shipping date",
     "use the shipping date, not the order date", MISMATCH),
    ("negation", "amounts are net of VAT", "amounts exclude VAT", UNSURE),
    ("negation", "open orders. Exclude rows with status 'X6'.", "open orders.", UNSURE),
    ("quantifiers", "only urgent stays", "urgent stays", MISMATCH),
    ("quantifiers", "solo i ricoveri urgenti", "i ricoveri urgenti", MISMATCH),
    ("quantifiers", "quando tutte le righe sono spedite",
     "quando almeno una riga è spedita", MISMATCH),
    ("logic", "x = 'A' or x = 'B'", "x = 'A' and x = 'B'", MISMATCH),
    ("logic", "x = 'A' or x = 'B'", "x is 'A' or 'B'", PASS),
    ("logic", "groups A & B", "groups A | B", MISMATCH),
    ("logic", "groups A & B", "groups A and B", PASS),
    ("grain", "counted by month", "counted by year", MISMATCH),
    ("grain", "conteggiati mensilmente", "counted for each month", PASS),
    ("grain", "saldo giornaliero", "saldo mensile", MISMATCH),
    ("aggregates", "the mean time", "the median time", MISMATCH),
    ("aggregates", "COUNT(DISTINCT x_id)", "COUNT(x_id)", MISMATCH),
    ("aggregates", "counted as SUM(x_id)", "the sum of x_id", PASS),
    ("aggregates", "numero di x_id distinti", "COUNT(DISTINCT x_id)", PASS),
    ("literals", "gender = 'Male'", "gender = 'male'", MISMATCH),
    ("literals", "gender = 'M'", "gender = 'F'", MISMATCH),
    ("literals", "status 'C' is cancelled", "status C is cancelled", PASS),
    ("literals", "name = 'north california'", "name = 'california'", MISMATCH),
    ("identifiers", "start_date is null", "end_date is null", MISMATCH),
    ("identifiers", "orders.start_date is null", "start_date is null", UNSURE),
    ("identifiers", "tbl_orders.status is null", "tbl_bills.status is null", MISMATCH),
    ("identifiers", "`flag_x` is set", "flag_x is set", PASS),
    ("codes", "ICD-10 code I48.0", "ICD-10 code I48.1", MISMATCH),
    ("codes", "codice DRG-123", "codice DRG123", UNSURE),
    ("lookalikes", "written in C", "written in C++", MISMATCH),
    ("lookalikes", "written in C#", "written in C++", MISMATCH),
    ("lookalikes", "il dato età", "il dato ET", MISMATCH),
    ("lookalikes", "acido Ω-3", "acido 3", MISMATCH),
    ("lookalikes", "la qualità del dato", "la qualita del dato", PASS),
    ("signs", "HIV+ patients", "HIV- patients", MISMATCH),
    ("signs", "il gruppo Rh+", "il gruppo Rh−", MISMATCH),
    ("signs", "a rating of A+ or better", "a rating of A- or better", MISMATCH),
    ("signs", "tumori ER+", "tumori ER", UNSURE),
    ("signs", "progetti in R", "progetti in R+", UNSURE),
    ("signs", "built with .NET", "built with NET", UNSURE),
    ("signs", "the search is A*", "the search is A", UNSURE),
    ("signs", "righe con ✓", "righe con ✗", UNSURE),
    ("signs", "HIV+ patients.", "patients that are HIV+", PASS),
    ("signs", "a - b", "a minus b", PASS),
    ("signs", "• pre-sales, 18+ (ok)", "pre-sales 18+ ok", PASS),
    ("names", "made in the Milan plant", "made in the Turin plant", MISMATCH),
    ("names", "stage II of it", "stage III of it", MISMATCH),
    ("names", "the KPI is shown", "the key performance indicator is shown", PASS),
    ("polarity", "gross weight", "net weight", MISMATCH),
    ("polarity", "peso lordo", "net weight", MISMATCH),
    ("polarity", "active users", "inactive users", MISMATCH),
    ("polarity", "prima dello sconto", "dopo lo sconto", MISMATCH),
    ("polarity", "the previous quarter", "the next quarter", MISMATCH),
    ("polarity", "it must be paid", "it may be paid", MISMATCH),
    ("polarity", "credits and debits", "debits and credits", PASS),
    ("subject", "Smoker means a patient", "Diabetic means a patient", MISMATCH),
    ("subject", "Fumatore: un paziente", "Fumatore è un paziente", PASS),
    ("subject", "Smoker (heavy smoker): a patient", "Smoker = a patient", PASS),
    ("direction", "items sold by partners", "items sold to partners", MISMATCH),
    ("direction", "merci da clienti esteri", "merci a clienti esteri", MISMATCH),
    ("direction", "from account A to account B", "from account B to account A", MISMATCH),
    ("roles", "discharge date minus entry date", "entry date minus discharge date", MISMATCH),
    ("roles", "revenue divided by headcount", "headcount divided by revenue", MISMATCH),
    ("roles", "il fornitore paga il cliente", "il cliente paga il fornitore", MISMATCH),
    ("roles", "amount minus returns and discounts",
     "amount minus discounts and returns", PASS),
    ("roles", "2 * goals + assists", "goals + 2 * assists", UNSURE),
    ("content", "customers on orders", "customers on invoices", MISMATCH),
    ("content", "gli ordini aperti del cliente", "l'ordine aperto dei clienti", PASS),
    ("content", "il tasso variabile sul mutuo", "la tassa variabile sul mutuo", UNSURE),
    ("content", "the market budget", "the marketing budget", UNSURE),
    ("content", "net revenue is amount minus returns and discounts",
     "net revenue is amount minus returns", UNSURE),
    ("remainder", "the next world", "the world", UNSURE),
    ("remainder", "the world of today", "the world of today", PASS),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "a", "b", "outcome"), CASES)
def test_a_guard_judges_its_own_kind(guard: str, a: str, b: str, outcome: Outcome) -> None:
    """The outcome is the same whichever text comes first."""
    left, right = read_pair(a, b)
    verdict, mirrored = _BY_NAME[guard](left, right), _BY_NAME[guard](right, left)
    assert verdict.outcome is outcome, verdict
    assert mirrored.outcome is outcome, mirrored
    assert verdict.guard == guard


def test_every_guard_is_tested() -> None:
    """A guard that is registered has cases here, among them one that it passes."""
    assert {case[0] for case in CASES} == set(_BY_NAME)


@pytest.mark.parametrize("guard", sorted(_BY_NAME))
def test_a_text_has_nothing_against_itself(guard: str) -> None:
    """Equal texts pass every guard."""
    text = (
        "Sold by us: at least 3 orders since 2021-05-01, status 'C', flag_x = TRUE, not in ET, "
        "mean of 10% per month, first or last, gross minus net, only for C++."
    )
    left, right = read_pair(text, text)
    assert _BY_NAME[guard](left, right) == Verdict(guard, PASS)


def test_a_verdict_names_the_tokens_as_they_are_written() -> None:
    """Whoever reads a verdict sees what differs, on either side."""
    left, right = read_pair("entro quindici giorni", "entro 16 giorni")
    verdict = _BY_NAME["numbers"](left, right)
    assert (verdict.only_a, verdict.only_b) == (("quindici",), ("16",))
    assert verdict.to_dict() == {
        "guard": "numbers",
        "outcome": "mismatch",
        "only_a": ["quindici"],
        "only_b": ["16"],
        "note": "",
    }
