"""Which languages a list of words serves: those of its code, and those that one code usually stands for another of.

Lists are kept under the code that their makers chose, such as `fas`, and texts have the codes of identifiers, `pes`.
"""

from collections.abc import Iterable

from winnow.schemas.languages import USUAL_MEMBER, language, table

__all__ = ["covered_languages", "list_codes", "usual_code"]

_SAME = {**{member: macro for macro, member in USUAL_MEMBER.items()}, "pes": "fas", "tgl": "fil"}


def usual_code(code: str) -> str:
    """The code that lists of a language are kept under: its macrolanguage's where that usually means it."""
    return _SAME.get(code, code)


def list_codes(code: str) -> Iterable[str]:
    """The codes that a list for a language may have."""
    known = language(code)
    return (usual_code(code), *((known.macro,) if known and known.macro else ()))


def covered_languages(codes: Iterable[str]) -> frozenset[str]:
    """Every language that lists of these codes serve."""
    codes = tuple(codes)
    found = set(codes)
    found.update(usual_code(code) for code in codes)
    found.update(code for code, usual in _SAME.items() if usual in found)
    for code in tuple(found):
        found.update(table().members.get(code, ()))
    return frozenset(found)
