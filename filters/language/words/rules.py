"""Languages' tokenizer rules as arrays for kernels: character classes, alternatives, special cases, phrases.

The file `data/rules.json.xz` holds the rules of spaCy's blank languages (see `data/README.md`). Every character set in
a language's rules is a union of classes, so that each character is looked up once and rules check only its class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import ALPHA, SPACE, Table, character_set, flags_by_point, table_of
from winnow.filters.language.kernels.lookup import strings_block
from winnow.filters.language.kernels.tables import language_table, tables
from winnow.schemas.errors import RecipeError

IS_SPACE, IS_ACTIVE, IS_DOT = 1, 2, 4
"""Flags of a class: it separates chunks, a rule may match if it is present, it is a full stop."""

_POINTS = 0x110000

Ints = npt.NDArray[np.int32]


class Rules(NamedTuple):
    """The rules that split one language's chunks, in few arrays, which are cheap to pass between kernels."""

    pages: npt.NDArray[np.uint16]  # with `flags`: the class of a code point
    flags: npt.NDArray[np.uint16]
    ints: Ints  # a head with the places of tables, see below, then the tables
    octets: npt.NDArray[np.uint8]
    parts: int  # number of alternatives


(
    PARTS,  # alternatives: PART_... integers each
    PREFIX_AT,  # by class of the first character: start of the list of alternatives to try; the next is its end
    SUFFIX_AT,  # by class of the last one
    INFIX_AT,  # by class of the first, or of what must follow an alternative that matches nothing
    FLOATING_AT,  # one list: prefixes that match anywhere, and then cut their length off the front
    SPECIALS,  # the block of chunks split by a table
    PIECE_AT,  # by special: start of its pieces, two integers each: begin and end in bytes
    WORDS,  # the block of the tokens of phrases
    ROOTS,  # by word: the node that it begins, or -1
    EDGE_AT,  # by node: start of its edges, two integers each: word and node
    FINAL,  # by node: whether a phrase ends here
    KINDS,  # of octets, by class: IS_...
    ASCII_KINDS,  # of octets, by byte
    HOST,  # of octets, by class: the sets of addresses
    LOWER,
    DIGIT,
    WORD,
    _HEAD,
) = range(18)

PART_BEHIND, PART_BEHINDS, PART_BODY, PART_BODIES, PART_AHEAD, PART_AHEADS, PART_NOT_AHEAD, PART_LOOP = range(8)
"""An alternative: the positions and numbers of its sets. A set is the position of its row of octets; ~position
repeats."""


def languages() -> tuple[str, ...]:
    """The languages with rules."""
    return tuple(sorted(tables()["languages"]))


@lru_cache(maxsize=1)
def sentence_ends() -> Table:
    """The characters that end a sentence when they are a token."""
    return character_set(tables()["sentence_ends"])


@lru_cache(maxsize=64)
def language_rules(language: str) -> Rules:
    """The rules of a language, by a code such as `en`."""
    whole = tables()
    if language not in whole["languages"]:
        raise RecipeError(f"no word rules for {language!r} (available: {', '.join(languages())})")
    found = language_table(language)
    url = whole["url"]
    kinds_of_rules = (PREFIX_AT, found["prefix"]), (SUFFIX_AT, found["suffix"]), (INFIX_AT, found["infix"])
    parts = [_Alternative(*one) for _, rules in kinds_of_rules for one in rules]
    used = sorted({number for part in parts for number in part.sets()} | set(url.values()))
    numbers = {number: index for index, number in enumerate(used)}
    classes, member, weights = _classes([whole["sets"][number] for number in used])
    parts = [part.renumbered(numbers) for part in parts]
    kinds = _kinds(member, weights, parts)
    points = np.arange(128)
    pack = _Pack(member)
    pack.octets(KINDS, kinds)
    pack.octets(ASCII_KINDS, kinds[classes.flags[classes.pages[0].astype(np.int64) * 256 + points]])
    for head, name in ((HOST, "host"), (LOWER, "lower"), (DIGIT, "digit"), (WORD, "word")):
        pack.head[head] = numbers[url[name]] * member.shape[1]
    rows = pack.parts(parts)
    low = 0
    for head, rules in kinds_of_rules:
        high = low + len(rules)
        keys = np.array([member[part.key(last=head == SUFFIX_AT)] for part in parts[low:high]])
        pack.lists(head, [(rows + 8 * (low + np.flatnonzero(column))).tolist() for column in keys.T])
        low = high
    pack.lists(FLOATING_AT, [[rows + 8 * row for row in found["floating"]]])
    pack.strings(SPECIALS, [row if isinstance(row, str) else str(row[0]) for row in found["specials"]])
    pack.lists(PIECE_AT, [_pieces(row) for row in found["specials"]])
    words, roots, edges, final = _tree(found["phrases"])
    pack.strings(WORDS, words)
    pack.ints(ROOTS, roots)
    pack.lists(EDGE_AT, edges)
    pack.ints(FINAL, final)
    return Rules(classes.pages, classes.flags, *pack.arrays(), len(parts))


class _Pack:
    """Builder of two arrays of concatenated tables, with a head that locates them."""

    def __init__(self, member: npt.NDArray[np.uint8]) -> None:
        self.head = [0] * _HEAD
        self._ints: list[npt.NDArray[np.int32]] = []
        self._octets = [member.tobytes()]
        self._classes = member.shape[1]
        self._at = _HEAD
        self._octets_at = member.size

    def arrays(self) -> tuple[Ints, npt.NDArray[np.uint8]]:
        """Both arrays."""
        ints = np.concatenate([np.array(self.head, np.int32), *self._ints])
        return ints, np.frombuffer(b"".join(self._octets), np.uint8)

    def octets(self, head: int, table: npt.NDArray[np.uint8]) -> None:
        """Bytes."""
        self.head[head] = self._octets_at
        self._octets.append(table.tobytes())
        self._octets_at += len(table)

    def ints(self, head: int, table: Sequence[int]) -> int:
        """Add integers; returns their start."""
        begun = self.head[head] = self._at
        self._ints.append(np.array(table, np.int32))
        self._at += len(table)
        return begun

    def lists(self, head: int, lists: Sequence[Sequence[int]]) -> None:
        """Add lists: the start of each, the end of the last, then their items."""
        first = self._at + len(lists) + 1
        places = np.cumsum([first, *map(len, lists)]).tolist()
        self.ints(head, [*places, *(number for numbers in lists for number in numbers)])

    def strings(self, head: int, strings: Sequence[str]) -> None:
        """Add a table of strings."""
        block, text = strings_block(strings, self._at, self._octets_at)
        self.ints(head, block.tolist())
        self._octets.append(text)
        self._octets_at += len(text)

    def parts(self, parts: Sequence["_Alternative"]) -> int:
        """Add alternatives followed by their sets; returns their start."""
        rows, items = list[int](), list[int]()
        first = self._at + 8 * len(parts)
        for part in parts:
            for sets in (part.behind, part.body, part.ahead):
                rows += [first + len(items), len(sets)]
                items += [item * self._classes if item >= 0 else ~(~item * self._classes) for item in sets]
            rows += [part.not_ahead * self._classes if part.not_ahead >= 0 else -1, part.loop]
        return self.ints(PARTS, [*rows, *items])


@dataclass(frozen=True, slots=True)
class _Alternative:
    """One alternative of a rule: the sets before it, its own (~set repeats), and those after it."""

    behind: list[int]
    body: list[int]
    ahead: list[int]
    not_ahead: int
    loop: int

    def key(self, last: bool) -> int:
        """The character set that decides whether to try it."""
        item = (self.body[-1] if last else self.body[0]) if self.body else self.ahead[0]
        return max(item, ~item)

    def sets(self) -> list[int]:
        found = [*self.behind, *(max(item, ~item) for item in self.body), *self.ahead]
        return found if self.not_ahead < 0 else [*found, self.not_ahead]

    def renumbered(self, numbers: dict[int, int]) -> "_Alternative":
        return _Alternative(
            [numbers[item] for item in self.behind],
            [numbers[item] if item >= 0 else ~numbers[~item] for item in self.body],
            [numbers[item] for item in self.ahead],
            numbers[self.not_ahead] if self.not_ahead >= 0 else -1,
            self.loop,
        )


def _classes(texts: list[str]) -> tuple[Table, npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The class of every code point, the sets of each class, and its expected frequency in text.

    The last two rows of the sets are whitespace and the full stop.
    """
    flags = flags_by_point()
    space = (flags & SPACE).astype(np.int8)
    sets = [_runs(text) for text in texts]
    sets += [np.flatnonzero(np.diff(space, prepend=0, append=0)), np.array([0x2E, 0x2F])]
    edges = np.unique(np.concatenate([[0], *sets]))
    edges = edges[edges < _POINTS]
    inside = np.stack([np.searchsorted(runs, edges, side="right") % 2 for runs in sets])
    columns: dict[bytes, int] = {}
    which = np.array([columns.setdefault(column.tobytes(), len(columns)) for column in np.packbits(inside, axis=0).T])
    kinds = inside[:, np.unique(which, return_index=True)[1]]
    if kinds.shape[1] > 255:
        raise RecipeError("the word rules need more than 255 classes of characters")
    of_point = np.repeat(which, np.diff(np.append(edges, _POINTS)))
    weights = np.bincount(of_point[(flags & ALPHA) != 0], minlength=kinds.shape[1])
    weights += 100 * np.bincount(of_point[0x30:0x3A], minlength=len(weights))
    weights += 1000 * np.bincount(of_point[0x61:0x7B], minlength=len(weights))
    return table_of(of_point.astype(np.uint16)), np.ascontiguousarray(kinds, np.uint8), weights


def _runs(text: str) -> npt.NDArray[np.int64]:
    """The alternating starts and ends of a set's ranges: an even number of ascending code points."""
    runs = [run.partition("-") for run in text.split()]
    return np.array([bound for low, _, high in runs for bound in (int(low, 16), int(high or low, 16) + 1)], np.int64)


def _kinds(
    member: npt.NDArray[np.uint8], weights: npt.NDArray[np.int64], parts: list[_Alternative]
) -> npt.NDArray[np.uint8]:
    """The flags of each class.

    No alternative can match a chunk without an active class: from each alternative that could, the least frequent piece
    is made active.
    """
    *_, spaces, dots = member
    idle = 1 - dots
    for part in parts:
        needed = [*part.behind, *(max(item, ~item) for item in part.body), *part.ahead]
        left = [member[item] & idle for item in needed]
        if all(piece.any() for piece in left):
            idle &= 1 - min(left, key=lambda piece: int((piece * weights).sum()))
    return np.asarray(IS_SPACE * spaces + IS_ACTIVE * (1 - idle) + IS_DOT * dots, np.uint8)


def _pieces(row: str | list[str | int]) -> list[int]:
    """The starts and ends of a special case's pieces, without spaces at their ends."""
    chunk, *sizes = [row] if isinstance(row, str) else row
    encoded = str(chunk).encode()
    bounds = list(accumulate(map(int, sizes or [len(encoded)]), initial=0))
    found = list[int]()
    for low, high in pairwise(bounds):
        piece = encoded[low:high]
        begin = low + len(piece) - len(piece.lstrip())
        if piece.strip():
            found += [begin, begin + len(piece.strip())]
    return found


def _tree(phrases: list[list[str]]) -> tuple[list[str], list[int], list[list[int]], list[int]]:
    """Runs of tokens as a tree: its words, each word's root node, every node's edges, and final nodes."""
    words = {word: number for number, word in enumerate(sorted({word for phrase in phrases for word in phrase}))}
    edges: list[dict[int, int]] = [{}]
    final = [0]
    for phrase in phrases:
        node = 0
        for word in phrase:
            if words[word] not in edges[node]:
                edges[node][words[word]] = len(edges)
                edges.append({})
                final.append(0)
            node = edges[node][words[word]]
        final[node] = 1
    roots = [edges[0].get(word, -1) for word in range(len(words))]
    return list(words), roots, [[item for pair in sorted(node.items()) for item in pair] for node in edges], final
