"""A definition as the guards read it: tokens with a meaning that does not depend on the language.

The text is cut into literals, identifiers, codes, numbers, dates, operators and words; phrases of
the language then give way to concepts (``non inferiore a`` and ``at least`` both become ``op >=``),
and what is left is content. Nothing here judges: the guards compare two readings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any, Final

from memory_assets.domain.guards import english, italian
from memory_assets.domain.guards.lexicon import (
    Lexicon,
    Phrase,
    compile_phrases,
    groups,
    logical_lines,
    opposite_map,
    synonym_map,
)
from memory_assets.domain.text import Language, fold

_LANGUAGE_FILES: Final[dict[str, ModuleType]] = {"en": english, "it": italian}
"""The one place where languages are listed."""

LANGUAGE_CODES: Final = tuple(_LANGUAGE_FILES)

_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u2032\u00b4", "'"))
_RAW: Final = re.compile(
    r"""
    (?P<lit>(?<!\w)'[^'\n]*'(?!\w) | "[^"\n]*" | “[^”\n]*” | «[^»\n]*»)
  | (?P<tick>`[^`\n]+`)
  | (?P<ymd>(?<![\w.])\d{4}(?P<sep1>[-/.])\d{1,2}(?P=sep1)\d{1,2}
      (?:[T\ ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?(?!\w))
  | (?P<dmy>(?<![\w.])\d{1,2}(?P<sep2>[-/.])\d{1,2}(?P=sep2)\d{4}(?![\w]))
  | (?P<time>(?<![\w:.])\d{1,2}:\d\d(?::\d\d)?(?![\w:]))
  | (?P<op>>=|<=|<>|!=|==|=>|≥|≤|≠|>|<|=|&&|\|\|)
  | (?P<range>(?<![\w.-])\d+[-–]\d+(?![\w-]))
  | (?P<num>(?<![\w.,-])[-−]?\d+(?:[.,']\d+)*(?![\w.]*[^\W\d]|[-/]\w|\w)
      |(?<=[\s(=<>])[-−]\d+(?:[.,]\d+)*(?!\w))
  | (?P<word>\w+(?:[-.@&/]\w+)*(?:\+\+|\#)?(?:'(?:t|s|re|ve|ll|d|m)\b(?!'))?(?:'(?=\w))?)
  | (?P<sym>[%€$£¥°º+\-−*/×÷²³^&|])
  | (?P<stop>[.;:,()\[\]{}!?\n–—])
    """,
    re.VERBOSE,
)
_SYMBOL_OPS: Final = {
    ">=": ">=", "≥": ">=", "=>": ">=", "<=": "<=", "≤": "<=", ">": ">", "<": "<",
    "<>": "!=", "!=": "!=", "≠": "!=", "=": "=", "==": "=",
}  # fmt: skip
_SQL: Final = {
    "COUNT": "agg:count", "SUM": "agg:sum", "AVG": "agg:avg", "MIN": "agg:min", "MAX": "agg:max",
    "MEDIAN": "agg:median", "DISTINCT": "agg:distinct", "TRUE": "bool:true", "FALSE": "bool:false",
    "NULL": "null", "NOT": "neg", "AND": "logic:and", "OR": "logic:or", "BETWEEN": "op:between",
    "LIKE": "op:like", "IN": "filler", "IS": "filler", "BY": "filler", "WHERE": "filler",
    "FROM": "filler", "GROUP": "filler", "AS": "filler", "ON": "filler", "CASE": "filler",
    "STDDEV": "agg:std", "VARIANCE": "agg:var",
}  # fmt: skip
_AFTER_NUMBER: Final = {
    "min": "unit:minute", "s": "unit:second", "h": "unit:hour", "d": "unit:day", "g": "unit:g",
    "gg": "unit:day", "m": "unit:m", "l": "unit:l", "ha": "unit:hectare", "t": "unit:t",
    "y": "unit:year", "yo": "unit:year", "am": "unit:am", "pm": "unit:pm", "second": "unit:second",
}  # fmt: skip
_NUMBER_SIGNS: Final = frozenset({"no", "n", "nr", "num", "nos"})
_SYMBOL_UNITS: Final = {
    "%": "percent", "€": "eur", "$": "usd", "£": "gbp", "¥": "jpy", "°": "degree", "²": "squared",
    "³": "cubed",
}  # fmt: skip
_SUFFIXED: Final = re.compile(r"([-−]?\d+(?:[.,]\d+)*)([^\W\d_]+)")
_ORDINAL: Final = re.compile(r"(\d+)(?:st|nd|rd|th)")
_NUMBERED: Final = re.compile(r"(?:no|n|nr|num)\.([1-9]\d*)")
_WORD_SPLIT: Final = re.compile(
    r"\w[\w-]*(?:'(?:t|s|re|ve|ll|d|m)\b)?(?:'(?=\w)|'(?=\s|$))?|[%€$£¥°]\w?"
)
CONTENT: Final = frozenset({"word", "name", "id", "code", "lit", "num", "date"})
"""Kinds of tokens that say something by themselves."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token: what it is, its canonical value, and the characters it stands for."""

    kind: str
    value: str
    text: str
    start: int
    end: int
    clause: int = 0
    key: str = field(init=False)
    """Kind and value: equal keys mean the same."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.kind}:{self.value}")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the unit and the comparison that belong to it."""

    value: Decimal
    unit: str
    op: str
    token: Token

    @property
    def label(self) -> str:
        """As a person reads it in a verdict."""
        return self.token.text


def _stemmer(code: Language) -> Callable[[str], str]:
    def stem(word: str) -> str:
        terms = fold(word, code).split()
        return terms[-1] if terms else word

    return stem


@lru_cache(maxsize=8)
def lexicon(code: str) -> Lexicon:
    """The compiled lexicon of a language."""
    data: Any = _LANGUAGE_FILES[code]
    stem = _stemmer(code)  # type: ignore[arg-type]
    phrases = compile_phrases(_split_phrases(data.PHRASES))
    months = {name: n for n, line in enumerate(data.MONTHS, 1) for name in line.split()}
    return Lexicon(
        code=code,
        fillers=frozenset(data.FILLERS.split()),
        marks=frozenset(data.MARKS.split()),
        numbers=data.numbers(),
        compound=getattr(data, "compound", None),
        months=months,
        articles=frozenset(data.ARTICLES.split()),
        decimal_comma=data.DECIMAL_COMMA,
        copulas=frozenset(data.COPULAS.split()),
        notes=frozenset(data.NOTES.split()),
        class_nouns=frozenset(data.CLASS_NOUNS.split()),
        endings=frozenset(tuple(pair.split("/")) for pair in data.ENDINGS.split()),
        opposites=opposite_map(data.OPPOSITES, stem),
        synonyms=synonym_map(groups(data.SYNONYMS, stem)),
        negative_prefixes=data.NEGATIVE_PREFIXES,
        phrases=phrases,
        longest=max(len(p.words) for ps in phrases.values() for p in ps),
    )


@lru_cache(maxsize=8)
def _own_words(code: str) -> frozenset[str]:
    """Words that this language's tables hold and no other's do."""
    others = (_all_words(c) for c in LANGUAGE_CODES if c != code)
    return _all_words(code).difference(*others)


@lru_cache(maxsize=8)
def _all_words(code: str) -> frozenset[str]:
    known = lexicon(code)
    phrases = (w for ps in known.phrases.values() for p in ps for w in p.words)
    words = {w.rstrip("'") for w in phrases if not w.endswith("*")}
    data: Any = _LANGUAGE_FILES[code]
    words |= set(data.SYNONYMS.split()) | set(data.OPPOSITES.split())
    return frozenset(words | known.fillers | known.months.keys() | known.numbers.keys())


def _split_phrases(table: str) -> str:
    """The table with every phrase cut into words as texts are (``all'anno``: ``all' anno``)."""
    lines = []
    for line in logical_lines(table):
        meaning, _, phrases = line.partition(" | ")
        cut = (" ".join(_cut(w)) for p in phrases.split(",") for w in [p.strip()] if w)
        lines.append(f"{meaning} | {','.join(cut)}")
    return "\n".join(lines)


def _cut(phrase: str) -> list[str]:
    found = []
    for word in phrase.split():
        if word.endswith("*") or not word[0].isalnum():
            found.append(word)
        else:
            found += _WORD_SPLIT.findall(word)
    return found


@dataclass(frozen=True)
class Reading:
    """One text, read. ``language`` is None when nothing tells it."""

    text: str
    language: str | None
    tokens: tuple[Token, ...]

    @cached_property
    def by_kind(self) -> dict[str, tuple[Token, ...]]:
        """Tokens of each kind, in order."""
        found: dict[str, list[Token]] = {}
        for token in self.tokens:
            found.setdefault(token.kind, []).append(token)
        return {kind: tuple(ts) for kind, ts in found.items()}

    def of(self, kind: str) -> tuple[Token, ...]:
        """Tokens of one kind, in order."""
        return self.by_kind.get(kind, ())

    @cached_property
    def keys(self) -> frozenset[str]:
        """The key of every token."""
        return frozenset(t.key for t in self.tokens)

    @cached_property
    def content(self) -> tuple[Token, ...]:
        """Tokens that say something by themselves, in order."""
        return tuple(t for t in self.tokens if t.kind in CONTENT)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Numbers with their units and comparisons."""
        return tuple(_quantities(self.tokens))

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """Every word of the text in lower case, whatever it was taken for."""
        return frozenset(w.casefold() for w in re.findall(r"\w+", self.text))


@lru_cache(maxsize=1 << 14)
def read(text: str, language: str | None = None) -> Reading:
    """The text as the guards see it. Never raises; equal for NFC and NFD.

    ``language`` is taken where the text itself does not tell.
    """
    flat = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    return _Reader(flat, language).reading()


def read_pair(a: str, b: str) -> tuple[Reading, Reading]:
    """Both readings; a text that does not tell its language is read in that of the other."""
    left, right = read(a), read(b)
    if left.language is None and right.language is not None:
        left = read(a, right.language)
    elif right.language is None and left.language is not None:
        right = read(b, left.language)
    return left, right


class _Reader:
    """Works through one text once; open only for the length of :func:`read`."""

    def __init__(self, text: str, language: str | None) -> None:
        self.text = text
        self.raw = list(_RAW.finditer(text))
        self.words = [self._lower(m) for m in self.raw]
        self.language = self._language() or language
        self.lexicons = [
            lexicon(c) for c in ([self.language] if self.language else _LANGUAGE_FILES)
        ]
        letters = [c for c in text if c.isalpha()]
        self.shouting = sum(c.isupper() for c in letters) > 0.6 * len(letters) and len(letters) > 12
        self.out: list[Token] = []
        self.clause = 0

    def reading(self) -> Reading:
        at = 0
        while at < len(self.raw):
            at += self._step(at)
        return Reading(self.text, self.language, tuple(_dates(self.out)))

    @staticmethod
    def _lower(match: re.Match[str]) -> str:
        if match.lastgroup == "word":
            word = match.group().lower()
            return word[:-2] if word.endswith("'s") else word
        return match.group() if match.lastgroup == "sym" else "\x00"

    def _language(self) -> str | None:
        words = [w.rstrip("'") for w in self.words if w != "\x00"]
        for telling in (lambda c: lexicon(c).marks, _own_words):
            score = {c: sum(w in telling(c) for w in words) for c in LANGUAGE_CODES}
            best = max(score.values())
            winners = [c for c, s in score.items() if s == best]
            if best and len(winners) == 1:
                return winners[0]
        return None

    def _emit(self, kind: str, value: str, first: int, last: int | None = None) -> None:
        start, end = self.raw[first].start(), self.raw[first if last is None else last].end()
        text = self.text[start:end]
        self.out.append(Token(kind, value, text, start, end, self.clause))

    def _step(self, at: int) -> int:
        """Emits the tokens that begin at this raw match; how many raw matches they took."""
        match = self.raw[at]
        group, text = match.lastgroup or "", match.group()
        if group == "stop":
            self.clause += text not in ")]}"
            return 1
        if group == "word":
            return self._word(at, text)
        if group == "sym":
            return self._symbol(at, text)
        if group == "lit":
            self._emit("lit", _literal(text[1:-1]), at)
        elif group == "tick":
            self._emit("id", text[1:-1].strip(), at)
        elif group == "op":
            self._operator(at, text)
        elif group == "range":
            for part in re.split("[-–]", text):
                self._emit("num", str(Decimal(part)), at)
        elif group in ("ymd", "dmy"):
            self._emit("date", self._date(text), at)
        elif group == "time":
            self._emit("code", text, at)
        else:
            self._number(at, text)
        return 1

    def _operator(self, at: int, text: str) -> None:
        if text in ("&&", "||"):
            self._emit("logic", "and" if text == "&&" else "or", at)
        else:
            self._emit("op", _SYMBOL_OPS[text], at)

    def _symbol(self, at: int, text: str) -> int:
        if text in "°º" and self._ordinal(at):
            return 1
        if text in _SYMBOL_UNITS:
            self._emit("unit", _SYMBOL_UNITS[text], at)
        elif text in "+*×/÷-−":
            name = {"+": "plus", "*": "times", "×": "times", "/": "div", "÷": "div"}.get(
                text, "minus"
            )
            before = self.out[-1] if self.out else None
            spaced = self.text[max(0, self.raw[at].start() - 1)] == " " or (
                before is not None and before.kind in ("id", "num")
            )
            if before is not None and before.kind in CONTENT and spaced:
                self._emit("rel", name, at)
        return 1

    def _ordinal(self, at: int) -> bool:
        """Makes ``1°`` the first: the sign touches the number and no unit follows."""
        start, end = self.raw[at].span()
        before = self.out[-1] if self.out else None
        if before is None or before.kind != "num" or before.end != start:
            return False
        if self.text[end : end + 1].isalpha():
            return False
        text = self.text[before.start : end]
        self.out[-1] = Token("ord", before.value, text, before.start, end, before.clause)
        return True

    def _date(self, text: str) -> str:
        parts = [int(p) for p in re.split(r"[-/.T ]", text)[:3]]
        if parts[0] > 31:
            return "{:04d}-{:02d}-{:02d}".format(*parts)
        day, month, year = parts
        if month > 12 or (day <= 12 and self.language == "en" and "/" in text):
            day, month = month, day
        return f"{year:04d}-{month:02d}-{day:02d}"

    def _number(self, at: int, text: str) -> None:
        value = parse_number(text, decimal_comma=self.language == "it")
        if value is None:
            self._emit("code", text, at)
        else:
            self._emit("num", value, at)

    def _word(self, at: int, text: str) -> int:
        if self.out and self.out[-1].kind == "num" and self.words[at] in _AFTER_NUMBER:
            self._emit("unit", _AFTER_NUMBER[self.words[at]].partition(":")[2], at)
            return 1
        if self.words[at] in _NUMBER_SIGNS and self._numbered(at):
            return 2
        if text in _SQL:
            return self._concept(_SQL[text], at, at)
        if self._is_letter(at, text) or self._is_month(at, self.words[at].rstrip("'")):
            return self._single(at, text)
        for lex in self.lexicons:
            phrase = lex.find(self.words, at)
            taken = self._phrase(lex, phrase, at) if phrase else 0
            if taken:
                return taken
        return self._number_word(at) or self._single(at, text)

    def _numbered(self, at: int) -> bool:
        """Whether ``no. 12``, ``n. 12`` or ``nr. 12`` begins here: the sign itself says nothing."""
        nxt = self.raw[at + 1 : at + 3]
        return len(nxt) == 2 and nxt[0].group() in (".", "°", "º") and nxt[1].group()[:1].isdigit()

    def _phrase(self, lex: Lexicon, phrase: Phrase, at: int) -> int:
        last = at + len(phrase.words) - 1
        if any(self.raw[i].lastgroup not in ("word", "sym") for i in range(at, last + 1)):
            return 0
        text = self.raw[at].group()
        meaning = phrase.before_number if self._number_follows(last) else phrase.otherwise
        if len(phrase.words) == 1 and not meaning.startswith(("unit:", "bool:", "null")):
            if _looks_like_a_name(text, self.shouting):
                return 0
        elif len(text) == 1 == len(phrase.words):
            return 0  # a lone letter is a unit after a number only
        return self._concept(meaning, at, last) if meaning else 0

    def _concept(self, meaning: str, first: int, last: int) -> int:
        if meaning == "neg.excl":
            self._emit("neg", "exclude", first, last)
        elif meaning.startswith("logic:and"):
            self._emit("logic", "and", first, last)
            self.clause += 1
        elif meaning != "filler":
            kind, _, value = meaning.partition(":")
            self._emit(kind, value or kind, first, last)
        return last - first + 1

    def _number_follows(self, last: int) -> bool:
        for at in range(last + 1, min(last + 3, len(self.raw))):
            match = self.raw[at]
            if match.lastgroup in ("num", "range", "ymd", "dmy"):
                return True
            if match.lastgroup == "word":
                word = self.words[at]
                if re.match(r"\d", word) or any(x.number(word) is not None for x in self.lexicons):
                    return True
                if any(word in x.articles for x in self.lexicons) and at + 1 < len(self.words):
                    return any(_is_unit(x, self.words, at + 1) for x in self.lexicons)
                if word not in ("eur", "usd", "euro", "the", "i", "le", "gli"):
                    return False
            elif match.group() not in "€$£¥":
                return False
        return False

    def _number_word(self, at: int) -> int:
        word = self.words[at]
        for lex in self.lexicons:
            if word in lex.articles:
                after_op = bool(self.out) and self.out[-1].kind in ("op", "q", "dir")
                before_unit = at + 1 < len(self.words) and _is_unit(lex, self.words, at + 1)
                if after_op or (word == "one" and before_unit):
                    self._emit("num", "1", at)
                    return 1
            value = lex.number(word)
            if value is not None:
                total, taken = self._compound(lex, value, at)
                self._emit("num", _plain(total), at, at + taken - 1)
                return taken
        return 0

    def _compound(self, lex: Lexicon, total: Decimal, at: int) -> tuple[Decimal, int]:
        """``two hundred and five``: value, and how many words it took."""
        taken = 1
        while at + taken < len(self.words):
            word = self.words[at + taken]
            value = lex.number(word)
            if word == "hundred" and total < 100:
                total *= 100
            elif value is not None and value < 10 <= total < 100 and total % 10 == 0:
                total += value
            elif word == "and" and total >= 100 and at + taken + 1 < len(self.words):
                more = lex.number(self.words[at + taken + 1])
                if more is None or more >= 100:
                    break
                total += more
                taken += 1
            else:
                break
            taken += 1
        return total, taken

    def _single(self, at: int, text: str) -> int:
        word = self.words[at]
        bare = word.rstrip("'")
        if ordinal := _ORDINAL.fullmatch(word):
            self._emit("ord", ordinal[1], at)
        elif numbered := _NUMBERED.fullmatch(word):
            self._emit("num", numbered[1], at)
        elif (suffixed := _SUFFIXED.fullmatch(text)) and self._suffixed(at, suffixed):
            pass
        elif _is_identifier(text):
            self._emit("id", text.rstrip("'"), at)
        elif "." in text and not any(c.isdigit() for c in text):
            self._split(at, text)
        elif any(c.isdigit() for c in text) or text.endswith(("+", "#")) or "/" in text:
            self._emit("code", text, at)
        elif self._is_month(at, bare):
            self._emit("month", str(self._month(bare)), at)
        elif _is_acronym(text, self.shouting) or self._is_letter(at, text):
            self._emit("name", text.rstrip("'"), at)
        elif word.startswith("non-") and len(word) > 5:
            self._emit("neg", "neg", at)
            self._content(at, text[4:])
        elif not any(bare in x.fillers for x in self.lexicons):
            self._content(at, text.rstrip("'"))
        return 1

    def _split(self, at: int, text: str) -> None:
        """Two sentences without a blank between them."""
        for part in text.split("."):
            if not any(part.lower() in x.fillers for x in self.lexicons):
                self._content(at, part)
            self.clause += 1

    def _suffixed(self, at: int, match: re.Match[str]) -> bool:
        number, suffix = match[1], match[2].lower()
        value = parse_number(number, decimal_comma=self.language == "it")
        if value is None:
            return False
        if suffix == "k":
            self._emit("num", _plain(Decimal(value) * 1000), at)
            return True
        unit = _AFTER_NUMBER.get(suffix, "")
        for lex in self.lexicons:
            phrase = lex.find([suffix], 0)
            if phrase and phrase.otherwise.startswith(("unit:", "scale:")):
                unit = phrase.otherwise
        if not unit:
            return False
        self._emit("num", value, at)
        self._emit(*unit.partition(":")[::2], at)
        return True

    def _month(self, word: str) -> int | None:
        return next((x.months[word] for x in self.lexicons if word in x.months), None)

    def _is_month(self, at: int, word: str) -> bool:
        if self._month(word) is None:
            return False
        if len(word) > 3:
            return word != "march" or self.raw[at].group()[0].isupper()
        near = [self.raw[i] for i in (at - 1, at + 1) if 0 <= i < len(self.raw)]
        return any(m.lastgroup == "num" or m.group()[:1].isdigit() for m in near)

    def _is_letter(self, at: int, text: str) -> bool:
        """A single capital that names something: ``vitamin C``, but not an article or ``I``."""
        if len(text) != 1 or not text.isupper() or at == 0 or self.raw[at - 1].lastgroup == "stop":
            return False
        return text not in "AIEO" or any(self.words[at - 1] in x.class_nouns for x in self.lexicons)

    def _content(self, at: int, text: str) -> None:
        code: Any = self.language
        word = text.lower().replace("-", "").removesuffix("'s")
        terms = fold(word, code).split()
        if not terms:
            return
        # Of a text in no known language both stems are there; the shorter one is the safer key.
        self._emit("word", terms[-1] if code else min(terms, key=len), at)


def _literal(text: str) -> str:
    """A quoted value; a quoted sentence loses the comma or full stop that belongs around it."""
    flat = " ".join(text.split())
    return flat.rstrip(".,;") if flat.count(" ") > 2 else flat


def _is_unit(lex: Lexicon, words: Sequence[str], at: int) -> bool:
    phrase = lex.find(words, at) if words[at] != "\x00" else None
    return phrase is not None and phrase.otherwise.startswith(("unit:", "scale:"))


def _looks_like_a_name(text: str, shouting: bool) -> bool:
    """Capitals that are no shouted word: ``ET`` is not ``et``, ``OR`` in a shouted text is or."""
    return len(text) > 1 and text.isupper() and not shouting and text.isalpha() and len(text) <= 4


def _is_identifier(text: str) -> bool:
    if "_" in text:
        return True
    inner = text[1:]
    if any(c.isupper() for c in inner) and any(c.islower() for c in text) and "-" not in text:
        return "." not in text or text.split(".")[1][:1].islower()
    left, dot, right = text.partition(".")
    return (
        bool(dot) and left.islower() and right[:1].islower() and not any(c.isdigit() for c in text)
    )


def _is_acronym(text: str, shouting: bool) -> bool:
    bare = text.rstrip("'")
    return len(bare) > 1 and bare.isupper() and not shouting


def parse_number(text: str, *, decimal_comma: bool) -> str | None:
    """The canonical decimal of a written number; None for codes (``007``, ``1.2.3``).

    A single mark before three digits parts thousands or decimals by the habit of the language.
    """
    sign = "-" if text[0] in "-−" else ""
    body = text.lstrip("-−").replace("'", "")
    if len(body) > 1 and body[0] == "0" and body.isdigit():
        return None
    marks = [c for c in body if c in ".,"]
    if len(set(marks)) == 2:
        decimal = max(".,", key=body.rfind)
        body = body.replace("," if decimal == "." else ".", "").replace(decimal, ".")
    elif marks:
        mark, tail = marks[0], body.rsplit(marks[0], 1)[1]
        thousands = mark == ("." if decimal_comma else ",")
        grouped = all(len(p) == 3 for p in body.split(mark)[1:])
        if (thousands and grouped and len(tail) == 3) or (len(marks) > 1 and grouped):
            body = body.replace(mark, "")
        elif len(marks) > 1:
            return None
        else:
            body = body.replace(mark, ".")
    return sign + body if re.fullmatch(r"\d+(\.\d+)?", body) else None


def _plain(value: Decimal) -> str:
    return format(value.normalize(), "f")


def _dates(tokens: list[Token]) -> list[Token]:
    """The tokens with day, month and year joined into dates."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        found = _date_at(tokens, at)
        if found is None:
            out.append(tokens[at])
            at += 1
            continue
        value, n = found
        first, last = tokens[at], tokens[at + n - 1]
        text = first.text if n == 1 else " ".join(t.text for t in tokens[at : at + n])
        out.append(Token("date", value, text, first.start, last.end, first.clause))
        at += n
    return out


def _date_at(tokens: list[Token], at: int) -> tuple[str, int] | None:
    kinds = [t.kind for t in tokens[at : at + 3]]
    values = [t.value for t in tokens[at : at + 3]]

    def day(n: int) -> bool:
        return n < len(kinds) and kinds[n] in ("num", "ord") and _fits(values[n], 1, 31)

    def year(n: int) -> bool:
        return n < len(kinds) and kinds[n] == "num" and _fits(values[n], 1000, 2999)

    if day(0) and len(kinds) > 1 and kinds[1] == "month":
        stem = f"{int(values[1]):02d}-{int(values[0]):02d}"
        return (f"{values[2]}-{stem}", 3) if year(2) else (f"--{stem}", 2)
    if kinds[0] != "month":
        return None
    month = f"{int(values[0]):02d}"
    if year(1):
        return f"{values[1]}-{month}", 2
    if day(1):
        stem = f"{month}-{int(values[1]):02d}"
        return (f"{values[2]}-{stem}", 3) if year(2) else (f"--{stem}", 2)
    return f"--{month}", 1


def _fits(value: str, low: int, high: int) -> bool:
    return value.isdigit() and low <= int(value) <= high


_LIMITS: Final = ("num", "date")
_NEAR: Final = 4
"""Tokens between a comparison and what it compares with, at most."""
_REL_OPS: Final = {"since": ">=~", "until": "<=~", "before": "<", "after": ">", "within": "<=~"}


def _quantities(tokens: Sequence[Token]) -> list[Quantity]:
    found: list[Quantity] = []
    ops = _bound_ops(tokens)
    for at, token in enumerate(tokens):
        if token.kind != "num":
            continue
        value = Decimal(token.value)
        unit, scale = _unit_of(tokens, at)
        found.append(Quantity(value * scale, unit, ops.get(at, ""), token))
    return found


def _unit_of(tokens: Sequence[Token], at: int) -> tuple[str, Decimal]:
    scale = Decimal(1)
    after = at + 1
    if after < len(tokens) and tokens[after].kind == "scale":
        scale = Decimal(tokens[after].value)
        after += 1
    if after < len(tokens) and tokens[after].kind == "unit":
        return tokens[after].value, scale
    if (
        at
        and tokens[at - 1].kind == "unit"
        and tokens[at - 1].value in ("eur", "usd", "gbp", "jpy", "chf")
    ):
        return tokens[at - 1].value, scale
    return "", scale


def _bound_ops(tokens: Sequence[Token]) -> dict[int, str]:
    """Position of a number or date → the comparison that belongs to it."""
    found: dict[int, str] = {}
    for at, token in enumerate(tokens):
        if token.kind == "post":
            before = [i for i in range(max(0, at - _NEAR), at) if tokens[i].kind in _LIMITS]
            if before:
                found[before[-1]] = token.value
        op = _comparison(token)
        if op:
            _bind(tokens, at, op, found)
    return found


def _comparison(token: Token) -> str:
    if token.kind == "rel":
        return _REL_OPS.get(token.value, "")
    return token.value if token.kind == "op" and token.value not in ("like", "=") else ""


def _bind(tokens: Sequence[Token], at: int, op: str, found: dict[int, str]) -> None:
    """Gives the comparison to the next number or date; ``between`` takes the next two."""
    for i in range(at + 1, min(at + 1 + _NEAR, len(tokens))):
        if tokens[i].kind in _LIMITS:
            found.setdefault(i, op)
            if op != "between":
                return
        if tokens[i].kind in ("op", "rel", "lit"):
            return


def bound_dates(reading: Reading) -> dict[str, str]:
    """Date value → the comparison that belongs to it."""
    ops = _bound_ops(reading.tokens)
    return {t.value: ops.get(i, "") for i, t in enumerate(reading.tokens) if t.kind == "date"}
