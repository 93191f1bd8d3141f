"""The part of ``doctor`` that asks the embedding providers, and looks at the spaces of the index.

Hosted models are asked each time, with one short text: whether the key is taken, and whether the
vector is as long as declared, shows in no other way. Local ones are loaded only when told to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from memory_assets.domain.language import detect
from memory_assets.domain.spaces import SEARCH_RECIPE
from memory_assets.embedding.chain import GuardedEmbedder
from memory_assets.embedding.hosted import HostedEmbedder
from memory_assets.errors import (
    BudgetExhausted,
    EmbeddingError,
    ProviderUnavailable,
    SpaceMismatch,
)
from memory_assets.pipeline.health.findings import Finding, error, info, ok, warning
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.index.provider_states import last_states

ENGLISH_ONLY: Final = ("all-minilm", "all-mpnet", "all-distilroberta", "msmarco-", "bge-small-en")
"""How names of models begin that serve English alone."""
_READ: Final = 500
"""Memories whose language is looked at: the newest ones."""
_FOREIGN: Final = 0.1
"""Share of Italian memories from which an English model is worth a warning."""
_PASSES: Final = (ProviderUnavailable.code, BudgetExhausted.code)
"""Problems that the next run need not meet again."""
_PROBE: Final = "A text to see whether the model answers."


def models(workspace: Workspace, *, deep: bool) -> Iterator[Finding]:
    """Whether every configured provider answers as declared, and whether the index fits them."""
    chain = workspace.chain
    for member in chain.members:
        spec = f"{member.provider}:{member.model}"
        name = "model" if member is chain.first else "fallback"
        if member.provider == "packaged" and not _is_installed(member.model):
            yield error(
                name,
                f"{spec} is not installed on this machine",
                "install its package, or name another model in the setting `embedding`.",
            )
        else:
            serves = member in chain.with_space
            yield _asked(member, name, spec, serves=serves, deep=deep)
    yield from _prices(workspace)
    yield from _last_run(workspace)
    yield from _spaces(workspace)
    yield from _languages(workspace)


def _asked(member: GuardedEmbedder, name: str, spec: str, *, serves: bool, deep: bool) -> Finding:
    """What a provider says to one text; a fallback that keeps no index only warns."""
    hosted = isinstance(member.inner, HostedEmbedder)
    worse = error if serves else warning
    try:
        if not (hosted or deep):
            space = member.space(SEARCH_RECIPE)
            return ok(name, f"{spec}, {space.dimension} dimensions; --deep also loads it")
        if isinstance(member.inner, HostedEmbedder):
            member.inner.verify(now_in_any_case=True)
        length = member.embed([_PROBE], kind="query").shape[1]
    except ProviderUnavailable as failure:
        return warning(name, f"{failure.what} Breaker: {member.state}.", failure.remedy)
    except SpaceMismatch as failure:
        return worse(failure.code, failure.what, failure.remedy)
    except EmbeddingError as failure:
        where = f" ({failure.where})" if failure.where else ""
        return worse(name, failure.what + where, failure.remedy)
    spent = f", {member.usage.tokens} tokens for asking" if hosted else ""
    return ok(name, f"{spec} answers with {length} dimensions, as declared{spent}; {member.state}")


def _prices(workspace: Workspace) -> Iterator[Finding]:
    """Whether the budget can stop every hosted model that a run may ask."""
    setup, chain = workspace.embedding, workspace.chain
    if setup.budget.limit_dollars is None:
        return
    for member in chain.with_space:
        spec = f"{member.provider}:{member.model}"
        free = isinstance(member.inner, HostedEmbedder) and (
            member.inner.card.dollars_per_million_tokens == 0
        )
        if free and setup.options(spec).dollars_per_million_tokens is None:
            yield warning(
                "budget",
                f"the price of {spec} is not known: embedding_budget_dollars never stops it",
                "set embedding_price to its dollars per million tokens; 0 says that it is free.",
            )


def _last_run(workspace: Workspace) -> Iterator[Finding]:
    """The breakers as the last publication left them: those of this process are fresh."""
    found = last_states(workspace.home.cache)
    for state in found.get("providers", ()):
        spec = f"{state['provider']}:{state['model']}"
        if state["breaker"] != "closed" or state["failures"]:
            yield info(
                "breaker",
                f"{spec} was {state['breaker']} at the end of the last run ({found['at']}), after "
                f"{state['failures']} failures in a row: {state['last_problem']}",
                "nothing to do: the next run tries it again.",
            )
        elif state["last_problem"]:
            yield info(
                "last-run",
                f"{spec} did not do all its work in the last run ({found['at']}): "
                f"{state['last_problem']}",
                "nothing to do: the next run goes on with what is missing."
                if state["last_problem"] in _PASSES
                else "mend what is said of it above, if it still is; the next run then goes on.",
            )


def _spaces(workspace: Workspace) -> Iterator[Finding]:
    """Whether the published spaces are those of the configured models."""
    current, _ = workspace.generations.current()
    served, chain = current.serving, workspace.chain
    if served is None:
        return
    try:
        space = chain.first.space(SEARCH_RECIPE)
    except EmbeddingError:
        return  # told above
    if served.space != space:
        state = "is being built" if current.building == space.space_id else "is not built yet"
        yield warning(
            "embedding-space",
            f"the published index was made with {served.space.provider}:{served.space.model}; that "
            f"of {space.provider}:{space.model} {state}. The next night goes on with it",
            "memory-assets nightly",
        )
    held = {(p.space.provider, p.space.model) for p in current.spaces if not p.until}
    for member in chain.with_space[1:]:
        if (member.provider, member.model) not in held:
            yield warning(
                "warm-space",
                f"the warm fallback {member.provider}:{member.model} has no index yet",
                "memory-assets nightly",
            )


def _languages(workspace: Workspace) -> Iterator[Finding]:
    """Whether the model serves the language that the memories are written in."""
    first = workspace.chain.first
    recent = workspace.registry().active().sort("promoted_generation", descending=True).head(_READ)
    texts = [f"{s}\n{d}" for s, d in recent.select("subject", "detail").iter_rows()]
    found = unserved(first.model, texts)
    if found:
        yield warning(
            "model-language",
            f"{found:.0%} of the newest memories are Italian, and {first.provider}:{first.model} "
            "serves English: searches in Italian find less",
            "memory-assets embedding migrate --to packaged:multilingual-e5-small",
        )


def unserved(model: str, texts: Sequence[str]) -> float:
    """The share of texts in Italian if the model knows English alone, and they are not a few."""
    name = model.rpartition("/")[2].lower()
    if not texts or not name.startswith(ENGLISH_ONLY):
        return 0.0
    share = sum(detect(text) == "it" for text in texts) / len(texts)
    return share if share >= _FOREIGN else 0.0


def _is_installed(name: str) -> bool:
    from memory_assets.embedding.packaged import is_installed, packaged_models

    return name not in packaged_models() or is_installed(name)
