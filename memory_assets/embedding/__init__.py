"""Embedding providers, the cache of vectors, and the rules for using several providers.

``open_embedder`` turns a name such as ``packaged:multilingual-e5-small`` into an ``Embedder``;
``embed_through_cache`` embeds texts and never embeds one twice. Nothing heavy is imported before
the first text is embedded.
"""

from __future__ import annotations
