"""Write `filters/language/kernels/data/rules.json.xz`: tokenizer rules of spaCy's blank languages, and Unicode classes.

Runs under an interpreter that has spaCy (the peer `datatrove` has it), and needs nothing else:
`PEER/bin/python benchmarks/inputs/word_rules.py OUTPUT LANGUAGE...`. The rules are spaCy's, under the MIT licence; see
`filters/language/kernels/data/README.md`.

spaCy writes its rules as regular expressions of one shape: (what stands before)(sets of characters)(what follows).
Each expression is taken apart into such alternatives, in the order in which `re` tries them. A language with an
expression of another shape is refused here, never approximated.
"""

import json
import lzma
import re
import re._constants as c  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import spacy  # type: ignore[import-not-found]
from spacy.lang.tokenizer_exceptions import URL_MATCH  # type: ignore[import-not-found]
from spacy.pipeline import Sentencizer  # type: ignore[import-not-found]
from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found]

_LAST = sys.maxunicode
Ranges = tuple[tuple[int, int], ...]


class UnsupportedError(ValueError):
    """A rule that is not of the shape above."""


@dataclass(frozen=True)
class Piece:
    """A set of characters, once, or as often as it goes."""

    members: Ranges
    many: bool = False


@dataclass(frozen=True)
class Alternative:
    """One way in which a rule matches."""

    behind: tuple[Ranges, ...] = ()
    body: tuple[Piece, ...] = ()
    ahead: tuple[Ranges, ...] = ()
    not_ahead: Ranges = ()
    loop: int = -1  # the pieces from here on may repeat
    begins: bool = False
    ends: bool = False


def merged(ranges: list[tuple[int, int]]) -> Ranges:
    """The same code points in ascending ranges that do not touch."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """Every other code point."""
    found, at = [], 0
    for low, high in ranges:
        if at < low:
            found.append((at, low - 1))
        at = high + 1
    if at <= _LAST:
        found.append((at, _LAST))
    return tuple(found)


@lru_cache
def category(pattern: str) -> Ranges:
    """The code points that a class such as `\\w` takes."""
    match = re.compile(pattern).match
    return merged([(point, point) for point in range(_LAST + 1) if match(chr(point))])


_CATEGORIES = {
    c.CATEGORY_DIGIT: r"\d",
    c.CATEGORY_NOT_DIGIT: r"\D",
    c.CATEGORY_SPACE: r"\s",
    c.CATEGORY_NOT_SPACE: r"\S",
    c.CATEGORY_WORD: r"\w",
    c.CATEGORY_NOT_WORD: r"\W",
}


def members(op: Any, value: Any) -> Ranges:
    """The code points of a node that takes one character."""
    if op is c.LITERAL:
        return ((value, value),)
    if op is c.NOT_LITERAL:
        return complement(((value, value),))
    ranges: list[tuple[int, int]] = []
    negate = False
    for kind, item in value:
        if kind is c.NEGATE:
            negate = True
        elif kind is c.LITERAL:
            ranges.append((item, item))
        elif kind is c.RANGE:
            ranges.append((item[0], item[1]))
        elif kind is c.CATEGORY:
            ranges += category(_CATEGORIES[item])
        else:
            raise UnsupportedError(str(kind))
    return complement(merged(ranges)) if negate else merged(ranges)


def alternatives(nodes: Any) -> list[Alternative]:
    """What a parsed expression is, in the order in which it is tried."""
    found = [Alternative()]
    for node in nodes:
        found = [joined(left, right) for left in found for right in options(node)]
        if len(found) > 2000:
            raise UnsupportedError("too many alternatives")
    return found


def options(node: Any) -> list[Alternative]:
    """What one node of an expression is."""
    op, value = node
    if op in (c.LITERAL, c.NOT_LITERAL, c.IN):
        return [Alternative(body=(Piece(members(op, value)),))]
    if op is c.BRANCH:
        return [one for branch in value[1] for one in alternatives(branch)]
    if op is c.SUBPATTERN:
        return alternatives(value[3])
    if op is c.AT and value is c.AT_BEGINNING:
        return [Alternative(begins=True)]
    if op is c.AT and value is c.AT_END:
        return [Alternative(ends=True)]
    if op is c.MAX_REPEAT:
        return repeats(*value)
    if op in (c.ASSERT, c.ASSERT_NOT):
        side, inner = value
        looks = [tuple(piece.members for piece in plain(one)) for one in alternatives(inner)]
        if op is c.ASSERT:
            return [Alternative(behind=look) if side < 0 else Alternative(ahead=look) for look in looks]
        if side > 0 and len(looks) == 1 and len(looks[0]) == 1:
            return [Alternative(not_ahead=looks[0][0])]
    raise UnsupportedError(f"{op} {value}")


def plain(one: Alternative) -> tuple[Piece, ...]:
    """The pieces of an alternative that is nothing but single characters."""
    if one != Alternative(body=one.body) or any(piece.many for piece in one.body):
        raise UnsupportedError("a look at more than characters")
    return one.body


def repeats(low: int, high: Any, inner: Any) -> list[Alternative]:
    """A greedy repeat: of one set without bound, of anything plain a few times, or of a group at the end."""
    ones = alternatives(inner)
    if high is c.MAXREPEAT:
        if len(ones) != 1 or ones[0] != Alternative(body=ones[0].body):
            raise UnsupportedError("a repeat of alternatives")
        if len(ones[0].body) == 1 and low == 1:
            return [Alternative(body=(replace(ones[0].body[0], many=True),))]
        if low == 0 and len(ones[0].body) > 1:
            return [Alternative(body=ones[0].body, loop=0)]  # `joined` makes sure that the same group stands before
        raise UnsupportedError("an unbounded repeat")
    if high > 4:
        raise UnsupportedError("a long repeat")
    found = []
    for times in range(high, low - 1, -1):
        ways = [Alternative()]
        for _ in range(times):
            ways = [joined(left, right) for left in ways for right in ones]
        found += ways
    return found


def joined(left: Alternative, right: Alternative) -> Alternative:
    """One after the other."""
    if left == Alternative() and right.loop < 0:
        return right
    if left == Alternative() and right.body[: right.loop]:
        return right
    if right.loop >= 0 and left.loop < 0 and left.body[-len(right.body) :] == right.body:
        return replace(left, loop=len(left.body) - len(right.body))  # (group)* after the same group: once or more
    if (right.behind and left.body) or ((left.ahead or left.not_ahead) and (right.body or right.behind)):
        raise UnsupportedError("a look in the middle")
    if (
        (left.ends and right.body)
        or (right.begins and left.body)
        or (left.loop >= 0 and right != Alternative())
        or right.loop >= 0
    ):
        raise UnsupportedError("an anchor or a loop in the middle")
    return Alternative(
        behind=left.behind + right.behind,
        body=left.body + right.body,
        ahead=left.ahead + right.ahead,
        not_ahead=left.not_ahead or right.not_ahead,
        loop=-1,
        begins=left.begins or right.begins,
        ends=left.ends or right.ends,
    )


def disjoint(one: Ranges, other: Ranges) -> bool:
    """Whether no code point is in both."""
    return not any(low <= end and begin <= high for low, high in one for begin, end in other)


def checked(found: list[Alternative], kind: str) -> list[Alternative]:
    """The alternatives of a rule of this kind, if the runtime's matching without going back is exact for them."""
    if kind == "prefix" and sum(not one.begins for one in found) > 1:
        raise UnsupportedError("prefixes anywhere")
    for one in found:
        if not one.body and (kind != "infix" or not one.ahead):
            raise UnsupportedError("an empty match")
        floats = kind == "prefix" and not one.begins
        if floats and (one != Alternative(body=one.body) or not one.body[-2].many):
            raise UnsupportedError("a prefix anywhere but <...>")
        if (kind != "prefix" and one.begins) or (kind == "suffix") != one.ends:
            raise UnsupportedError("an anchor")
        many = [index for index, piece in enumerate(one.body) if piece.many]
        for index in many:
            last = index == len(one.body) - 1
            if not last and not disjoint(one.body[index].members, one.body[index + 1].members):
                raise UnsupportedError("a repeat that may have to give back")
            if last and any(not disjoint(one.body[index].members, look) for look in one.ahead[:1]):
                raise UnsupportedError("a repeat before a look")
        if (kind == "prefix" and one.behind) or (kind == "suffix" and (one.ahead or one.not_ahead or one.loop >= 0)):
            raise UnsupportedError("a look over the edge")
        if kind == "suffix" and many and (one.behind or len(many) > 1 or len(one.body) > 2 or not one.body[-1].many):
            raise UnsupportedError("a suffix that is more than a run")
        if many and one.behind and (many[0] or not disjoint(one.behind[-1], one.body[0].members)):
            raise UnsupportedError("a repeat after a look")
    return found


@dataclass
class Sets:
    """The sets of code points that rules name by number."""

    texts: list[str] = field(default_factory=list)
    numbers: dict[Ranges, int] = field(default_factory=dict)

    def number(self, ranges: Ranges) -> int:
        """The number of a set."""
        if ranges not in self.numbers:
            self.numbers[ranges] = len(self.texts)
            self.texts.append(" ".join(f"{low:x}-{high:x}" if low < high else f"{low:x}" for low, high in ranges))
        return self.numbers[ranges]


def encoded(one: Alternative, sets: Sets) -> list[Any]:
    """An alternative as the file has it: behind, body (negative numbers repeat: ~set), ahead, not ahead, loop."""
    body = [~sets.number(piece.members) if piece.many else sets.number(piece.members) for piece in one.body]
    return [
        [sets.number(ranges) for ranges in one.behind],
        body,
        [sets.number(ranges) for ranges in one.ahead],
        sets.number(one.not_ahead) if one.not_ahead else -1,
        one.loop,
    ]


def language(name: str, sets: Sets) -> dict[str, Any]:
    """The rules of one blank language."""
    tokenizer = spacy.blank(name).tokenizer
    if type(tokenizer) is not Tokenizer or tokenizer.token_match or not tokenizer.faster_heuristics:
        raise UnsupportedError("a tokenizer of its own")
    if tokenizer.url_match is not URL_MATCH and tokenizer.url_match.__self__ != URL_MATCH.__self__:
        raise UnsupportedError("addresses of its own")
    searches = {
        "prefix": tokenizer.prefix_search,
        "suffix": tokenizer.suffix_search,
        "infix": tokenizer.infix_finditer,
    }
    found: dict[str, Any] = {}
    for kind, search in searches.items():
        expression = search.__self__
        if expression.flags != re.UNICODE:
            raise UnsupportedError("flags")
        parsed = parser.parse(expression.pattern)
        parts = checked(alternatives(parsed), kind)
        found[kind] = [encoded(one, sets) for one in parts]
        if kind == "prefix":
            found["floating"] = [index for index, one in enumerate(parts) if not one.begins]
    bare = Tokenizer(
        tokenizer.vocab,
        prefix_search=tokenizer.prefix_search,
        suffix_search=tokenizer.suffix_search,
        infix_finditer=tokenizer.infix_finditer,
        url_match=tokenizer.url_match,
    )
    specials, phrases = [], []
    for text, tokens in sorted(tokenizer.rules.items()):
        if not text.strip() or re.fullmatch(r"\w+\n", text):
            continue  # whitespace, of which no word is made; also behind a word that no rule would split
        if re.search(r"[^\S ]|  |^ ", text):
            raise UnsupportedError(f"whitespace in {text!r}")
        if not text.endswith(" "):  # no chunk and no span of tokens ends with a space
            specials.append([text, *(len(token[65].encode()) for token in tokens)] if len(tokens) > 1 else text)
        if any((tokenizer.find_prefix(text), tokenizer.find_infix(text), tokenizer.find_suffix(text), " " in text)):
            phrases.append([token.text for token in bare(text)])
    return {**found, "specials": specials, "phrases": phrases}


def flags() -> Iterator[tuple[int, int]]:
    """Where a run of equal code points begins, and its flags as `filters/language/kernels/classes.py` names them."""
    before = 0
    for point in range(_LAST + 1):
        one = chr(point)
        kind = unicodedata.category(one)
        now = (
            (one.isspace() << 0)
            + (one.isalpha() << 1)
            + (one.isdigit() << 2)
            + (one.isdecimal() << 3)
            + ((kind[0] == "P") << 4)
            + ((kind[0] == "S") << 5)
            + (one.isupper() << 6)
            + (one.islower() << 7)
            + ((kind[0] == "M") << 8)
            + ((len(f"a{one}b".splitlines()) > 1) << 9)
            + ((kind == "Cc") << 10)
            + ((kind == "Cf") << 11)
        )
        if now != before:
            yield point, now
        before = now


def main(output: str, names: list[str]) -> None:
    """Write the file."""
    sets = Sets()
    url = {
        "word": category(r"\w"),
        "digit": category(r"\d"),
        "host": merged([(0x41, 0x5A), (0x61, 0x7A), (0x30, 0x39), (0xA1, 0xFFFF)]),
        "lower": members(*parser.parse("[" + spacy.lang.char_classes.ALPHA_LOWER + "]")[0]),
    }
    numbers = {name: sets.number(ranges) for name, ranges in url.items()}
    languages: dict[str, Any] = {}
    for name in names:
        try:
            languages[name] = language(name, sets)
        except (UnsupportedError, ImportError) as error:
            print(f"{name}: left out: {str(error)[:100]}", file=sys.stderr)
    whole = {
        "origin": f"spaCy {spacy.__version__}, MIT licence, (c) 2016-2024 ExplosionAI GmbH and others",
        "unicode": unicodedata.unidata_version,
        "flags": [number for run in flags() for number in run],
        "sentence_ends": "".join(sorted(Sentencizer.default_punct_chars)),
        "url": numbers,
        "sets": sets.texts,
        "languages": list(languages),
    }
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in (whole, *languages.values())]
    raw = "\n".join(lines).encode()
    with open(output, "wb") as file:
        file.write(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME))
    print(f"{output}: {len(raw)} bytes, {len(languages)} languages, {len(sets.texts)} sets", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
