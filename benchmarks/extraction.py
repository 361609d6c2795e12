"""How much of a page's true body every extractor finds, and how fast.

    python -m benchmarks.extraction FOLDER [--quick] [--json]

FOLDER holds `html/<id>.html.gz` and `ground-truth.json` ({id: {"articleBody", "url"}}). The score is that of the
Article Extraction Benchmark: shingles of four lower-cased word tokens as multisets, normalised for each page,
precision and recall averaged over pages. Rates are by CPU time. A folder of a hundred pages takes seconds, so
`--quick` changes nothing.
"""

import gzip
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson
import pyarrow as pa

from benchmarks.measuring.reporting import benchmark_arguments, machine
from winnow.filters.extractors import extractor_names, find_extractor
from winnow.schemas.rows.extraction import PAGES

SHINGLE = 4
Extract = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Page:
    """A saved page and what a person says its body is."""

    html: str
    url: str
    body: str


@dataclass(frozen=True, slots=True)
class Score:
    """One extractor's result over all pages."""

    name: str
    precision: float
    recall: float
    pages_per_second: float

    @property
    def f1(self) -> float:
        """The harmonic mean of the two."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def load(folder: Path) -> list[Page]:
    """Every page with its truth; a folder of another shape is one clear line."""
    truth = folder / "ground-truth.json"
    if not truth.is_file():
        sys.exit(f"benchmarks.extraction: no {truth}; expected html/<id>.html.gz beside a ground-truth.json")
    pages = []
    for name, row in sorted(orjson.loads(truth.read_bytes()).items()):
        file = folder / "html" / f"{name}.html.gz"
        if file.is_file():
            pages.append(
                Page(gzip.decompress(file.read_bytes()).decode(errors="replace"), row["url"], row["articleBody"])
            )
    if not pages:
        sys.exit(f"benchmarks.extraction: no page of {truth} is in {folder / 'html'}")
    return pages


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """The text's overlapping runs of four words; a shorter text is one run, and one without words is none."""
    words = re.findall(r"\w+", text.lower())
    if not words:
        return Counter()
    return Counter(tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1)))


def score(name: str, extract: Extract, pages: list[Page]) -> Score:
    """Run an extractor over the pages, timed without the scoring."""
    extract(pages[0].html, pages[0].url)  # imports and tables are not part of a page's cost
    started = time.process_time()
    texts = [extract(page.html, page.url) for page in pages]
    seconds = time.process_time() - started
    precisions, recalls = [], []
    for page, text in zip(pages, texts, strict=True):
        true, found = shingles(page.body), shingles(text)
        hit = (true & found).total()
        if found:  # as that benchmark has it: what was not found costs recall, not precision
            precisions.append(hit / found.total())
        if true:
            recalls.append(hit / true.total())
    return Score(name, _mean(precisions), _mean(recalls), len(pages) / seconds)


def _mean(values: list[float]) -> float:
    return statistics.mean(values) if values else 0.0


def ours(name: str) -> Extract:
    """One of winnow's extractors with its defaults, a page at a time."""
    extractor = find_extractor(name)
    config = extractor.config()

    def extract(html: str, url: str) -> str:
        page = pa.RecordBatch.from_arrays([pa.array([html], pa.large_string()), pa.array([url])], schema=PAGES)
        return extractor.kernel(page, config)["text"][0].as_py() or ""

    return extract


def bare_resiliparse(html: str, _: str) -> str:
    """Resiliparse's main content as its documentation calls it."""
    from resiliparse.extract.html2text import extract_plain_text

    text: str = extract_plain_text(html, main_content=True, alt_texts=False)
    return text


def bare_trafilatura(html: str, _: str) -> str:
    """trafilatura as its documentation calls it."""
    import trafilatura

    return trafilatura.extract(html, include_comments=False) or ""


def main() -> int:
    """Score and print."""
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    pages = load(options.folder)
    results = [score(name, ours(name), pages) for name in extractor_names()]
    peers = [score("resiliparse", bare_resiliparse, pages), score("trafilatura", bare_trafilatura, pages)]
    print(f"{len(pages)} pages\n{'extractor':<16}{'precision':>10}{'recall':>10}{'F1':>10}{'pages/s':>10}")
    for row in (*results, *peers):
        print(f"{row.name:<16}{row.precision:>10.3f}{row.recall:>10.3f}{row.f1:>10.3f}{row.pages_per_second:>10.1f}")
    best = max(results, key=lambda row: row.f1)
    if options.json:
        line = {
            "name": "extraction",
            "ours": best.f1,
            "unit": "F1",
            "peers": {row.name: row.f1 for row in peers},
            "extractors": {row.name: row.f1 for row in results},
            "pages_per_second": {row.name: row.pages_per_second for row in (*results, *peers)},
            "limit": None,
            "ratios": {row.name: round(best.f1 / row.f1, 3) for row in peers if row.f1},
            "machine": machine(),
        }
        print(orjson.dumps(line).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
