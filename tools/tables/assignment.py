"""Write `assignment.txt`: the segmentation that datatrove assigns to each language and script.

    python -m tools.tables.assignment TABLE [OUT]

TABLE is `tokenizer_assignment.csv` of the repository huggingface/datatrove (src/datatrove/assets). As there, the first
row of a language and script counts, and rows without a tokenizer are ignored.
"""

import csv
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from winnow.filters.language.words.scripts import ASSIGNMENT

_NAMES = {
    "SpaCyTokenizer": "spacy",
    "StanzaTokenizer": "stanza",
    "IndicNLPTokenizer": "indic",
    "WhitespaceTokenizer": "spacy_xx",  # it uses spaCy's multi-language tokenizer
    "KiwiTokenizer": "kiwipiepy",
    "ThaiTokenizer": "pythainlp",
    "KhmerTokenizer": "khmernltk",
    "LaoTokenizer": "laonlp",
    "TibetanTokenizer": "botok",
    "BurmeseTokenizer": "pyidaungsu",
}
_SPACY_PACKAGES = {"zh": "jieba", "ja": "sudachipy", "vi": "pyvi"}  # behind spaCy's interface


def name_of(kind: str, code: str) -> str:
    """Our name for a tokenizer."""
    name = _NAMES[kind]
    if name == "indic":
        return "indic_ur" if code == "ur" else "indic"  # it knows these two
    if name == "spacy" and code in _SPACY_PACKAGES:
        return _SPACY_PACKAGES[code]
    return f"{name}_{code}" if name in ("spacy", "stanza") else name


def assigned(rows: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    """Languages by the name of their tokenizer, both sorted."""
    found: dict[str, str] = {}
    for row in rows:
        if row["type"]:
            found.setdefault(f"{row['code_3']}_{row['script']}", name_of(row["type"], row["tok_code"]))
    names: dict[str, list[str]] = {name: [] for name in sorted(set(found.values()))}
    for language in sorted(found):
        names[found[language]].append(language)
    return names


def main(arguments: list[str]) -> None:
    """Read the table, invert it, write the result."""
    if len(arguments) not in (1, 2):
        raise SystemExit(__doc__)
    out = Path(arguments[1]) if len(arguments) == 2 else ASSIGNMENT
    with open(arguments[0], encoding="utf-8", newline="") as table:
        names = assigned(csv.DictReader(table))
    out.write_text("".join(f"{name}: {' '.join(languages)}\n" for name, languages in names.items()), "utf-8")
    print(f"{out}: {sum(map(len, names.values()))} languages, {len(names)} segmentations")


if __name__ == "__main__":
    main(sys.argv[1:])
