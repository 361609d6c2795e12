"""Read `data/rules.json.xz`: one line of Unicode classes and shared tables, then one line per language."""

import json
import lzma
from functools import lru_cache
from importlib.resources import files
from typing import TypedDict

Alternative = tuple[list[int], list[int], list[int], int, int]
"""The preceding sets, the body (~set repeats), the following sets, a set that must not follow or -1, a loop's start
or -1."""


class LanguageTable(TypedDict):
    """The rules of one language; sets by number."""

    prefix: list[Alternative]
    suffix: list[Alternative]
    infix: list[Alternative]
    floating: list[int]  # prefixes that may match anywhere
    specials: list[str | list[str | int]]  # a chunk that is one token, or a chunk and the bytes of each of its pieces
    phrases: list[list[str]]


class Tables(TypedDict):
    """The first line."""

    origin: str
    unicode: str  # the version of Unicode
    flags: list[int]  # alternately the start of a run of equal code points and its flags
    sentence_ends: str
    url: dict[str, int]
    sets: list[str]  # ranges of code points in hexadecimal
    languages: list[str]  # in the order of their lines


@lru_cache(maxsize=1)
def tables() -> Tables:
    """The tables that languages share, read once per process."""
    found: Tables = json.loads(_lines()[0])
    return found


def language_table(language: str) -> LanguageTable:
    """The rules of one of the languages."""
    found: LanguageTable = json.loads(_lines()[1 + tables()["languages"].index(language)])
    return found


@lru_cache(maxsize=1)
def _lines() -> list[bytes]:
    raw = (files("winnow.filters.language.kernels") / "data" / "rules.json.xz").read_bytes()
    return lzma.decompress(raw).split(b"\n")
