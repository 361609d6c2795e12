"""Writes `languages.tsv` and `scripts.tsv` from pinned packages.

    python -m tools.tables.languages WHEELS INTO

`WHEELS` is a folder with these wheels, downloaded without their dependencies:

    iso639-lang==2.6.3   ISO 639-3 codes and names, macrolanguages and retirements (SIL's tables)
    qwanqwa==1.2.1       Glottolog's classification (CC BY 4.0); nothing else is used
    langcodes==3.5.1     CLDR's likely script of a language (Unicode licence)

The scripts of code points are those of the installed `regex`, which carries the Unicode character database.
"""

import ast
import gzip
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import regex

from winnow.schemas.languages.labels import USUAL_MEMBER

SOURCES = {"iso639_lang": "2.6.3", "qwanqwa": "1.2.1", "langcodes": "3.5.1"}

GROUPS = {
    # Glottolog's node: the name of a group within its family. Without such a node the group is the family.
    "germ1287": "Germanic",
    "roma1334": "Romance",
    "ital1284": "Italic",
    "slav1255": "Slavic",
    "balt1263": "Baltic",  # Balto-Slavic without Slavic, which is found first
    "indo1321": "Indic",
    "iran1269": "Iranian",
    "nuri1243": "Nuristani",
    "celt1248": "Celtic",
    "grae1234": "Hellenic",
    "arme1241": "Armenian",
    "alba1267": "Albanian",
    "semi1276": "Semitic",
    "berb1260": "Berber",
    "cush1243": "Cushitic",
    "chad1250": "Chadic",
    "narr1281": "Bantu",
}

NOTES = (
    "# Codes: ISO 639-3 (SIL). Families: Glottolog (CC BY 4.0). Likely scripts: CLDR (Unicode licence).",
    "# Scripts of letters: Unicode character database (Unicode licence).",
)

COLLECTIVE = {
    # Model labels that are language groups in ISO 639-2: their names, and a language in the same family.
    "ber": ("Berber languages", "zgh"),
    "bih": ("Bihari languages", "bho"),
    "nah": ("Nahuatl languages", "nhn"),
    "oto": ("Otomian languages", "ote"),
}

PLACED = {"nwx": "new"}
"""Codes that Glottolog does not classify, with the code of a language in the same family."""

SCRIPTS = {
    # Scripts of languages with model labels for which CLDR has no script, or only the macrolanguage's.
    **dict.fromkeys(("bcl", "cbk", "diq", "hbs", "hmn", "ile", "mwl", "nah", "oto"), "Latn"),
    **dict.fromkeys(("azb", "pnb"), "Arab"),
    **dict.fromkeys(("bxr", "mhr", "xal"), "Cyrl"),
}

SPECIAL = {
    "und": "Undetermined",
    "zxx": "No linguistic content",
    "mul": "Multiple languages",
    "mis": "Uncoded languages",
}


@dataclass(slots=True)
class Classification:
    """Glottolog's tree over ISO 639-3 codes."""

    names: dict[str, str] = field(default_factory=dict)  # node: its name
    nodes: dict[str, str] = field(default_factory=dict)  # node: its glottocode
    parents: dict[str, str] = field(default_factory=dict)
    by_code: dict[str, str] = field(default_factory=dict)  # ISO 639-3: node

    def place(self, code: str) -> tuple[str, str] | None:
        """The family and the group of a language."""
        node = self.by_code.get(code)
        if node is None or node not in self.nodes:
            return None
        group = GROUPS.get(self.nodes[node])
        while (parent := self.parents.get(node)) is not None:
            node = parent
            group = group or GROUPS.get(self.nodes[node])
        return self.names[node], group or self.names[node]


def read_classification(wheel: zipfile.ZipFile) -> Classification:
    """Read Glottolog's tree from the compiled database."""
    database: Any = json.loads(gzip.decompress(wheel.read("qq/data/db.json.gz")))
    identities = database["resolver"]["identities"]
    tree = Classification()
    for node, entity in database["entities"].items():
        if not node.startswith("lang:"):
            continue
        identifiers = identities[node]["identifiers"]
        if glottocode := identifiers.get("glottocode"):
            tree.nodes[node] = glottocode
            tree.names[node] = entity["name"]
        if parent := entity["relations"].get("parent"):
            tree.parents[node] = parent[0]["target_id"]
    for name, node in database["resolver"]["id_to_canonical"].items():
        scheme, _, code = name.partition(":")
        if scheme == "iso_639_3":
            tree.by_code[code] = node
    return tree


def read_likely_scripts(wheel: zipfile.ZipFile) -> dict[str, str]:
    """CLDR's likely script of a language, by its shortest code."""
    likely: dict[str, str] = _assigned(wheel.read("langcodes/data_dicts.py"), "LIKELY_SUBTAGS")
    return {tag: full.split("-")[1] for tag, full in likely.items() if "-" not in tag and tag != "und"}


def language_lines(wheels: Path) -> Iterator[str]:
    """The lines of the table: `@ family, group`, followed by one line per language: code, two letters, script, macro,
    name."""
    with open_wheel(wheels, "qwanqwa") as wheel:
        tree = read_classification(wheel)
    with open_wheel(wheels, "langcodes") as wheel:
        likely = read_likely_scripts(wheel)
    with open_wheel(wheels, "iso639_lang") as wheel:
        iso = {part: json.loads(wheel.read(f"iso639/data/{part}.json")) for part in _ISO_FILES}
    languages: dict[str, Mapping[str, str]] = iso["iso-639"]["pt3"]
    names = {code: str(found["name"]) for code, found in languages.items()} | {
        code: name for code, (name, _) in COLLECTIVE.items()
    }
    members: dict[str, list[str]] = iso["iso-639_macro"]["macro"]
    macro_of = {member: macro for macro, found in members.items() for member in found if member in names}
    shortest = {code: found["pt1"] or code for code, found in languages.items()}
    placed: dict[tuple[str, str], list[str]] = {}
    for code in sorted(names.keys() - SPECIAL.keys()):
        macro = macro_of.get(code, "")
        usual = USUAL_MEMBER.get(macro) == code  # CLDR's script of the macrolanguage applies to this language
        script = SCRIPTS.get(code) or likely.get(shortest.get(code, code)) or ""
        if usual and not script:
            script = likely.get(shortest[macro], "")
        two = languages[code]["pt1"] if code in languages else ""
        line = "\t".join((code, two, script, macro, names[code]))
        placed.setdefault(_placed(code, tree, members), []).append(line)
    for (family, group), lines in sorted(placed.items()):
        yield f"@\t{family}\t{group}" if family != group else f"@\t{family}"
        yield from lines
    yield "@"
    yield from (f"{code}\t\t\t\t{name}" for code, name in sorted(SPECIAL.items()))
    yield "@retired"  # retired codes with their successors; for a split code, the first part
    retired: dict[str, Mapping[str, str]] = iso["iso-639_deprecated"]["id"]
    for code, found in sorted(retired.items()):
        target = found["change_to"] or next(iter(_CODE.findall(found["ret_remedy"])), "")
        if target in names and code not in names:
            yield f"{code}\t{target}"


_CODE = regex.compile(r"\[([a-z]{3})\]")
_ISO_FILES = ("iso-639", "iso-639_macro", "iso-639_deprecated")


def _placed(code: str, tree: Classification, members: Mapping[str, list[str]]) -> tuple[str, str]:
    if found := tree.place(COLLECTIVE[code][1] if code in COLLECTIVE else PLACED.get(code, code)):
        return found
    places = [place for member in members.get(code, ()) if (place := tree.place(member))]
    if not places:
        return "Unclassified", "Unclassified"
    families = sorted({family for family, _ in places})
    if len(families) > 1:  # the family of most members
        families.sort(key=lambda family: -sum(place[0] == family for place in places))
    groups = sorted({group for family, group in places if family == families[0]})
    return families[0], groups[0] if len(groups) == 1 else families[0]


def script_lines(wheels: Path) -> Iterator[str]:
    """Ranges of letters by script: `first, last, script`, in code point order; common letters have none."""
    with open_wheel(wheels, "langcodes") as wheel:
        known = _assigned(wheel.read("langcodes/data_dicts.py"), "ALL_SCRIPTS")
    every = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
    ranges: list[tuple[int, int, str]] = []
    for script in sorted(known):
        try:
            run = regex.compile(rf"[\p{{L}}&&\p{{Script={script}}}]+", regex.VERSION1)
        except regex.error:  # a variant such as Hans, or one that Unicode has not encoded
            continue
        found = [(ord(match[0][0]), ord(match[0][-1])) for match in run.finditer(every)]
        ranges += [(first, last, script) for first, last in found if script not in ("Zyyy", "Zinh", "Zzzz")]
    yield from (f"{first:X}\t{last:X}\t{script}" for first, last, script in sorted(set(ranges)))


def _assigned(source: bytes, name: str) -> Any:
    """The literal that a module assigns to a name, read without running the module."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            return ast.literal_eval(statement.value)
    raise SystemExit(f"langcodes holds no {name}")


def open_wheel(wheels: Path, package: str) -> zipfile.ZipFile:
    """The wheel of one of the pinned packages."""
    version = SOURCES[package]
    return zipfile.ZipFile(wheels / f"{package}-{version}-py3-none-any.whl")


def write(target: Path, lines: Iterable[str]) -> None:
    """Write a table, with a header that names its sources."""
    made_from = ", ".join(f"{package} {version}" for package, version in SOURCES.items())
    head = f"# Written by tools.tables.languages from {made_from}; not edited by hand."
    target.write_text("\n".join((head, *NOTES, *lines)) + "\n", encoding="utf-8")


def main() -> None:
    """Write both tables."""
    wheels, into = Path(sys.argv[1]), Path(sys.argv[2])
    write(into / "languages.tsv", language_lines(wheels))
    write(into / "scripts.tsv", script_lines(wheels))


if __name__ == "__main__":
    main()
