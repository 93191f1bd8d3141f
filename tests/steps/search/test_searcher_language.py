"""Italian and English, accents, apostrophes, identifiers: what people type is found."""

from __future__ import annotations

import unicodedata

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.types import SearchRequest
from tests.searching import NOW, TENANT, Published, memory

ROWS = {
    "ablation": memory("Ablazione", "interventi di ablazione con codice ICD 37.34, per anno"),
    "age": memory("Età del paziente", "l'età è calcolata alla data della dimissione, perché sì"),
    "key": memory("Chiave del paziente", "si conta con COUNT(DISTINCT cod_paz)"),
    "drg": memory("Gruppo di dimissione", "i ricoveri con DRG-123 sono esclusi"),
    "quality": memory("Indice di qualità", "la media dei punteggi del reparto"),
    "discharge": memory("Discharged patients", "patients who were discharged within the year"),
}
IDS = {name: f"mem-{n:04d}" for n, name in enumerate(ROWS, 1)}


@pytest.fixture(scope="module", name="searcher")
def _searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    from tests.steps.search.test_searcher import unplugged

    home = Published(tmp_path_factory.mktemp("language"))
    home.publish(list(ROWS.values()), languages={TENANT: "it"})
    return Searcher(home.store, lambda: unplugged("query"), home.options)


def by_words(searcher: Searcher, query: str) -> list[str]:
    """The ids of the memories that share a word with the query, best first."""
    found = searcher.search(SearchRequest(query, Principal.local(TENANT), NOW))
    return [hit.memory_id for hit in found.hits if hit.terms["text"] > 0]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("intervento ablazioni", "ablation"),
        ("INTERVENTI DI ABLAZIONE", "ablation"),
        ("ICD 37.34", "ablation"),
        ("ICD37.34", "ablation"),
        ("37,34", "ablation"),
        ("l'età", "age"),
        ("l\u2019eta", "age"),
        ("eta", "age"),
        ("perche", "age"),
        ("perché", "age"),
        ("cod_paz", "key"),
        ("COD_PAZ", "key"),
        ("DRG-123", "drg"),
        ("drg123", "drg"),
        ("DRG 123", "drg"),
        ("qualita", "quality"),
        ("qualità", "quality"),
        ("discharge of a patient", "discharge"),
        ("discharging", "discharge"),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_what_people_type_finds_the_memory_first(
    searcher: Searcher, query: str, name: str, form: str
) -> None:
    """Inflected, unaccented, elided, in capitals or decomposed, the words find it."""
    typed = unicodedata.normalize(form, query)  # type: ignore[arg-type]
    assert by_words(searcher, typed)[0] == IDS[name]


@pytest.mark.parametrize("query", ["37.35", "DRG-124", "cod_med", "ICD-9"])
def test_another_code_finds_nothing_by_it(searcher: Searcher, query: str) -> None:
    """An identifier is one word: a near miss is no match of its own code."""
    wanted = {"37.35": "ablation", "DRG-124": "", "cod_med": "", "ICD-9": ""}[query]
    assert wanted == "" or IDS[wanted] not in by_words(searcher, query)


def test_an_english_memory_of_an_italian_tenant_is_stemmed_as_english(searcher: Searcher) -> None:
    """The language is the record's own where it shows, whatever the tenant's is."""
    assert by_words(searcher, "discharges") == [IDS["discharge"]]
