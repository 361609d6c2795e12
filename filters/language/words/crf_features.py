"""What khmernltk and pyvi tell their models of each syllable, made several times as fast, for the same words.

They build a dictionary for each syllable from scratch, in which most values are those of its neighbours' too, and
crfsuite turns each back into a list of names. Here it gets the names: of a text, as `key:value`; of what is true, its
key. What is false counts for nothing. Names stand in the packages' order, so that sums are the same to the last digit.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

Features: TypeAlias = list[list[bytes | str]]
"""The names of the features of each syllable."""

_KNOWN = 1 << 16  # syllables of which some features are kept in memory


def khmer_features(kind: Callable[[str], str], is_apart: Callable[[str], bool]) -> Callable[[Sequence[str]], Features]:
    """The features of clusters of characters, by khmernltk's kind of a cluster and whether it is no Khmer one."""

    def names(texts: Iterable[str]) -> tuple[bytes, ...]:
        return tuple(text.encode() for text in texts)

    @lru_cache(maxsize=_KNOWN)
    def own(one: str) -> tuple[tuple[bytes, ...], ...]:
        """What a cluster tells of itself, and of those before and behind it."""
        of, apart = kind(one), is_apart(one)
        beside = [names((f"kcc[{at}]:{one}", f"kcc[{at}]t:{of}")) for at in ("-1", "-2", "-3", "+1", "+2", "+3")]
        flags = [names((name,) if apart else ()) for name in ("ns-1", "ns+1", "ns+2")]
        return names((f"kcc:{one}", f"t:{of}", *(("ns",) if apart else ()))), *beside, *flags

    @lru_cache(maxsize=_KNOWN)
    def two(one: str) -> tuple[bytes, ...]:
        return names(f"kcc[{at}]:{one}" for at in ("-1:0", "-2:-1", "-3:-2", "+1:0", "+1:+2", "+2:+3"))

    def features(clusters: Sequence[str]) -> Features:
        pairs = [one + other for one, other in itertools.pairwise(clusters)]
        triples = [one + other for one, other in zip(pairs, clusters[2:], strict=False)]
        fours = [one + other for one, other in zip(triples, clusters[3:], strict=False)]
        ones, twos = [*map(own, clusters)], [*map(two, pairs)]
        last = len(clusters) - 1
        found: Features = []
        for at, one in enumerate(ones):
            told: list[bytes | str] = list(one[0])
            if at >= 1:
                before = ones[at - 1]
                told += (*before[1], twos[at - 1][0], *before[7])
            else:
                told.append(b"BOS")
            if at >= 2:
                told += (*ones[at - 2][2], twos[at - 2][1], f"kcc[-2:0]:{triples[at - 2]}")
            if at >= 3:
                told += (
                    *ones[at - 3][3],
                    f"kcc[-3:0]:{fours[at - 3]}",
                    f"kcc[-3:-1]:{triples[at - 3]}",
                    twos[at - 3][2],
                )
            if at < last:
                behind = ones[at + 1]
                told += (*behind[4], twos[at][3], *behind[8])
            else:
                told.append(b"EOS")
            if at < last - 1:
                behind = ones[at + 2]
                told += (*behind[5], twos[at + 1][4], f"kcc[0:+2]:{triples[at]}", *behind[9])
            if at < last - 2:
                told += (*ones[at + 3][6], twos[at + 2][5], f"kcc[+1:+3]:{triples[at + 1]}", f"kcc[0:+3]:{fours[at]}")
            found.append(told)
        return found

    return features


def vietnamese_features(pairs: Any, triples: Any) -> Callable[[Sequence[str]], Features]:
    """The features of syllables, by pyvi's sets of words of two and of three syllables."""

    @lru_cache(maxsize=_KNOWN)
    def own(one: str) -> tuple[tuple[bytes, ...], ...]:
        """What a syllable tells of itself, and of those behind and before it."""
        shapes = {"isupper": one.isupper(), "istitle": one.istitle(), "isdigit": one.isdigit()}

        def names(before: str, *shown: str) -> tuple[bytes, ...]:
            true = (f"{before}word.{shape}()" for shape in shown if shapes[shape])
            return tuple(name.encode() for name in (f"{before}word.lower():{one.lower()}", *true))

        return (
            (b"bias", *names("", "isupper", "istitle", "isdigit")),
            names("-1:", "istitle", "isupper"),
            names("+1:", "istitle", "isupper"),
        )

    def features(syllables: Sequence[str]) -> Features:
        are_two = [f"{one} {other}".lower() in pairs for one, other in itertools.pairwise(syllables)]
        are_three = [
            f"{one} {two} {three}".lower() in triples
            for one, two, three in zip(syllables, syllables[1:], syllables[2:], strict=False)
        ]
        ones = [own(one) for one in syllables]
        last = len(syllables) - 1
        found: Features = []
        for at, one in enumerate(ones):
            told: list[bytes | str] = list(one[0])
            if at > 0:
                told += ones[at - 1][1]
                if are_two[at - 1]:
                    told.append(b"-1:word.bi_gram()")
                if at > 1 and are_three[at - 2]:
                    told.append(b"-2:word.tri_gram()")
            if at < last:
                told += ones[at + 1][2]
                if are_two[at]:
                    told.append(b"+1:word.bi_gram()")
                if at < last - 1 and are_three[at]:
                    told.append(b"+2:word.tri_gram()")
            found.append(told)
        return found

    return features
