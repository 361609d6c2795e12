"""Languages: codes, names, scripts, families, and the labels of language identifiers."""

from winnow.schemas.languages.groupings import GROUPINGS, Grouping, grouping
from winnow.schemas.languages.labels import (
    NO_LANGUAGE,
    UNKNOWN,
    USUAL_MEMBER,
    Label,
    Scheme,
    macrolanguage,
    read_label,
    same_language,
    scheme_of,
    three_letters,
)
from winnow.schemas.languages.table import Language, ScriptRange, Table, script_ranges, table

__all__ = [
    "GROUPINGS",
    "NO_LANGUAGE",
    "UNKNOWN",
    "USUAL_MEMBER",
    "Grouping",
    "Label",
    "Language",
    "Scheme",
    "ScriptRange",
    "Table",
    "grouping",
    "language",
    "language_name",
    "macrolanguage",
    "read_label",
    "same_language",
    "scheme_of",
    "script_ranges",
    "table",
    "three_letters",
]


def language(code: str) -> Language | None:
    """The language of an ISO 639-3 code; a retired code gives its successor."""
    known = table()
    return known.languages.get(known.retired.get(code, code))


_SAME_SCRIPT = {"Hani": ("Hans", "Hant"), "Hang": ("Kore",)}


def language_name(code: str) -> str:
    """The English name for a code such as `jpn_Jpan` or `jpn`, with the script if it is not the usual one."""
    label, _, script = code.partition("_")
    known = language(label) or language(table().by_two_letters.get(label, ""))
    if known is None:
        return code
    usual = not script or known.script is None or known.script in (script, *_SAME_SCRIPT.get(script, ()))
    return known.name if usual else f"{known.name} in {script}"
