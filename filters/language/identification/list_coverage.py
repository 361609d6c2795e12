"""Languages covered by a word list: those of its code, and those that its code usually stands for.

Lists have the codes that their authors chose, such as `fas`; texts have the codes of language models, such as `pes`.
"""

from collections.abc import Iterable

from winnow.schemas.languages import USUAL_MEMBER, language, table

_SAME = {**{member: macro for macro, member in USUAL_MEMBER.items()}, "pes": "fas", "tgl": "fil"}


def usual_code(code: str) -> str:
    """The usual list code of a language: its macrolanguage's, if that usually means it."""
    return _SAME.get(code, code)


def list_codes(code: str) -> Iterable[str]:
    """The codes that a list for this language may have."""
    known = language(code)
    return (usual_code(code), *((known.macro,) if known and known.macro else ()))


def covered_languages(codes: Iterable[str]) -> frozenset[str]:
    """All languages covered by lists with these codes."""
    codes = tuple(codes)
    found = set(codes)
    found.update(usual_code(code) for code in codes)
    found.update(code for code, usual in _SAME.items() if usual in found)
    for code in tuple(found):
        found.update(table().members.get(code, ()))
    return frozenset(found)
