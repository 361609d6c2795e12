"""What engines cost: every stage on `local`, Spark and Flink beside each other, and beside the same work without Beam.

    python -m benchmarks.engines [--quick] [--markdown] [--json] [--rows N] [--engines local,spark,flink]
        [--stages ingest,annotate]

Each stage is a command of its own with two workers, over the same files and the same recipe, in a store of each
engine's own on the same disk. It runs on a few rows as well, which is what starting takes; the rest of the time gives
the rate after it. The whole recipe runs over a few rows before, so that nothing is compiled in what is timed. `kernels`
are the bare kernels of annotate and `tasks` the tasks of a stage, both in as many processes without Beam
(`benchmarks.engines.loops`); both read the objects that `local` has made, and what the kernels wrote must be what its
store holds. The stores must have one tree hash. Texts are those of `benchmarks.inputs.planted`. `--quick` is annotate
on `local`, with the ingest that it needs.

`--markdown` prints the table for docs/howto/engines.md; without `--quick` it also prints the lines for
recipes/rates.yaml.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.dedupe.truth import corpus_files
from benchmarks.inputs.pages import CACHE
from benchmarks.inputs.planted import write_corpus
from benchmarks.measuring.reporting import Measured, Report, Row, benchmark_arguments, measure, show
from winnow.pipelines.store.location import open_store_at

ROWS, QUICK_ROWS = 60_000, 20_000
LEAST_CORPUS = 20_000
FEW_ROWS, FEW_FILES = 200, 4
FILE_ROWS = 5_000  # a file is a task and a shard
WORKERS = 2
ENGINES = ("local", "spark", "flink")
STAGES = ("ingest", "annotate", "dedupe", "export")
QUICK_STAGES = STAGES[:2]
RUN_STAGES = 5  # of `winnow run`: mix is counted as a stage of its own
KERNELS, TASKS = "kernels", "tasks"
SAME = "same"  # as the loops say it
FLOOR = 0.8  # of the bare kernels' rate, after starting

RECIPE = """
version: 1
store: {{path: {store}, seed: 7, task_bytes: {task_bytes}}}
sources:
  pages: {{root: {root}, files: ["*.parquet"], class: web, licence: CC0-1.0, key: id, columns: {{text: text}}}}
annotate: [text.language, text.gopher, text.fineweb, text.c4, text.pii]
dedupe: {{exact: {{}}, near: {{}}}}
keep:
  - {{drop: text.gopher.characters < 200, reason: short, when_null: drop}}
mix: {{unit: bytes, max_epochs: 1, split: {{validation: 0.01}}}}
export: [{{parquet: {{path: {store}-export}}}}]
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """One stage on one engine, over all rows and over a few."""

    stage: str
    engine: str
    rows: int
    large: Measured
    small: Measured

    @property
    def rate(self) -> float:
        """Rows a second, starting included."""
        return self.rows / self.large.wall_seconds

    @property
    def work_seconds(self) -> float:
        """Wall, without starting."""
        return max(self.large.wall_seconds - self.small.wall_seconds, self.large.wall_seconds / 100)

    @property
    def steady(self) -> float:
        """Rows a second, after starting."""
        return (self.rows - FEW_ROWS) / self.work_seconds

    @property
    def cpu_micros(self) -> float:
        """CPU time a row after starting, of all processes."""
        return (self.large.cpu_seconds - self.small.cpu_seconds) / (self.rows - FEW_ROWS) * 1e6


@dataclass
class Found:
    """Everything that was measured."""

    rows: int
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    runs: dict[str, float] = field(default_factory=dict)  # seconds of `winnow run` over few rows, by engine

    @property
    def complete(self) -> bool:
        """Whether every stage was measured."""
        return {stage for stage, _ in self.cells}.issuperset(STAGES)

    def share(self, cell: Cell, other: str, *, steady: bool = True) -> float | None:
        """Of another's rate in the same stage."""
        base = self.cells.get((cell.stage, other))
        if base is None:
            return None
        return cell.steady / base.steady if steady else cell.rate / base.rate


@dataclass(frozen=True)
class Place:
    """Where one size of input is worked on."""

    folder: Path
    rows: int

    def recipe(self, name: str) -> Path:
        """The recipe of a store of this name."""
        file = self.folder / f"{name}.yaml"
        if not file.exists():
            files = sorted((self.folder / "input").glob("*.parquet"))
            task_bytes = max(one.stat().st_size for one in files) + 1  # so that no two go into one task
            text = RECIPE.format(store=self.store(name), root=self.folder / "input", task_bytes=task_bytes)
            file.write_text(text)
        return file

    def store(self, name: str) -> Path:
        """The store itself."""
        return self.folder / name

    def on_engine(self, command: str, engine: str, name: str = "") -> Measured:
        """A command of winnow."""
        recipe = self.recipe(name or engine)
        arguments = ("--runner", engine, "--workers", str(WORKERS))
        return _measured([sys.executable, "-m", "winnow", command, str(recipe), *arguments])

    def loop(self, what: str, name: str, *more: str) -> Measured:
        """A loop without Beam."""
        command = [sys.executable, "-m", "benchmarks.engines.loops", what, str(self.recipe(name)), str(WORKERS)]
        return _measured([*command, *more])


def main() -> int:
    """Measure, compare and print."""
    parser = benchmark_arguments(str(__doc__))
    parser.add_argument("--markdown", action="store_true", help="the tables as Markdown, and the lines of rates.yaml")
    parser.add_argument("--rows", type=int, help=f"how many ({ROWS}; {QUICK_ROWS} if quick)")
    parser.add_argument("--engines", help=f"local and others ({','.join(ENGINES)}; local alone if quick)")
    parser.add_argument("--stages", help="the first of them, in order (all; ingest and annotate if quick)")
    options = parser.parse_args()
    chosen = QUICK_STAGES if options.quick else STAGES
    stages = tuple(options.stages.split(",")) if options.stages else chosen
    if len(stages) < 2 or stages != STAGES[: len(stages)]:
        parser.error(f"--stages: expected the first two or more of {', '.join(STAGES)}")
    asked = options.engines.split(",") if options.engines else () if options.quick else ENGINES
    engines = ["local", *(name for name in asked if name != "local")]
    rows = options.rows or (QUICK_ROWS if options.quick else ROWS)
    corpus = write_corpus(CACHE, max(rows, LEAST_CORPUS))
    with tempfile.TemporaryDirectory(dir=".cache", prefix="engines-") as name:
        scratch = Path(name).absolute()
        large = Place(scratch / "all", _cut(corpus, scratch / "all", rows, FILE_ROWS))
        small = Place(scratch / "few", _cut(corpus, scratch / "few", FEW_ROWS, FEW_ROWS // FEW_FILES))
        found = measured(engines, stages, large, small)
        differing = differences(engines, large)
    for line in report_lines(found, engines, markdown=options.markdown):
        print(line)
    status = show(_report(found, engines, quick=options.quick), options.json)
    for line in differing:
        print(f"benchmarks.engines: {line}", file=sys.stderr)
    return 2 if differing else status


def measured(engines: Sequence[str], stages: Sequence[str], large: Place, small: Place) -> Found:
    """Every stage in turn on every engine and in the loops, a few rows first.

    Before, all stages in one command, over a few rows: what starting takes where an engine starts once. What is
    compiled once a machine is compiled there.
    """
    found = Found(large.rows)
    for engine in engines:
        found.runs[engine] = small.on_engine("run", engine, f"{engine}-run").wall_seconds
        _say(f"run of {FEW_ROWS} rows, {engine}: {found.runs[engine]:.1f} s")
    for stage in stages:
        cases = {engine: [place.on_engine(stage, engine) for place in (small, large)] for engine in engines}
        if stage == "ingest":
            cases[TASKS] = [place.loop("ingest", "tasks-ingest") for place in (small, large)]
            for place in (small, large):
                shutil.copytree(place.store("local"), place.store("tasks"), copy_function=_linked)
        elif stage == "annotate":
            cases[TASKS] = [place.loop("annotate", "tasks") for place in (small, large)]
            cases[KERNELS] = [place.loop("kernels", "local", str(place.store("bare"))) for place in (small, large)]
        for engine, (few, all_of_them) in cases.items():
            cell = Cell(stage, engine, large.rows, all_of_them, few)
            found.cells[stage, engine] = cell
            _say(f"{stage}, {engine}: {cell.rate:,.0f} rows/s, {cell.steady:,.0f} after {few.wall_seconds:.1f} s")
    return found


def differences(engines: Sequence[str], place: Place) -> list[str]:
    """What is not the same and should be."""
    hashes = {engine: open_store_at(str(place.store(engine))).require_latest().tree_hash for engine in engines}
    said = [f"tree hashes differ: {hashes}"] if len(set(hashes.values())) > 1 else []
    other = place.loop("compare", "local", str(place.store("bare"))).last_line
    return said if other == SAME else [*said, f"the bare kernels' results differ from the store's: {other}"]


def report_lines(found: Found, engines: Sequence[str], *, markdown: bool) -> list[str]:
    """What is not in the table of every benchmark: rates without starting, and ratios."""
    head = ["stage", "on", "rows/s", "starting, s", "rows/s after it", "CPU µs a row"]
    table = [[*head, "of local", "of tasks", "of kernels", "of kernels, with starting"]]
    for (stage, engine), cell in found.cells.items():
        shares = [
            found.share(cell, "local"),
            found.share(cell, TASKS),
            found.share(cell, KERNELS),
            found.share(cell, KERNELS, steady=False),
        ]
        own = [f"{cell.rate:,.0f}", f"{cell.small.wall_seconds:.1f}", f"{cell.steady:,.0f}", f"{cell.cpu_micros:,.0f}"]
        table.append([stage, engine, *own, *("" if share is None else f"{share:.2f}" for share in shares)])
    lines = _markdown(table) if markdown else _plain(table)
    lines += ["", f"{found.rows:,} rows, {WORKERS} workers", ""]
    lines += [f"'winnow run' of {FEW_ROWS} rows: {_starts(found)}", ""]
    if found.complete:
        lines += [*rates_lines(found, engines), ""]
    return lines


def rates_lines(found: Found, engines: Sequence[str]) -> list[str]:
    """The `engines` of recipes/rates.yaml: wall over local's after starting, and a share of starting for each stage."""
    lines = ["engines:"]
    for engine in engines:
        work, base = (sum(found.cells[stage, one].work_seconds for stage in STAGES) for one in (engine, "local"))
        starts = found.runs[engine] / RUN_STAGES
        lines.append(f"  {engine}: {{work: {work / base:.2f}, start_seconds: {starts:.1f}, measured: true}}")
    return lines


def _report(found: Found, engines: Sequence[str], *, quick: bool) -> Report:
    cells = found.cells
    bare = cells["annotate", KERNELS].steady
    peers = {f"bare kernels, annotate on {engine}": bare for engine in engines}
    rows = [
        Row(f"{cell.stage}, {cell.engine}", f"{found.rows:,} rows", cell.large, cell.rate) for cell in cells.values()
    ]
    return Report(
        "engines",
        "rows/s",
        cells["annotate", "local"].steady,
        peers,
        ours_for={f"bare kernels, annotate on {one}": cells["annotate", one].steady for one in engines},
        floors=dict.fromkeys(peers, FLOOR),
        rows=rows,
        quick=quick,
    )


def _cut(corpus: Path, folder: Path, rows: int, file_rows: int) -> int:
    """The first rows of a corpus as files of so many rows; returns how many there are."""
    (folder / "input").mkdir(parents=True)
    batches = (
        batch
        for file in corpus_files(corpus)
        for batch in pq.ParquetFile(file).iter_batches(file_rows, columns=["id", "text"])
    )
    written = 0
    while written < rows:
        table = pa.Table.from_batches([next(batches)])[: rows - written]
        pq.write_table(table, folder / "input" / f"{written:09d}.parquet", compression="zstd")
        written += table.num_rows
    return written


def _measured(command: Sequence[str]) -> Measured:
    return measure(command, {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})


def _linked(source: str, target: str) -> str:
    Path(target).hardlink_to(source)
    return target


def _starts(found: Found) -> str:
    return ", ".join(f"{engine} {seconds:.1f} s" for engine, seconds in found.runs.items())


def _markdown(table: Sequence[Sequence[str]]) -> list[str]:
    head, *rows = table
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def _plain(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[number]) for row in table) for number in range(len(table[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
