"""One text, read from left to right: raw matches become tokens, phrases become concepts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from memory_assets.domain.guards.figures import parse_number, plain_number, with_dates
from memory_assets.domain.guards.languages import LANGUAGE_CODES, lexicon, own_words
from memory_assets.domain.guards.lexicon import Lexicon, Phrase
from memory_assets.domain.guards.tokens import CONTENT, Token
from memory_assets.domain.text import fold

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


class Reader:
    """Works through one text once; open only for the length of :func:`read`."""

    def __init__(self, text: str, language: str | None) -> None:
        self.text = text
        self.raw = list(_RAW.finditer(text))
        self.words = [self._lower(m) for m in self.raw]
        self.language = self._language() or language
        self.lexicons = [lexicon(c) for c in ([self.language] if self.language else LANGUAGE_CODES)]
        letters = [c for c in text if c.isalpha()]
        self.shouting = sum(c.isupper() for c in letters) > 0.6 * len(letters) and len(letters) > 12
        self.out: list[Token] = []
        self.clause = 0

    def read(self) -> tuple[Token, ...]:
        at = 0
        while at < len(self.raw):
            at += self._step(at)
        return tuple(with_dates(self.out))

    @staticmethod
    def _lower(match: re.Match[str]) -> str:
        if match.lastgroup == "word":
            word = match.group().lower()
            return word[:-2] if word.endswith("'s") else word
        return match.group() if match.lastgroup == "sym" else "\x00"

    def _language(self) -> str | None:
        words = [w.rstrip("'") for w in self.words if w != "\x00"]
        for telling in (lambda c: lexicon(c).marks, own_words):
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
        if text in "&|":
            return self._concept("logic:and" if text == "&" else "logic:or", at, at)
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
                self._emit("num", plain_number(total), at, at + taken - 1)
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
            self._emit("num", plain_number(Decimal(value) * 1000), at)
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
