"""Real text for a probe of the scaling law: one file per language family, of `benchmarks.inputs.documents`.

The pages are a desktop's help in thirty languages: one subject, translated. Lines that two languages share (names,
code, pages that nobody has translated) go, and a line that comes again; an empty line ends a document.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents

DOCUMENTS = 26_000
FAMILIES = {
    "Germanic": ("da", "de", "nl", "sv"),
    "Romance": ("ca", "es", "fr", "gl", "it", "pt"),
    "Slavic": ("cs", "pl", "ru", "sk", "sl"),
    "Uralic": ("et", "fi", "hu"),
}
FAMILY_BYTES = 4_000_000
"""Of each family, its languages in equal parts: no run of the shipped grid goes through them twice."""
_LEAST_BYTES = 20  # shorter lines are labels of buttons


def write_texts(folder: Path, documents: int = DOCUMENTS, family_bytes: int = FAMILY_BYTES) -> dict[str, int]:
    """Make the files; returns their bytes by family."""
    table = pq.read_table(cached_documents(documents), columns=["language", "text"])
    rows = list(zip(table["language"].to_pylist(), table["text"].to_pylist(), strict=True))
    languages: dict[str, str | None] = {}  # of each line; None: of several
    for language, text in rows:
        for line in text.split("\n"):
            languages[line] = language if languages.get(line, language) == language else None
    of = {language: family for family, members in FAMILIES.items() for language in members}
    seen: set[str] = set()
    held: dict[str, list[str]] = defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    for language, text in rows:
        family = of.get(language)
        if family is None or sizes[language] >= family_bytes // len(FAMILIES[family]):
            continue
        own = []
        for line in text.split("\n"):
            if line not in seen and languages[line] == language and len(line.encode()) >= _LEAST_BYTES:
                seen.add(line)
                own.append(line)
        if own:
            document = "\n".join(own) + "\n\n"
            held[family].append(document)
            sizes[language] += len(document.encode())
    folder.mkdir(parents=True, exist_ok=True)
    for family in FAMILIES:
        (folder / f"{family}.txt").write_text("".join(held[family]), encoding="utf-8")
    return {family: sum(sizes[language] for language in members) for family, members in FAMILIES.items()}


def main() -> None:
    """`python -m benchmarks.inputs.probe_texts FOLDER`: make the files and say how large they are."""
    parser = argparse.ArgumentParser(description="Write real texts of four language families, a file a family.")
    parser.add_argument("folder", type=Path)
    for family, size in write_texts(parser.parse_args().folder).items():
        print(f"{family:<10}{size:>12,} bytes")


if __name__ == "__main__":
    main()
