"""Writes `selection.bin`: which words of the two pip packages are in the list `wordlists.core`.

    python -m tools.tables.selection LDNOOBW LDNOOBW2 SAFETEXT [OUT]

The first three are the files of the assets `wordlists.ldnoobw`, `wordlists.ldnoobw2` and `wordlists.safetext`; the
package wordfreq is needed. In a language of LDNOOBW, its words are taken. In other languages, those of LDNOOBWV2 that
are rare: that collection is full of everyday words (`click`, `button`, `has`), which frequency lists reveal. Languages
without a wordfreq list are taken only if clean pages were available for testing. Finally, words that such pages, or
medicine and law, use (`everyday.txt`) are removed. The output is hashes, so that no list is part of winnow.
"""

import sys
from pathlib import Path

from winnow.filters.language.lexicons.lists import Lists, joined, read_lists
from winnow.filters.language.lexicons.published_lists import SELECTION, word_key

EVERYDAY = SELECTION.with_name("everyday.txt")
_ZIPF = 3.5
"""Three in a million words: a more frequent word counts as everyday."""
_FREQUENCIES = {
    "bul": "bg", "cat": "ca", "ell": "el", "hin": "hi", "hrv": "sh", "ind": "id", "isl": "is", "lav": "lv", "lit": "lt",
    "mkd": "mk", "msa": "ms", "ron": "ro", "slk": "sk", "slv": "sl", "srp": "sh", "tam": "ta", "ukr": "uk", "vie": "vi",
}  # fmt: skip
_TESTED = ("est", "eus", "glg")


def selected(ldnoobw: Lists, ldnoobw2: Lists, safetext: Lists, everyday: Lists) -> dict[str, list[str]]:
    """The selected words of each language."""
    from wordfreq import zipf_frequency

    offered = joined([ldnoobw2, safetext])
    found: dict[str, list[str]] = {}
    for code, words in offered.items():
        usual = {word.casefold() for word in everyday.get(code, ())}
        wanted = {word.casefold() for word in ldnoobw.get(code, ())}
        rare: set[str] = set()
        if code in _FREQUENCIES:
            rare = {word for word in words if zipf_frequency(word, _FREQUENCIES[code]) < _ZIPF}
        elif code in _TESTED:
            rare = set(words)
        if code == "hin":  # LDNOOBW has it only in Latin letters
            rare = {word for word in rare if not word.isascii()}
        kept = [word for word in words if (word.casefold() in wanted or word in rare) and word.casefold() not in usual]
        if kept:
            found[code] = kept
    return found


def main(arguments: list[str]) -> None:
    """Read, select, write."""
    if len(arguments) not in (3, 4):
        raise SystemExit(__doc__)
    out = Path(arguments[3]) if len(arguments) == 4 else SELECTION
    ldnoobw, ldnoobw2, safetext = map(read_lists, arguments[:3])
    lists = selected(ldnoobw, ldnoobw2, safetext, read_lists(str(EVERYDAY)))
    out.write_bytes(b"".join(sorted({word_key(code, word) for code, words in lists.items() for word in words})))
    for code, words in sorted(lists.items()):
        print(code, len(words), f"of {len(ldnoobw[code])} of LDNOOBW" if code in ldnoobw else "")
    print(f"{out}: {out.stat().st_size} bytes, {len(lists)} languages: {' '.join(sorted(lists))}")


if __name__ == "__main__":
    main(sys.argv[1:])
