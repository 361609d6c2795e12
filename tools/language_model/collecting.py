"""Reads all sources once and keeps what is learned from, by source and label."""

from collections.abc import Iterator
from pathlib import Path

from tools.language_model.cleaning import texts_by_label
from tools.language_model.sources import FICTION, SOURCES


def collect(root: Path, out: Path) -> None:
    """Write the texts of every source of unpacked packages as lines of label and text."""
    out.mkdir(parents=True, exist_ok=True)
    english: set[str] = set()
    for source in (*SOURCES, FICTION):
        target = out / f"{source.name}.tsv"
        if target.exists():
            english |= {text.lower() for label, text in collected(out, source.name) if label == "eng_Latn"}
            continue
        labelled = texts_by_label(source, source.read(root), english)
        lines = [f"{label}\t{text}\n" for label, texts in sorted(labelled.items()) for text in texts]
        unfinished = target.with_suffix(".unfinished")
        unfinished.write_text("".join(lines), encoding="utf-8")
        unfinished.replace(target)
        print(
            f"{source.name}: {len(labelled)} labels, {len(lines):,} texts, {target.stat().st_size / 1e6:.1f} MB",
            flush=True,
        )


def collected(folder: Path, source: str) -> Iterator[tuple[str, str]]:
    """The labels and texts of one source."""
    with open(folder / f"{source}.tsv", encoding="utf-8") as stream:
        for line in stream:
            label, _, text = line.rstrip("\n").partition("\t")
            yield label, text
