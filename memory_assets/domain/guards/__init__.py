"""Cannot-link guards: small rules on what makes two definitions different, whatever the cosine.

Each guard is one function over two readings, registered once in :data:`GUARDS`. Cosine cannot do
this work: texts that differ in TRUE and FALSE, 15 and 16, or in who does what to whom stand as
close together as paraphrases do.
"""

from memory_assets.domain.guards.judge import (
    GUARDS,
    RULE_VERSION,
    Judgement,
    Relation,
    judge,
)
from memory_assets.domain.guards.reading import Reading, read
from memory_assets.domain.guards.tokens import Token
from memory_assets.domain.guards.verdict import Outcome, Verdict

__all__ = [
    "GUARDS",
    "RULE_VERSION",
    "Judgement",
    "Outcome",
    "Reading",
    "Relation",
    "Token",
    "Verdict",
    "judge",
    "read",
]
