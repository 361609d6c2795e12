"""Checks the codes of languages, scripts and families that a recipe names: texts have codes such as `deu_Latn`."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from winnow.schemas.languages import grouping, language, script_ranges
from winnow.schemas.languages.table import table
from winnow.schemas.problems import nearest, shown, suggestion

_CODE = re.compile(r"([a-z]{3})_([A-Z][a-z]{3})")
_NONE: Final = frozenset({"unknown", "und"})
_COMPOSED: Final = frozenset({"Hans", "Hant", "Jpan", "Kore", "Zyyy", "Zxxx"})  # no letter has one of these alone


def why_no_code(value: str, what: str) -> str:
    """Why `value` is no language code of a text, and what to write instead; empty if it may be one.

    `what` names the column of codes, such as `text.language.code`.
    """
    if value in _NONE:
        return ""
    code, _, script = value.partition("_")
    known = language(table().by_two_letters.get(code, code))
    if known is None and code != "und":
        near = nearest(value, _usual_codes()) or nearest(code, _usual_codes())
        hint = f" (did you mean {near!r}?)" if near else "; write it as plans show it, such as deu_Latn"
        return f"no language has the code {shown(value)}{hint}"
    if _CODE.fullmatch(value):
        return f"{shown(value)}: {said}" if (said := why_no_script(script)) else ""
    written = f"{code if known is None else known.code}_{(known and known.script) or 'Latn'}"
    return f"{what} is never {shown(value)}, as codes have a script: write {written!r}"


def why_no_script(value: str, _: str = "") -> str:
    """Why no text is in this script; empty if one may be."""
    return "" if value in _scripts() else f"no script has the code {shown(value)}{suggestion(value, _scripts())}"


def why_no_label(value: str, what: str) -> str:
    """Why no text has this language, which is written without a script; empty if one may."""
    if value in (*_NONE, "zxx") or value in table().languages:
        return ""
    code = value.partition("_")[0]
    known = language(table().by_two_letters.get(code, code))
    if known is not None:
        return f"{what} is never {shown(value)}: write {known.code!r}"
    return f"no language has the code {shown(value)}{suggestion(value, table().languages)}"


def _why_no_group(by: str) -> Callable[[str, str], str]:
    def why(value: str, _: str) -> str:
        names = grouping(by).groups()
        return "" if value in names else f"there is no {by} {shown(value)}{suggestion(value, names)}"

    return why


CLOSED: Final[Mapping[str, Callable[[str, str], str]]] = {
    "text.language.code": why_no_code,
    "text.language.label": why_no_label,
    "text.language.macrolanguage": why_no_label,
    "text.language.cld2": why_no_label,
    "text.language.script": why_no_script,
    "text.language.text_script": why_no_script,
    "text.language.family": _why_no_group("family"),
    "text.language.group": _why_no_group("group"),
    "caption.language.code": why_no_code,
    "caption.language.label": why_no_label,
}
"""Columns that have names out of a closed set, each with what says why a text is none of them."""


@lru_cache(maxsize=1)
def _usual_codes() -> tuple[str, ...]:
    return tuple(f"{one.code}_{one.script}" for one in table().languages.values() if one.script is not None)


@lru_cache(maxsize=1)
def _scripts() -> frozenset[str]:
    usual = {one.script for one in table().languages.values() if one.script is not None}
    return frozenset(usual | {block.script for block in script_ranges()} | _COMPOSED)
