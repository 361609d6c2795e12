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
from winnow.schemas.languages.table import Language, ScriptRange, Table, language, language_name, script_ranges, table

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
