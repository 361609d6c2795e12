"""Document counts by language, group and family, from the summary of a store."""

from dataclasses import dataclass

from winnow.schemas.languages import language
from winnow.schemas.summary import StoreSummary

LANGUAGE_LAYER = "text.language"
UNCLASSIFIED = "(unclassified)"


@dataclass(frozen=True, slots=True)
class LanguageCounts:
    """Documents by language and script, and by group and family."""

    rows: int  # measured documents
    codes: dict[str, int]
    groups: dict[str, int]
    families: dict[str, int]
    other: int  # in languages that are not listed individually
    mismatches: dict[str, int]  # guesses in a script that the language is not written in, such as `jpn_Latn`


def family_of(code: str) -> str:
    """The family of a language and script, such as `Indo-European` of `swe_Latn`."""
    known = language(code.partition("_")[0])
    return (known.family if known else None) or UNCLASSIFIED


def language_counts(summary: StoreSummary) -> LanguageCounts | None:
    """The counts of the language layer; None if no language was identified."""
    layer = summary.layer(LANGUAGE_LAYER)
    column = layer.column("code") if layer is not None else None
    mismatch = layer.column("mismatch") if layer is not None else None
    if column is None or not column.top:
        return None
    codes = {value.value: value.count for value in column.top}
    refused = {} if mismatch is None else {value.value: value.count for value in mismatch.top}
    groups: dict[str, int] = {}
    families: dict[str, int] = {}
    for code, count in codes.items():
        known = language(code.partition("_")[0])
        group = (known.group if known else None) or UNCLASSIFIED
        family = family_of(code)
        groups[group] = groups.get(group, 0) + count
        families[family] = families.get(family, 0) + count
    return LanguageCounts(column.values, codes, groups, families, column.other, refused)
