"""Real multilingual documents in quantity: pages of help, handbooks and guides, extracted by winnow's own kernels.

Two kinds of pages: short ones of a desktop's help in thirty languages, and the longer ones of a distribution's
handbook, installation guide, reference, FAQ and one long book in English. A document's language is what its package
says; a page that nobody has translated yet is English all the same, as happens on the web. Everything is cached
under `.cache/benchmarks`.
"""

import argparse
import hashlib
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs.pages import CACHE, help_pages, packaged_pages
from winnow.filters.extraction.charset import decode_page
from winnow.filters.extraction.extract_resiliparse import ResiliparseConfig, extract_resiliparse
from winnow.schemas.rows.extraction import PAGES

DOCUMENTS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
    ]
)
BOOKS = (
    *("anarchism", "debian-handbook", "installation-guide-amd64", "libreoffice-help-en-us"),
    *(f"debian-reference-{language}" for language in ("de", "en", "es", "fr", "id", "it", "ja", "pt", "pt-br")),
    *("debian-reference-zh-cn", "debian-reference-zh-tw"),
    *("developers-reference", *(f"developers-reference-{language}" for language in ("de", "fr", "it", "ja", "ru"))),
    *("maint-guide", *(f"maint-guide-{language}" for language in ("ca", "de", "es", "fr", "it", "ja", "ru", "vi"))),
    *("maint-guide-zh-cn", "maint-guide-zh-tw"),
    *("debian-faq", *(f"debian-faq-{language}" for language in ("de", "fr", "it", "ja", "ko", "nl", "pt", "ru"))),
    "debian-faq-zh-cn",
)
_BATCH = 256
_TAG = re.compile(r"([a-z]{2})(?:[-_]([A-Za-z]{2}|valencia))?")
_SUFFIX = re.compile(r"\.([a-z]{2}(?:-[a-z]{2})?)$")


def cached_documents(count: int) -> Path:
    """A Parquet file of this many documents (`DOCUMENTS`) in an order that mixes the languages, made once."""
    target = CACHE / f"documents-{count}.parquet"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".unfinished")
        with pq.ParquetWriter(unfinished, DOCUMENTS, compression="zstd") as writer:
            for batch in _documents(count):
                writer.write_batch(batch)
        unfinished.rename(target)
    return target


def language_of(page: Path) -> str:
    """The language that a page's file name or folder declares, such as `fr` or `zh-CN`; English where none does."""
    suffix = _SUFFIX.search(page.stem)
    folders = [part.removeprefix("maint-guide-") for part in page.parent.parts]
    tags = [suffix[1]] if suffix else folders[::-1]
    for tag in tags:
        found = _TAG.fullmatch(tag)
        if found:
            language, region = found.groups()
            if region and (language == "zh" or region.lower() in ("br", "valencia")):
                return f"{language}-{region.upper() if len(region) == 2 else region}"
            return language
    return "en"


def _documents(count: int) -> Iterator[pa.RecordBatch]:
    pages = [*help_pages(), *packaged_pages(list(BOOKS), "books", "books-packages")]
    named = {_name(page): page for page in pages}
    mixed = iter(sorted(named, key=lambda name: hashlib.blake2b(name.encode()).digest()))
    held = 0
    while held < count:
        names = list(islice(mixed, _BATCH))
        if not names:
            raise SystemExit(f"benchmarks.inputs.documents: there are only {held} documents; asked for {count}")
        batch = _extracted(names, [named[name] for name in names])[: count - held]
        held += batch.num_rows
        yield batch


def _name(page: Path) -> str:
    """Where the page lies inside its package."""
    return page.as_posix().partition("/usr/share/")[2]


def _extracted(names: list[str], pages: list[Path]) -> pa.RecordBatch:
    html = pa.array([decode_page(page.read_bytes(), None).text for page in pages], pa.large_string())
    urls = pa.array([f"https://help.example/{name}" for name in names])
    config = ResiliparseConfig(list_bullets=False)
    texts = extract_resiliparse(pa.RecordBatch.from_arrays([html, urls], schema=PAGES), config).column("text")
    languages = pa.array([language_of(page) for page in pages])
    batch = pa.record_batch([pa.array(names), languages, texts], names=DOCUMENTS.names)
    return batch.filter(pa.compute.greater(pa.compute.binary_length(texts), 0)).cast(DOCUMENTS)


def main() -> None:
    """`python -m benchmarks.inputs.documents N`: make the file and say where it is."""
    parser = argparse.ArgumentParser(description="Extract real documents in many languages into a Parquet file.")
    parser.add_argument("documents", type=int)
    target = cached_documents(parser.parse_args().documents)
    print(f"{target}  {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
