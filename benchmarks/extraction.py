"""How much of a page's true body every extractor finds, by kind of page, and how fast.

    python -m benchmarks.extraction [FOLDER] [--languages] [--quick] [--json]

Without a FOLDER, on the demo's pages in 46 languages, which are made and whose articles are known; English apart.
FOLDER holds `html/<id>.html.gz` and `ground-truth.json` ({id: {"articleBody", "url", "page_type"}}). Where pages have
a type, the score is that of WCXB, F1 of words as multisets, averaged over pages; of pages that are made (the demo's,
and those that say so) it counts runs of five characters, as some languages write no spaces. Else it is that of the
Article Extraction Benchmark: shingles of four words, normalised for each page, precision and recall as means of pages.
`--languages` shows pages by their `language` in place of their type. Rates are by CPU time; those of `resiliparse` and
`trafilatura`, whose text is the library's, are with the page's facts.

`main` learned from WCXB's development split: of pages in it, `python -m tools.main_content.train FOLDER --measure` says
how good it is on those that it has not seen. `--quick` takes every eighth page.
"""

import gzip
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import orjson
import pyarrow as pa
from fastwarc.warc import ArchiveIterator, WarcRecordType

from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import benchmark_arguments, machine
from winnow.filters.extraction.charset import decode_page
from winnow.filters.extractors import extractor_names, find_extractor
from winnow.runners.demo.crawl import make_crawl
from winnow.schemas.rows.extraction import PAGES

SHINGLE, RUN = 4, 5
BATCH = 64  # pages
PEERS = ("rs-trafilatura", "justext")  # in an environment of their own
LIBRARIES = ("resiliparse", "trafilatura")  # extractors whose text is a library's


@dataclass(frozen=True, slots=True)
class Page:
    """A saved page and what a person says its body is."""

    html: str
    url: str
    body: str
    kind: str  # empty where pages have none; of the demo's pages the language
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class Texts:
    """What an extractor made of all pages, and the CPU time that it took."""

    name: str
    texts: list[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class Score:
    """One extractor's result over all pages."""

    name: str
    precision: float
    recall: float
    f1: float
    by_kind: dict[str, float]
    pages_per_second: float


def load(folder: Path, every: int, key: str = "page_type") -> list[Page]:
    """Every page with its truth; a folder of another shape is one clear line."""
    truth = folder / "ground-truth.json"
    if not truth.is_file():
        sys.exit(f"benchmarks.extraction: no {truth}; expected html/<id>.html.gz beside a ground-truth.json")
    pages = []
    for name, row in sorted(orjson.loads(truth.read_bytes()).items())[::every]:
        file = folder / "html" / f"{name}.html.gz"
        if file.is_file():
            html = gzip.decompress(file.read_bytes()).decode(errors="replace")
            pages.append(Page(html, row["url"], row["articleBody"], row.get(key, ""), row.get("made", False)))
    if not pages:
        sys.exit(f"benchmarks.extraction: no page of {truth} is in {folder / 'html'}")
    return pages


def demo_pages(every: int) -> list[Page]:
    """The demo's pages whose articles are known, from archives that are whole."""
    with tempfile.TemporaryDirectory() as folder:
        make_crawl(Path(folder))
        truth = [orjson.loads(line) for line in (Path(folder) / "truth.jsonl").read_bytes().splitlines()]
        known = {row["url"]: row for row in truth if row.get("text")}
        pages = []
        for file in sorted(Path(folder).rglob("*.warc.gz")):
            try:
                for record in ArchiveIterator(file.open("rb"), record_types=WarcRecordType.response):
                    row = known.get(record.headers["WARC-Target-URI"])
                    if row is not None:
                        html = decode_page(record.reader.read(), record.http_charset).text
                        kind = "English" if row["language"] == "eng" else "others"
                        pages.append(Page(html, row["url"], row["text"], kind, is_made=True))
            except (OSError, ValueError) as error:
                print(f"benchmarks.extraction: {file.name}: {error}: the rest is left out, as planted", file=sys.stderr)
    return pages[::every]


def runs(text: str) -> Counter[str]:
    """The text's overlapping runs of five characters, without white space."""
    found = "".join(text.split())
    return Counter(found[at : at + RUN] for at in range(max(1, len(found) - RUN + 1)) if found)


def words(text: str) -> Counter[str]:
    """The words of a text."""
    return Counter(re.findall(r"\w+", text.lower()))


def shingles(text: str) -> Counter[str]:
    """The text's overlapping runs of four words; a shorter text is one run, and one without words is none."""
    found = re.findall(r"\w+", text.lower())
    if not found:
        return Counter()
    return Counter(" ".join(found[at : at + SHINGLE]) for at in range(max(1, len(found) - SHINGLE + 1)))


def score(found: Texts, pages: list[Page]) -> Score:
    """How good texts are."""
    typed = all(page.kind for page in pages)
    counted = runs if pages[0].is_made else words if typed else shingles
    precisions, recalls = [], []
    by_kind: dict[str, list[float]] = {}
    for page, text in zip(pages, found.texts, strict=True):
        true, own = counted(page.body), counted(text)
        hit = (true & own).total()
        if own:  # as that benchmark has it: what was not found costs recall, not precision
            precisions.append(hit / own.total())
        if true:
            recalls.append(hit / true.total())
        both = true.total() + own.total()
        by_kind.setdefault(page.kind, []).append(2 * hit / both if both else 1.0)
    precision, recall = _mean(precisions), _mean(recalls)
    f1 = _mean([one for some in by_kind.values() for one in some])
    if not typed:
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    kinds = {kind: _mean(some) for kind, some in sorted(by_kind.items()) if kind}
    return Score(found.name, precision, recall, f1, kinds, len(pages) / found.seconds)


def _mean(values: list[float]) -> float:
    return statistics.mean(values) if values else 0.0


def ours(name: str, pages: list[Page]) -> Texts:
    """What one of winnow's extractors makes of the pages with its defaults, in batches as a run has them."""
    extractor = find_extractor(name)
    config = extractor.config()

    def extract(some: list[Page]) -> list[str]:
        columns = [pa.array([page.html for page in some], pa.large_string()), pa.array([page.url for page in some])]
        made_of = extractor.kernel(pa.RecordBatch.from_arrays(columns, schema=PAGES), config)
        return [text or "" for text in made_of["text"].to_pylist()]

    extract(pages[:1])  # imports and tables are not part of a page's cost
    started = time.process_time()
    texts = [text for first in range(0, len(pages), BATCH) for text in extract(pages[first : first + BATCH])]
    return Texts(name, texts, time.process_time() - started)


_PEERS = """
import json, sys, time
def rs(html, url):
    return rs_trafilatura.extract(html, url=url).main_content or ""
def just(html, url):
    stop = justext.get_stoplist("English")
    return "\\n".join(one.text for one in justext.justext(html, stop) if not one.is_boilerplate)
if sys.argv[1] == "rs-trafilatura":
    import rs_trafilatura
    extract = rs
else:
    import justext
    extract = just
pages = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
def tried(html, url):
    try:
        return extract(html, url)
    except Exception:
        return ""
tried(*pages[0])
started = time.process_time()
texts = [tried(*page) for page in pages]
print(json.dumps([time.process_time() - started, texts]))
"""


def of_peer(name: str, pages: list[Page]) -> Texts:
    """What a peer in an environment of its own makes of the pages; one that it raises on has no text."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(f"{orjson.dumps([page.html, page.url]).decode()}\n" for page in pages)
        file.flush()
        command = [str(peer_python("extraction")), "-c", _PEERS, name, file.name]
        said = subprocess.run(command, capture_output=True, check=True).stdout
    seconds, texts = orjson.loads(said)
    return Texts(name, texts, seconds)


def main() -> int:
    """Score and print."""
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--languages", action="store_true", help="by the language of pages, not by their type")
    options = parser.parse_args()
    every = 8 if options.quick else 1
    key = "language" if options.languages else "page_type"
    pages = load(options.folder, every, key) if options.folder else demo_pages(every)
    results = [score(ours(name, pages), pages) for name in extractor_names() if name not in LIBRARIES]
    peers = [score(of_peer(name, pages), pages) for name in PEERS]
    peers += [score(ours(name, pages), pages) for name in LIBRARIES]
    kinds = list(results[0].by_kind)
    head = "".join(f"{kind[:8]:>10}" for kind in kinds)
    print(f"{len(pages)} pages\n{'extractor':<16}{'precision':>10}{'recall':>10}{'F1':>10}{head}{'pages/s':>10}")
    for row in (*results, *peers):
        by_kind = "".join(f"{row.by_kind[kind]:>10.3f}" for kind in kinds)
        line = f"{row.name:<16}{row.precision:>10.3f}{row.recall:>10.3f}{row.f1:>10.3f}{by_kind}"
        print(f"{line}{row.pages_per_second:>10.1f}")
    best = max(results, key=lambda row: row.f1)
    if options.json:
        line_of = {
            "name": "extraction",
            "ours": best.f1,
            "unit": "F1",
            "peers": {row.name: row.f1 for row in peers},
            "extractors": {row.name: row.f1 for row in results},
            "by_kind": {row.name: row.by_kind for row in (*results, *peers)},
            "pages_per_second": {row.name: row.pages_per_second for row in (*results, *peers)},
            "limit": None,
            "ratios": {row.name: round(best.f1 / row.f1, 3) for row in peers if row.f1},
            "machine": machine(),
        }
        print(orjson.dumps(line_of).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
