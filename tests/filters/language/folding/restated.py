"""Folding, restated slowly: strings of Python, a word at a time."""

import unicodedata

from winnow.filters.language.folding.characters import (
    LOOKALIKES_AT,
    characters,
    compositions,
    folded_character,
    is_stripped,
)

_PAIRS = compositions()


def _composed(first: str, second: str) -> str | None:
    if (ord(first), ord(second)) in _PAIRS:
        return chr(_PAIRS[ord(first), ord(second)])
    together = unicodedata.normalize("NFC", first + second)
    return together if len(together) == 1 and "\uac00" <= together <= "\ud7a3" else None


def _script(character: str) -> str:
    name = unicodedata.name(character[:1], "") if character[:1].isalpha() else ""
    return next((script for script in ("LATIN", "CYRILLIC", "GREEK") if name.startswith(script)), "")


def _in_word(character: str) -> bool:
    return character[0].isalnum() or character[0] == "_" or unicodedata.category(character[0])[0] == "M"


def _to_latin(character: str) -> str:
    tables, at = characters(case=True), ord(character) - LOOKALIKES_AT
    return chr(tables.to_latin[at]) if 0 <= at < len(tables.to_latin) and tables.to_latin[at] else ""


def _to_cyrillic(folded: str) -> str:
    alike = characters(case=True).to_cyrillic[ord(folded)] if len(folded) == 1 and folded.isascii() else 0
    return chr(alike) if alike else ""


def _unmixed(word: list[tuple[str, str]]) -> list[str]:
    """The folded characters of a word, in one script if it mixes scripts that look alike."""
    latin = [folded for _, folded in word if _script(folded) == "LATIN"]
    others = [original for original, folded in word if _script(folded) in ("CYRILLIC", "GREEK")]
    greek = any(_script(folded) == "GREEK" for _, folded in word)
    if not latin or not others:
        return [folded for _, folded in word]
    as_latin = all(_to_latin(one) for one in others)
    as_cyrillic = all(_to_cyrillic(one) for one in latin) and not greek and len(latin) <= 4 * len(others)
    if as_latin and (len(latin) >= len(others) or not as_cyrillic):
        return [_to_latin(original) or folded for original, folded in word]
    if as_cyrillic:
        return [_to_cyrillic(folded) or folded for _, folded in word]
    return [folded for _, folded in word]


def folded_text(text: str, *, case: bool) -> str:
    pairs = [(one, folded) for one in text if (folded := folded_character(one, case=case))]
    if not case:
        return "".join(folded for _, folded in pairs)
    written: list[str] = []
    at = 0
    while at < len(pairs):
        end = at + 1
        if _in_word(pairs[at][1]) and not is_stripped(pairs[at][0]):
            while end < len(pairs) and (_in_word(pairs[end][1]) or is_stripped(pairs[end][0])):
                end += 1
            written += _unmixed(pairs[at:end])
        else:
            written.append(pairs[at][1])
        at = end
    return _joined(written, [original for original, _ in pairs])


def _joined(written: list[str], originals: list[str]) -> str:
    found: list[str] = []
    for folded, original in zip(written, originals, strict=True):
        before = found[-1] if found and len(found[-1]) == 1 else None
        together = _composed(before, folded) if before and len(folded) == 1 else None
        if together is not None:
            found[-1] = together
        elif not is_stripped(original):
            found.append(folded)
    return "".join(found)
