"""Measuring text: our operators against datatrove's filters, a bare fastText loop, and our own kernels without Beam.

    python -m benchmarks.annotate [--quick] [--json]

- `datatrove`: its four filters in a row, as its pipeline runs them: a document that one drops never reaches the next.
  Nothing is written between them. C4 stands last, for it alone changes texts, so that all see the same text as ours.
- `datatrove_all`: the same, but every filter sees every document, as ours measure every document for all rules.
- `fasttext`: a bare loop over the model of `text.language`, which is asked for the same: one language a document.
- `kernels`: what is left of our kernels by `winnow annotate` on a store, from its start to the published generation.

Both of the last run over the documents four times.

Verdicts and languages are compared, and must be equal. One core each (pinned), start-up included, the same documents in
thirty languages, median of three. Rates are documents per CPU-second; `--quick` says those of the full run
(`benchmarks.measuring.reporting`).
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import Amounts, Measured, benchmark_arguments, compared, measure, show, timed
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN, read_label

OPERATORS = ("text.gopher", "text.fineweb", "text.c4")
PRESETS = ("gopher@datatrove", "fineweb", "c4@paper")
TIMES = 4  # over the documents where we are compared with a loop in the same process
MANY, FEW = 50_000, 5_000  # documents
QUICK_MANY, QUICK_FEW = 15_000, 1_000
SMALL = 200  # documents: hardly more than start-up, but of all languages
FLOORS = {"datatrove": 50.0, "fasttext": 0.95, "kernels": 0.9}

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  documents: {{root: {root}, files: ["*.parquet"], class: web, key: id, columns: {{text: text}}}}
text: samples.text
annotate: [{operators}]
"""

VERDICTS = """
import sys
import pyarrow.parquet as pq
from benchmarks.annotate import OPERATORS, PRESETS
from winnow.filters.operators import find_operator
from winnow.filters.presets import find_preset
from winnow.pipelines.assets import AssetFiles
import duckdb
import pyarrow as pa
from winnow.pipelines.reading.conditions import nested
rules = [rule for name in PRESETS for rule in find_preset(name).rules]
query = "SELECT NOT (" + " OR ".join(f"coalesce(({rule.drop}), false)" for rule in rules) + ") FROM rows"
loaded = []
for name in OPERATORS:
    operator = find_operator(name)
    loaded.append((name, operator.load(operator.config(), AssetFiles())))
file, kept, judge = sys.argv[1:]
connection = duckdb.connect(config={"enable_external_access": "false", "threads": "1"})
def batches():
    for _ in range(1 if judge == "judge" else TIMES):
        with pq.ParquetFile(file) as parquet:
            yield from parquet.iter_batches(2048, columns=["id", "text"], use_threads=False)
with open(kept, "w") as out:
    for batch in batches():
        columns = {}
        for name, kernel in loaded:
            layer = kernel(batch.select(["text"]))
            columns |= {f"{name}.{column}": layer.column(column) for column in layer.schema.names}
        if judge == "judge":
            connection.register("rows", pa.Table.from_batches([nested(columns, batch.num_rows)]))
            verdicts = connection.execute(query).fetchall()
            out.writelines(f"{name}\\n" for name, (keep,) in zip(batch["id"].to_pylist(), verdicts) if keep)
"""

DATATROVE = """
import sys
import pyarrow.parquet as pq
from datatrove.data import Document
from datatrove.pipeline.filters import C4QualityFilter, FineWebQualityFilter
from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter
file, kept, how = sys.argv[1:]
filters = [GopherRepetitionFilter(), GopherQualityFilter(), FineWebQualityFilter(), C4QualityFilter()]
def documents():
    with pq.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches(2048, columns=["id", "text"], use_threads=False):
            for row in batch.to_pylist():
                yield Document(text=row["text"], id=row["id"])
with open(kept, "w") as out:
    if how == "in_a_row":
        stream = documents()
        for one in filters:
            stream = one.run(stream)
        out.writelines(f"{document.id}\\n" for document in stream)
    else:
        for document in documents():
            if all([one.filter(document) is True for one in filters]):
                out.write(f"{document.id}\\n")
"""

LANGUAGES = """
import sys
import pyarrow.parquet as pq
from winnow.filters.operators import find_operator
from winnow.pipelines.assets import AssetFiles
operator = find_operator("text.language")
kernel = operator.load(operator.config(second_opinion=False, max_paragraphs=0, alternatives=1), AssetFiles())
file, found, _ = sys.argv[1:]
def batches():
    for _ in range(TIMES):
        with pq.ParquetFile(file) as parquet:
            yield from parquet.iter_batches(2048, columns=["text"], use_threads=False)
with open(found, "w") as out:
    for batch in batches():
        layer = kernel(batch)
        for status, label in zip(layer["status"].to_pylist(), layer["label"].to_pylist()):
            out.write(f"{label if status == 'ok' else status}\\n")
"""

FASTTEXT = """
import sys
import fasttext
import pyarrow.parquet as pq
file, found, model = sys.argv[1:]
predict = fasttext.load_model(model).predict
def batches():
    for _ in range(TIMES):
        with pq.ParquetFile(file) as parquet:
            yield from parquet.iter_batches(2048, columns=["text"], use_threads=False)
with open(found, "w") as out:
    for batch in batches():
        for text in batch["text"].to_pylist():
            out.write(predict(text.replace("\\n", " "))[0][0] + "\\n")
"""


def main() -> int:
    """Measure, compare and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    rounds = 1 if options.quick else 3
    many, few = (
        Amounts(quick if options.quick else full, full, SMALL) for full, quick in ((MANY, QUICK_MANY), (FEW, QUICK_FEW))
    )
    often = Amounts(TIMES * many.now, TIMES * many.full, TIMES * many.small)
    datatrove = str(peer_python("datatrove"))
    Path(".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=".cache") as scratch:
        folder = Path(scratch).absolute()

        def script(python: str, code: str, answers: str, argument: str, times: int = 1) -> Callable[[int], Measured]:
            filled = code.replace("TIMES", str(TIMES))

            def run(documents: int) -> Measured:
                file = cached_documents(documents // times).absolute()
                return _run([python, "-c", filled, str(file), str(folder / answers), argument])

            return run

        cases = {
            "winnow, verdicts": (many, script(sys.executable, VERDICTS, "ours", "judge")),
            "datatrove": (few, script(datatrove, DATATROVE, "theirs", "in_a_row")),
            "datatrove_all": (few, script(datatrove, DATATROVE, "theirs_all", "all")),
            "winnow, languages": (often, script(sys.executable, LANGUAGES, "languages", "", TIMES)),
            "fasttext": (often, script(sys.executable, FASTTEXT, "labels", _model(), TIMES)),
            "winnow, annotate": (often, lambda documents: _annotate(folder, documents // TIMES)),
            "kernels": (often, script(sys.executable, VERDICTS, "none", "measure", TIMES)),
        }
        for case in ("winnow, verdicts", "winnow, languages"):
            cases[case][1](QUICK_FEW)  # what is compiled, is compiled once a machine
        rows = {}
        for case, (amounts, run) in cases.items():
            rows[case] = row = timed(case, "documents", amounts, run, rounds)
            print(f"{case}: {row.rate:,.0f} documents/CPU-s", file=sys.stderr, flush=True)
        same_verdicts(folder, cached_documents(few.now))
        same_languages(folder)
    report = compared(
        "annotate",
        "documents/CPU-s",
        rows["winnow, verdicts"],
        {case: row for case, row in rows.items() if not case.startswith("winnow")},
        {"fasttext": rows["winnow, languages"], "kernels": rows["winnow, annotate"]},
        floors=FLOORS,
        rows=list(rows.values()),
        quick=options.quick,
    )
    return show(report, options.json)


def same_verdicts(folder: Path, sample: Path) -> None:
    """Every document of the sample is kept by both or by none."""
    names = set(pq.read_table(sample, columns=["id"])["id"].to_pylist())
    ours = set((folder / "ours").read_text().splitlines()) & names
    for answers in ("theirs", "theirs_all"):
        theirs = set((folder / answers).read_text().splitlines())
        if ours != theirs:
            some = ", ".join(sorted(ours ^ theirs)[:3])
            raise SystemExit(f"benchmarks.annotate: {len(ours ^ theirs)} verdicts differ from datatrove's: {some}")


def same_languages(folder: Path) -> None:
    """Every document that we name a language for has the label of the bare loop."""
    ours = (folder / "languages").read_text().splitlines()
    theirs = (folder / "labels").read_text().splitlines()
    differ = 0
    for label, other in zip(ours, theirs, strict=True):
        found = read_label(other.removeprefix("__label__"), "wikipedia")
        differ += label not in (UNKNOWN, NO_LANGUAGE, "no_letters") and (found is None or found.code != label)
    if differ:
        raise SystemExit(f"benchmarks.annotate: {differ} of {len(ours)} languages differ from the bare loop's")


def _model() -> str:
    from winnow.pipelines.assets import AssetFiles

    return AssetFiles().path("lid.176")


def _ingested(folder: Path, documents: int) -> tuple[Path, Path]:
    """A store that holds the documents `TIMES` times, and the recipe that measures a copy of it, `store`."""
    held, root = folder / f"ingested-{documents}", folder / f"documents-{documents}"
    recipe, operators = folder / f"{documents}.yaml", ", ".join(OPERATORS)
    if not root.exists():
        root.mkdir()
        for number in range(TIMES):
            shutil.copyfile(cached_documents(documents), root / f"{number}.parquet")
        recipe.write_text(RECIPE.format(store=held, root=root, operators=operators))
        _run([sys.executable, "-m", "winnow", "ingest", str(recipe), "--workers", "1"])
        recipe.write_text(RECIPE.format(store=folder / "store", root=root, operators=operators))
    return held, recipe


def _annotate(folder: Path, documents: int) -> Measured:
    """The stage on a store that has nothing but samples."""
    held, recipe = _ingested(folder, documents)
    store = folder / "store"
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(held, store)
    return _run([sys.executable, "-m", "winnow", "annotate", str(recipe), "--workers", "1"])


def _run(command: list[str]) -> Measured:
    pinned = ["taskset", "-c", "0", *command] if shutil.which("taskset") else command
    return measure(pinned, {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})


if __name__ == "__main__":
    sys.exit(main())
