"""Where unrelated definitions lie in an embedding space, measured once per space."""

from __future__ import annotations

from typing import Final

import numpy as np

from memory_assets.domain.merge import review_floor
from memory_assets.domain.ports import Embedder, VectorCache
from memory_assets.embedding.through_cache import embed_through_cache

REFERENCE: Final = (
    "Glacier: a slow river of ice that forms where snow outlasts the summer.",
    "Overdraft: the amount by which payments exceed the balance of an account.",
    "Sonata: a composition for one or two instruments in several movements.",
    "Photosynthesis: how plants turn light and carbon dioxide into sugar.",
    "Tenant: a person who rents the home in which they live.",
    "Goalkeeper: the player who may touch the ball with the hands.",
    "Router: a device that passes packets between networks.",
    "Vaccination: protection from a disease by training the immune system.",
    "Warehouse: a building in which goods wait to be shipped.",
    "Jury: citizens who decide on the facts of a trial.",
    "Eclipse: the moment at which one body hides another in the sky.",
    "Recipe: the ingredients of a dish and the steps to prepare it.",
    "Ghiacciaio: massa di ghiaccio che scende lentamente da una montagna.",
    "Scoperto: importo per cui i pagamenti superano il saldo del conto.",
    "Vendemmia: raccolta dell'uva matura per fare il vino.",
    "Anagrafe: registro delle persone che abitano in un comune.",
    "Tornio: macchina che lavora un pezzo facendolo ruotare.",
    "Pendolare: chi viaggia ogni giorno tra casa e lavoro.",
    "Frana: scivolamento improvviso di terra lungo un pendio.",
    "Pediatra: medico che cura i bambini.",
    "Bilancio: documento che riassume attività e passività di un anno.",
    "Acquedotto: opera che porta l'acqua potabile alle case.",
    "Sonetto: poesia di quattordici versi in quattro strofe.",
    "Sciopero: astensione dal lavoro decisa da un sindacato.",
)
"""Definitions that have nothing to do with one another, in the languages that are served."""


def unrelated_cosine(embedder: Embedder, cache: VectorCache) -> float:
    """Mean cosine of definitions on unlike topics, within and across languages.

    The same texts for everybody: the figure belongs to the space, not to what a tenant has stored.
    They are embedded once and then come from the cache.
    """
    vectors, _ = embed_through_cache(embedder, cache, REFERENCE, kind="document")
    products = vectors @ vectors.T
    upper = products[np.triu_indices(len(REFERENCE), 1)]
    return float(upper.mean())


def space_floor(embedder: Embedder, cache: VectorCache) -> float:
    """The cosine from which a pair is worth a person's time in this space."""
    return round(review_floor(unrelated_cosine(embedder, cache)), 4)
