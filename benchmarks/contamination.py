"""Evaluation sets in texts: `text.contamination` against datatrove's NGramsDecont blocks and decon (Rust).

    python -m benchmarks.contamination [--quick] [--json]

Documents in thirty languages. The items are 5 000 passages of 15 to 45 words from English documents that are not among
them, with the words behind each as its answer. One item in five is planted into a document: as it is, in capitals,
without punctuation, with a word in the middle changed, or with Arabic digits.

- `datatrove`: 12-grams of questions and answers by NGramsDecontIndexer and NGramsDecontFilter, which keep numbers, days
  and months here, as winnow does. lighteval, which only loads sets, is left out. Documents that one of us hits and the
  other does not are counted.
- `decon`: the package decontaminate 0.3.0.post4, decon's own code with Python around it, with its defaults (5-grams of
  cl100k tokens, each tenth looked up first), one thread. It is compared with winnow's 5-grams.

Recall by kind of edit stands above the table, also of datatrove's own defaults. One core each (pinned), start-up
included. Rates are documents per CPU-second.
"""

import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs.documents import cached_documents
from benchmarks.measuring.environments import ENVIRONMENTS, imports, peer_python
from benchmarks.measuring.reporting import Amounts, Measured, benchmark_arguments, compared, measure, show, timed

HELD_OUT = 10_000  # documents at the end, from which items are taken
DOCUMENTS = 50_000
ITEMS, PLANTED_EVERY = 5_000, 5
MANY, FEW = 40_000, 2_000
QUICK_MANY, QUICK_FEW = 10_000, 500
SMALL = 100
FLOORS = {"datatrove": 20.0, "decon": 0.5}
EDITS = ("as it is", "capitals", "no punctuation", "a word changed", "Arabic digits")
ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")

OURS = """
import sys
import pyarrow.parquet as pq
from winnow.filters.contamination.sets import SetConfig
from winnow.filters.text.contamination import OPERATOR, ContaminationConfig
from winnow.pipelines.assets import AssetFiles
documents, items, hits, words, column, least = sys.argv[1:]
shortest = {"5": 20, "13": 4}.get(words, int(words))
config = ContaminationConfig(
    sets=(SetConfig("items", items, answer=("answer",)),), min_item_words=shortest, max_ngram_words=int(words)
)
kernel = OPERATOR.load(config, AssetFiles())
with open(hits, "w") as out, pq.ParquetFile(documents) as parquet:
    for batch in parquet.iter_batches(2048, columns=["id", "text"], use_threads=False):
        layer = kernel(batch.select(["text"]))
        for name, values in zip(batch["id"].to_pylist(), layer[column].to_pylist()):
            value = max(values, default=0) if isinstance(values, list) else values
            if value >= float(least):
                out.write(f"{name}\\n")
"""

DATATROVE = """
import sys
import orjson
import numpy as np
import pyarrow.parquet as pq
from datatrove.data import Document
from datatrove.pipeline.decont import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
from datatrove.utils.text import TextNormConfig
documents, items, hits, norm = sys.argv[1:]
plain = TextNormConfig(norm_numbers=False, norm_weekdays=False, norm_monthnames=False)
config = NGramsDecontConfig(
    find_query_ngrams=True, norm_config=TextNormConfig() if norm == "defaults" else plain
)
folder = hits + ".index"
NGramsDecontIndexer._requires_dependencies = ["nltk", "xxhash"]  # without lighteval, which only loads sets by name
indexer = NGramsDecontIndexer(folder, config=config)
found = set()
for line in open(items, "rb"):
    item = orjson.loads(line)
    found.update(indexer.compute_hashes(item["answer"], item["question"]))
with indexer.output_folder.open("items.index.hashes", "wb") as file:
    np.array(list(found), "<u8").tofile(file)
block = NGramsDecontFilter(folder, config=config)
with open(hits, "w") as out, pq.ParquetFile(documents) as parquet:
    for batch in parquet.iter_batches(2048, columns=["id", "text"], use_threads=False):
        for row in batch.to_pylist():
            if block.filter(Document(text=row["text"], id=row["id"])) is not True:
                out.write(row["id"] + "\\n")
"""

DECON = """
import glob
import json
import sys
import decon
documents, items, hits = sys.argv[1:]
report = decon.detect(decon.Config(documents, items, hits + ".report", worker_threads=1))
with open(hits, "w") as out:
    for name in glob.glob(hits + ".report/**/*.jsonl", recursive=True):
        for line in open(name):
            out.write(str(json.loads(line)["training_line"]) + "\\n")
"""


def main() -> int:
    """Measure, compare and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    rounds = 1 if options.quick else 3
    many, few = (
        Amounts(quick if options.quick else full, full, SMALL) for full, quick in ((MANY, QUICK_MANY), (FEW, QUICK_FEW))
    )
    Path(".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=".cache") as scratch:
        folder = Path(scratch).absolute()
        planted = Planted(folder)
        ours = _ours(planted, folder)
        theirs = _datatrove(planted, folder)
        decon = _decon(planted, folder)
        ours(12, "ngrams", 1, "ours")(SMALL)  # what is compiled, is compiled once a machine
        cases = {
            "winnow, 12-grams": (many, ours(12, "ngrams", 1, "ours")),
            "datatrove": (few, theirs("plain", "theirs")),
            "winnow, 5-grams": (many, ours(5, "weighted", 0.8, "ours5")),
        }
        if decon is not None:
            cases["decon"] = few, decon
        rows = {}
        for case, (amounts, run) in cases.items():
            rows[case] = row = timed(case, "documents", amounts, run, rounds)
            print(f"{case}: {row.rate:,.0f} documents/CPU-s", file=sys.stderr, flush=True)
        ours(12, "ngrams", 1, "ours")(few.now)
        ours(13, "ngrams", 1, "ours13")(few.now)
        ours(5, "weighted", 0.8, "ours5")(few.now)
        theirs("defaults", "theirs_defaults")(few.now)
        print(_agreement(folder))
        print(planted.recall(folder, few.now))
    report = compared(
        "contamination",
        "documents/CPU-s",
        rows["winnow, 12-grams"],
        {case: row for case, row in rows.items() if not case.startswith("winnow")},
        {"decon": rows["winnow, 5-grams"]},
        floors={case: floor for case, floor in FLOORS.items() if case in rows},
        rows=list(rows.values()),
        quick=options.quick,
    )
    return show(report, options.json)


class Planted:
    """Documents with items planted in them, and the items as each peer reads them."""

    def __init__(self, folder: Path) -> None:
        table = pq.read_table(cached_documents(DOCUMENTS))
        held_out = table.slice(DOCUMENTS - HELD_OUT).to_pylist()
        self.items = list(_items([row["text"] for row in held_out if row["language"] == "en"]))
        self.table = table.slice(0, DOCUMENTS - HELD_OUT)
        self.folder = folder
        self.edits: dict[str, str] = {}  # of a document with an item: how it was changed
        (folder / "items").mkdir()
        records = [
            {"eval_key": "items", "eval_instance_index": number, "split": "test", "doc_id": number, **item}
            | {"fingerprint": f"{number:016x}", "is_correct": True}
            for number, item in enumerate(self.items)
        ]
        self.file = folder / "items" / "items_test-1.jsonl"
        self.file.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in records))

    def documents(self, count: int) -> Path:
        """The first documents, half of the items among them, as Parquet; and as JSON lines in a folder beside it."""
        target = self.folder / f"documents-{count}.parquet"
        if not target.exists():
            rows = self.table.slice(0, count).to_pylist()
            chance = random.Random(count)
            hosts = chance.sample(range(count), min(count // 4, ITEMS // PLANTED_EVERY))
            with_digits = [item for item in self.items if re.search("[0-9]", item["question"])]
            for number, host in enumerate(sorted(hosts)):
                edit = EDITS[number % len(EDITS)]
                of = with_digits if edit == "Arabic digits" else self.items
                item = of[number * PLANTED_EVERY % len(of)]
                text = rows[host]["text"]
                at = text.find("\n", len(text) // 2) + 1
                said = _edited(f"{item['question']} {item['answer']}", edit, chance)
                rows[host]["text"] = f"{text[:at]}{said}\n{text[at:]}"
                self.edits[f"{count}/{host}"] = edit
            names = [f"{count}/{number}" for number in range(count)]
            texts = [row["text"] for row in rows]
            pq.write_table(pa.table({"id": names, "text": pa.array(texts, pa.large_string())}), target)
            lines = target.with_suffix("")
            lines.mkdir()
            with (lines / "documents.jsonl").open("wb") as out:
                out.writelines(
                    orjson.dumps({"id": name, "text": text}) + b"\n" for name, text in zip(names, texts, strict=True)
                )
        return target

    def recall(self, folder: Path, count: int) -> str:
        """A line for each kind of edit: what of it each of us finds."""
        named = {
            "winnow 12": "ours", "winnow 13": "ours13", "winnow 5, 80 %": "ours5", "datatrove": "theirs",
            "datatrove, defaults": "theirs_defaults", **({"decon": "decon"} if (folder / "decon").exists() else {}),
        }  # fmt: skip
        found = {name: set((folder / file).read_text().split()) for name, file in named.items()}
        if "decon" in found:
            found["decon"] = {f"{count}/{line}" for line in found["decon"]}
        own = {name: edit for name, edit in self.edits.items() if name.startswith(f"{count}/")}
        lines = [f"{'recall':<18}" + "".join(f"{name:>21}" for name in named)]
        for edit in EDITS:
            of = [name for name, one in own.items() if one == edit]
            shares = (sum(name in one for name in of) / len(of) for one in found.values())
            lines.append(f"{edit:<18}" + "".join(f"{share:>21.3f}" for share in shares))
        others = (len(one - own.keys()) for one in found.values())
        lines.append(f"{'other documents':<18}" + "".join(f"{many:>21,}" for many in others))
        return "\n".join(lines)


def _items(texts: list[str]) -> Iterator[dict[str, str]]:
    """Questions and answers: the first words of long lines, and those behind them."""
    chance = random.Random(7)
    lines = [line.split() for text in texts for line in text.split("\n")]
    long = [line for line in lines if len(line) > 52]
    chance.shuffle(long)
    seen = set()
    for line in long:
        words, many = chance.randrange(15, 46), chance.randrange(1, 6)
        question, answer = " ".join(line[:words]), " ".join(line[words : words + many])
        if question not in seen and len(re.findall(r"[A-Za-z]{3,}", question)) > words // 2:
            seen.add(question)
            yield {"question": question, "answer": answer}
            if len(seen) == ITEMS:
                return


def _edited(text: str, edit: str, chance: random.Random) -> str:
    match edit:
        case "capitals":
            return text.upper()
        case "no punctuation":
            return " ".join(re.sub(r"[^\w\s'-]", "", text).split())
        case "a word changed":
            words = text.split()
            words[len(words) // 2 - chance.randrange(3)] = "altogether"
            return " ".join(words)
        case "Arabic digits":
            return text.translate(ARABIC)
    return text


def _ours(planted: Planted, folder: Path) -> Callable[[int, str, float, str], Callable[[int], Measured]]:
    def case(words: int, column: str, least: float, hits: str) -> Callable[[int], Measured]:
        def run(count: int) -> Measured:
            arguments = [str(planted.documents(count)), str(planted.file), str(folder / hits), str(words)]
            return _pinned([sys.executable, "-c", OURS, *arguments, column, str(least)])

        return run

    return case


def _datatrove(planted: Planted, folder: Path) -> Callable[[str, str], Callable[[int], Measured]]:
    python = str(peer_python("datatrove"))

    def case(norm: str, hits: str) -> Callable[[int], Measured]:
        def run(count: int) -> Measured:
            arguments = [str(planted.documents(count)), str(planted.file), str(folder / hits), norm]
            return _pinned([python, "-c", DATATROVE, *arguments])

        return run

    return case


def _decon(planted: Planted, folder: Path) -> Callable[[int], Measured] | None:
    newer = ENVIRONMENTS["decon"].python
    if not imports(Path(shutil.which(newer) or newer), "venv"):
        print(f"benchmarks: no {newer}: the peer decon is left out", file=sys.stderr)
        return None
    python = str(peer_python("decon"))

    def run(count: int) -> Measured:
        lines = planted.documents(count).with_suffix("")
        return _pinned([python, "-c", DECON, str(lines), str(planted.file.parent), str(folder / "decon")])

    return run


def _pinned(command: list[str]) -> Measured:
    pinned = ["taskset", "-c", "0", *command] if shutil.which("taskset") else command
    return measure(pinned, {"OMP_NUM_THREADS": "1"})


def _agreement(folder: Path) -> str:
    ours, theirs = (set((folder / name).read_text().split()) for name in ("ours", "theirs"))
    return (
        f"12-grams: {len(ours & theirs):,} documents hit by both, {len(ours - theirs):,} by winnow alone, "
        f"{len(theirs - ours):,} by datatrove alone"
    )


if __name__ == "__main__":
    raise SystemExit(main())
