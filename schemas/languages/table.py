"""The table of languages next to this module, and the scripts of letters."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType

_SAME_SCRIPT = {"Hani": ("Hans", "Hant"), "Hang": ("Kore",)}


@dataclass(frozen=True, slots=True)
class Language:
    """A language of ISO 639-3, with its family and group."""

    code: str  # ISO 639-3
    name: str  # in English
    family: str | None  # Glottolog's; None for codes that are not languages, such as `und`
    group: str | None  # a commonly named branch, such as Germanic; else the family
    script: str | None  # the likely script in ISO 15924; None if CLDR has none
    macro: str | None  # its macrolanguage


@dataclass(frozen=True, slots=True)
class Table:
    """All languages, and codes that were merged into others."""

    languages: MappingProxyType[str, Language]
    retired: MappingProxyType[str, str]
    members: MappingProxyType[str, tuple[str, ...]]  # of a macrolanguage
    by_two_letters: MappingProxyType[str, str]  # ISO 639-1


@lru_cache(maxsize=1)
def table() -> Table:
    """The languages of ISO 639-3."""
    languages: dict[str, Language] = {}
    retired: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    by_two_letters: dict[str, str] = {}
    family: str | None = None
    group: str | None = None
    retirements = False
    for fields in _lines("languages.tsv"):
        if fields[0].startswith("@"):
            retirements = fields[0] == "@retired"
            family = fields[1] if len(fields) > 1 else None
            group = fields[-1] if len(fields) > 1 else None
        elif retirements:
            retired[fields[0]] = fields[1]
        else:
            code, two, script, macro, name = fields
            languages[code] = Language(code, name, family, group, script or None, macro or None)
            if two:
                by_two_letters[two] = code
            if macro:
                members.setdefault(macro, []).append(code)
    return Table(
        MappingProxyType(languages),
        MappingProxyType(retired),
        MappingProxyType({macro: tuple(found) for macro, found in members.items()}),
        MappingProxyType(by_two_letters),
    )


def language(code: str) -> Language | None:
    """The language of an ISO 639-3 code; a retired code gives its successor."""
    known = table()
    return known.languages.get(known.retired.get(code, code))


def language_name(code: str) -> str:
    """The English name for a code such as `jpn_Jpan` or `jpn`, with the script if it is not the usual one."""
    label, _, script = code.partition("_")
    known = language(label) or language(table().by_two_letters.get(label, ""))
    if known is None:
        return code
    usual = not script or known.script is None or known.script in (script, *_SAME_SCRIPT.get(script, ()))
    return known.name if usual else f"{known.name} in {script}"


@dataclass(frozen=True, slots=True)
class ScriptRange:
    """Consecutive letters of one script."""

    first: int  # code points, inclusive
    last: int
    script: str


@lru_cache(maxsize=1)
def script_ranges() -> tuple[ScriptRange, ...]:
    """Every letter that belongs to a script, in code point order."""
    return tuple(ScriptRange(int(first, 16), int(last, 16), script) for first, last, script in _lines("scripts.tsv"))


def _lines(name: str) -> Iterator[list[str]]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
