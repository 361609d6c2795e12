"""A small real store to be mixed: two sources in six languages, with duplicates and e-mail addresses.

What a sample is, a test knows from the rows that the sources were written from, not from the store.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.faults.winnow import ended, run_here
from winnow.pipelines.mix.drawn_objects import DrawnObjects
from winnow.pipelines.mix.plans import PlanRecord
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.sealed import read_record
from winnow.pipelines.store.location import open_store_at
from winnow.pipelines.store.tables import read_table
from winnow.runners.demo.texts import declarations

LANGUAGES: Mapping[str, Mapping[str, int]] = {
    "web": {"deu": 40, "swe": 12, "rus": 24, "hin": 16},
    "books": {"deu": 20, "fra": 20},
}
"""How many texts of each language each source has; those of one number are twins of one another in both sources."""
TWINS = 6  # rows of `web` more, in Dutch, that are near duplicates of one another
CODES = {"deu": "deu_Latn", "swe": "swe_Latn", "rus": "rus_Cyrl", "hin": "hin_Deva", "fra": "fra_Latn"}
CLASSES = {"web": "crawled", "books": "printed"}

RECIPE = """\
version: 1
store: {path: store, seed: 7, shard_rows: 64, row_group_rows: 20}
sources:
  web: {root: web, files: ["*.jsonl"], class: crawled, licence: unknown, key: id}
  books: {root: books, files: ["*.jsonl"], class: printed, licence: CC0-1.0, key: id}
annotate: [text.language, text.length, {text.pii: {kinds: [email]}}]
dedupe: {near: {preset: fineweb, min_similarity: 0.75}, representative: []}
edits: [text.pii]
"""
MIX = "{unit: tokens, tokenizer: bytes}"
ADDRESS = "postamt.se"


@dataclass(frozen=True)
class Row:
    """A row of a source."""

    source: str
    language: str
    record: str  # its id there; with the dots that keys of tar members must not have
    text: str

    @property
    def edited(self) -> str:
        """The text as it is exported."""
        return re.sub(rf"\S+@{re.escape(ADDRESS)}", "<EMAIL>", self.text)

    @property
    def size(self) -> int:
        """Its tokens, which are bytes, once it is edited."""
        return len(self.edited.encode())


def rows_of(source: str) -> list[Row]:
    """The rows of a source that are kept; each with an e-mail address of its own."""
    made: list[tuple[str, str]] = []

    def add(language: str, text: str, number: int) -> None:
        made.append((language, f"{text} {source}.{len(made)}@{ADDRESS} {number}"))

    for key, count in LANGUAGES[source].items():
        own = _paragraphs(key)
        for number in range(count):
            chosen = [
                own[(number * 3 + place * (2 + number // len(own))) % len(own)] for place in range(2 + number % 4)
            ]
            add(CODES[key], " ".join(chosen), number)
    if source == "web":
        for number in range(TWINS):
            add("nld_Latn", " ".join(_paragraphs("nld")[:6]), number)
    return [Row(source, language, f"{source}/{number}.x", text) for number, (language, text) in enumerate(made)]


def _paragraphs(key: str) -> list[str]:
    one = declarations()[key]
    return [paragraph for text in (*one.pages, *one.spares, *one.books) for paragraph in text.paragraphs]


def write_sources(folder: Path, *, turned: bool = False) -> None:
    """The sources' files, one each; turned: with its rows in another order."""
    for source in LANGUAGES:
        (folder / source).mkdir(parents=True)
        rows = [{"id": row.record, "text": row.text} for row in rows_of(source)]
        rows.append({"id": f"{source}/empty", "text": ""})
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        (folder / source / "rows.jsonl").write_text("\n".join(lines[::-1] if turned else lines) + "\n")


def winnow(*arguments: str | Path, status: int = 0) -> str:
    """What a command in this process prints, with one worker where it has workers, or what it complains of."""
    words = [str(one) for one in arguments]
    if words[0] in ("run", "ingest", "mix", "export") and "--workers" not in words:
        words += ["--workers", "1"]
    return ended(run_here(Path.cwd(), *words), status)


Drawn = dict[str, Counter[tuple[str, int]]]
"""By output the copies that it gives: an id as it is printed, and the number of the copy."""


@dataclass(frozen=True)
class Tiny:
    """A copy of the store, and what is asked of it."""

    folder: Path

    @property
    def recipe(self) -> Path:
        """Its file."""
        return self.folder / "recipe.yaml"

    @property
    def store(self) -> Store:
        """Opened anew."""
        return open_store_at(self.folder / "store")

    def write(self, mix: str | None = MIX, export: str = "", base: str = RECIPE) -> None:
        """Write the recipe: with this `mix` and these exports, in YAML of one line."""
        lines = [base.rstrip(), *([f"mix: {mix}"] if mix else []), *([f"export: [{export}]"] if export else [])]
        self.recipe.write_text("\n".join(lines) + "\n")

    def run(self, command: str, *arguments: str | Path, status: int = 0) -> str:
        """The same of a command on the recipe."""
        return winnow(command, self.recipe, *arguments, status=status)

    def complaint(self, command: str, *arguments: str | Path) -> str:
        """The one line that a refused command says on stderr."""
        said = self.run(command, *arguments, status=1)
        assert said.startswith("winnow: "), said
        assert said.count("\n") == 1, said
        return said

    def record(self, plan: str | None = None) -> PlanRecord:
        """The plan of that name in the store, or its only one but for the one that measured the tokens."""
        objects = self.store.objects
        files = sorted(Path(objects.root).glob("plans/*/plan.json"))
        records = [read_record(objects, PlanRecord, str(file.relative_to(objects.root))) for file in files]
        (found,) = [one for one in records if plan in (None, one.plan.name)]
        return found

    def mix(self, *arguments: str) -> tuple[PlanRecord, Drawn]:
        """`winnow mix` and the plan and draw that it made or found."""
        record = self.record(json.loads(self.run("mix", "--json", *arguments))["plan"])
        return record, self.drawn(record)

    def drawn(self, record: PlanRecord) -> Drawn:
        """What a draw gives."""
        names = [output.name for output in record.plan.outputs]
        found: Drawn = {name: Counter() for name in names}
        for one in DrawnObjects.read(self.store.objects, record.draws):
            for row in read_table(self.store.objects, one.object).to_pylist():
                copies = range(row["first"], row["first"] + row["copies"])
                found[names[row["output"]]].update((row["id"].hex(), copy) for copy in copies)
        return found

    @cached_property
    def rows(self) -> dict[str, Row]:
        """Every row of the store by its id."""
        by_record = {row.record: row for source in LANGUAGES for row in rows_of(source)}
        return {row["id"].hex(): by_record[row["source"]["record"]] for row in self.layer("samples")}

    def values(self, layer: str, leaf: str) -> dict[str, Any]:
        """A column by the ids of its rows."""
        ids = [row["id"].hex() for row in self.layer("samples")]
        return dict(zip(ids, (row[leaf] for row in self.layer(layer)), strict=True))

    def layer(self, name: str) -> list[dict[str, Any]]:
        """A layer's rows, in the store's order."""
        store = self.store
        shards = store.manifest(store.require_latest(), name)
        return [row for shard in shards for batch in store.batches(shard) for row in batch.to_pylist()]

    def moved(self, to: Path) -> "Tiny":
        """Another copy, elsewhere."""
        shutil.copytree(self.folder, to)
        return Tiny(to)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but for the leases, which say who was there."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.parent.name != "lease")
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}
