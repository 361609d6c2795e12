"""WARC to committed store on one worker, against bare loops with the same extractor and against datatrove.

    python -m benchmarks.ingest [--quick] [--json]

- `bare_kernel`, `bare_kernel_resiliparse`: FastWARC and the same extractor, with its links, images and parts, rows
  discarded: what is left to us.
- `bare`: FastWARC and Resiliparse's main content alone, text discarded, against `resiliparse`: less work.
- `datatrove`: its WarcReader + Trafilatura + ParquetWriter against our `main`; with Resiliparse on both sides
  (`datatrove_same_extractor`), and with trafilatura on both (`datatrove_both_trafilatura`).

One core each (pinned), start-up included, the same file, median of three. Rates are pages per CPU-second; `--quick`
says those of the full run (`benchmarks.measuring.reporting`).
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.inputs.pages import cached_warc
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import Amounts, Measured, benchmark_arguments, compared, measure, show, timed

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  crawl: {{root: {root}, files: ["{name}"], class: web}}
extract: {{{extractor}: {{}}}}
text: extract.{extractor}.text
"""

BARE = """
import sys
from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
pages = 0
for record in ArchiveIterator(open(sys.argv[1], "rb"), record_types=WarcRecordType.response):
    body = record.reader.read()
    text = bytes_to_str(body, record.http_charset or detect_encoding(body))
    extract_plain_text(text, main_content=True, alt_texts=False, links=False, list_bullets=False)
    pages += 1
print(pages)
"""

BARE_KERNEL = """
import sys
import pyarrow as pa
from fastwarc.warc import ArchiveIterator, WarcRecordType
from winnow.filters.extraction.charset import decode_page
from winnow.filters.extractors import find_extractor
from winnow.schemas.rows.extraction import PAGES
extractor = find_extractor(sys.argv[2])
pages, held = 0, []
def work(held):
    columns = [pa.array([html for html, _ in held], pa.large_string()), pa.array([url for _, url in held])]
    extractor.kernel(pa.RecordBatch.from_arrays(columns, schema=PAGES), extractor.config())
for record in ArchiveIterator(open(sys.argv[1], "rb"), record_types=WarcRecordType.response):
    held.append((decode_page(record.reader.read(), record.http_charset).text, record.headers["WARC-Target-URI"]))
    pages += 1
    if len(held) == 512:
        work(held)
        held = []
work(held)
print(pages)
"""

DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.extractors import Trafilatura
from datatrove.pipeline.extractors.base import BaseExtractor
from datatrove.pipeline.readers import WarcReader
from datatrove.pipeline.writers import ParquetWriter

class MainContent(BaseExtractor):
    name = "main content"
    def __init__(self):
        super().__init__()
    def extract(self, text):
        from resiliparse.extract.html2text import extract_plain_text
        return extract_plain_text(text, main_content=True, alt_texts=False, links=False, list_bullets=False)

if __name__ == "__main__":
    folder, name, out, extractor = sys.argv[1:]
    step = Trafilatura(favour_precision=True) if extractor == "trafilatura" else MainContent()
    LocalPipelineExecutor(
        pipeline=[WarcReader(folder, glob_pattern=name), step, ParquetWriter(out)],
        tasks=1,
        workers=1,
        logging_dir=out + "-logs",
    ).run()
"""


FLOORS = {"bare_kernel": 0.85, "datatrove": 10.0}
MANY, SOME, FEW = 30_000, 6_000, 1_500  # pages: fewer where they take longer
QUICK_MANY, QUICK_SOME, QUICK_FEW = 6_000, 3_000, 600
SMALL = 100  # pages: hardly more than start-up


def main() -> int:
    """Measure and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    rounds = 1 if options.quick else 3
    many, some, few = (
        Amounts(quick if options.quick else full, full, SMALL)
        for full, quick in ((MANY, QUICK_MANY), (SOME, QUICK_SOME), (FEW, QUICK_FEW))
    )
    Path(".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=".cache") as scratch:
        folder = Path(scratch).absolute()
        cases: dict[str, tuple[Amounts, Callable[[int], Measured]]] = {
            "winnow, main": (many, lambda pages: _winnow(folder, pages, "main")),
            "bare_kernel": (many, lambda pages: _bare(BARE_KERNEL, pages, "main")),
            "winnow, resiliparse": (many, lambda pages: _winnow(folder, pages, "resiliparse")),
            "bare_kernel_resiliparse": (many, lambda pages: _bare(BARE_KERNEL, pages, "resiliparse")),
            "bare": (many, lambda pages: _bare(BARE, pages)),
            "datatrove_same_extractor": (some, lambda pages: _datatrove(folder, pages, "main_content")),
            "winnow, trafilatura": (few, lambda pages: _winnow(folder, pages, "trafilatura")),
            "datatrove": (few, lambda pages: _datatrove(folder, pages, "trafilatura")),
        }
        for extractor in ("main", "resiliparse", "trafilatura"):
            _winnow(folder, SMALL, extractor)  # what is compiled, is compiled once a machine
        rows = {}
        for case, (amounts, run) in cases.items():
            rows[case] = row = timed(case, "pages", amounts, run, rounds)
            print(f"{case}: {row.rate:,.0f} pages/CPU-s", file=sys.stderr, flush=True)
    peers = {case: row for case, row in rows.items() if not case.startswith("winnow")}
    report = compared(
        "ingest",
        "pages/CPU-s",
        rows["winnow, main"],
        peers | {"datatrove_both_trafilatura": rows["datatrove"]},
        {
            "datatrove_both_trafilatura": rows["winnow, trafilatura"],
            **dict.fromkeys(
                ("bare", "bare_kernel_resiliparse", "datatrove_same_extractor"), rows["winnow, resiliparse"]
            ),
        },
        floors=FLOORS,
        rows=list(rows.values()),
        quick=options.quick,
    )
    return show(report, options.json)


def _bare(code: str, pages: int, *more: str) -> Measured:
    return _run([sys.executable, "-c", code, str(cached_warc(pages)), *more])


def _winnow(folder: Path, pages: int, extractor: str) -> Measured:
    warc = cached_warc(pages).absolute()
    store = folder / "store"
    shutil.rmtree(store, ignore_errors=True)
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE.format(store=store, root=warc.parent, name=warc.name, extractor=extractor))
    return _run([sys.executable, "-m", "winnow", "ingest", str(recipe), "--workers", "1"])


def _datatrove(folder: Path, pages: int, extractor: str) -> Measured:
    python, warc = str(peer_python("datatrove")), cached_warc(pages).absolute()
    script, out = folder / "trove.py", folder / "out"
    script.write_text(DATATROVE)
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(f"{out}-logs", ignore_errors=True)
    return _run([python, str(script), str(warc.parent), warc.name, str(out), extractor])


def _run(command: list[str]) -> Measured:
    pinned = ["taskset", "-c", "0", *command] if shutil.which("taskset") else command
    return measure(pinned, {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})


if __name__ == "__main__":
    sys.exit(main())
