"""Stores of a few shards, and draws of them that are made by hand: who is given is visible in the test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from winnow.pipelines.export.stage import BoundExport, Finished, bind_exports
from winnow.pipelines.mix.draws import Draw, DrawnShard
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.tables import TableWriter
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.exports.writing import export_draw
from winnow.runners.stages.running.stage_run import StageRun
from winnow.schemas.identity import sample_id
from winnow.schemas.mixture import Amount, MixturePlan, PlannedOutput, PlannedStratum, Stratum
from winnow.schemas.recipe import Shuffle, load_recipe
from winnow.schemas.records import StoreRecord
from winnow.schemas.rows.draws import DRAW
from winnow.schemas.rows.samples import SAMPLES

RECORD = StoreRecord("tiny", 7, 65_536, 256 << 20, 16_384, 64 << 20, 64 << 20)
WEB = Stratum("web", "crawl", "germanic", "deu_Latn")
BOOKS = Stratum("public", "books", "slavic", "ces_Latn")


@dataclass(frozen=True)
class Given:
    """One row of a draw."""

    row: int
    copies: int = 1
    first: int = 0
    stratum: int = 0
    output: int = 0


@dataclass(frozen=True)
class Rows:
    """A shard's texts, what is drawn of them, and what edits make of their lengths."""

    texts: Sequence[str | None]
    given: Sequence[Given]
    source: str = "crawl"
    layers: Mapping[str, pa.Table] = field(default_factory=dict)
    lengths: Mapping[int, int] = field(default_factory=dict)  # after edits, where they change it
    media: Sequence[Mapping[str, Any]] = ()  # of every row


def identity(shard: str, row: int) -> bytes:
    """The id of a row."""
    return sample_id("crawl", shard, str(row))


def make_draw(
    objects: ObjectStore,
    shards: Mapping[str, Rows],
    strata: Sequence[Sequence[Stratum]] = ((WEB, BOOKS),),
    names: Sequence[str] = ("train",),
    seed: int = 7,
    row_group_rows: int = 16_384,
) -> tuple[Store, Draw]:
    """Put the shards and their draws."""
    store = create_or_open(objects, RECORD)
    drawn: list[DrawnShard] = []
    given = [[0] * len(one) for one in strata]
    for name, rows in shards.items():
        table = _samples(name, rows)
        size = {"row_group_rows": row_group_rows}
        paths = {layout.SAMPLES: put_table_of(objects, table, f"samples/{name}", **size)}
        for layer, beside in rows.layers.items():
            paths[layer] = put_table_of(objects, beside, f"{layout.layer_objects(layer, 'k')}{name}")
        ordered = sorted(rows.given, key=lambda one: (one.output, one.row))
        for one in ordered:
            given[one.output][one.stratum] += one.copies
        lengths = [len((rows.texts[one.row] or "").encode()) for one in ordered]
        table = pa.Table.from_pylist(
            [
                {
                    "output": one.output,
                    "row": one.row,
                    "id": identity(name, one.row),
                    "stratum": one.stratum,
                    "first": one.first,
                    "copies": one.copies,
                    "units": length,
                    "bytes": rows.lengths.get(one.row, length),
                }
                for one, length in zip(ordered, lengths, strict=True)
            ],
            schema=DRAW,
        )
        draw = put_table_of(objects, table, f"plans/p/{name}")
        drawn.append(DrawnShard(name, rows.source, draw, paths, len(rows.texts), len(rows.given)))
    outputs = tuple(
        PlannedOutput(
            name,
            sum(counts),
            tuple(
                PlannedStratum(one, Amount(n, n), 0, n, n, Amount(n, n), Amount(n, n), 1, -1)
                for one, n in zip(of, counts, strict=True)
            ),
        )
        for name, of, counts in zip(names, strata, given, strict=True)
    )
    total = sum(sum(counts) for counts in given)
    plan = MixturePlan("tiny", seed, "tree", "samples", None, 4.0, "1", "asked", Amount(total, total), {}, outputs)
    return store, Draw(plan, tuple(drawn))


def put_table_of(objects: ObjectStore, table: pa.Table, name: str, row_group_rows: int = 16_384) -> str:
    """Put a table under a name and the hash of its content, in row groups of so many rows."""
    with TableWriter(objects, table.schema, row_group_rows=row_group_rows) as writer:
        for batch in table.to_batches():
            writer.write(batch)
        return writer.finish(lambda content: f"{name}.{content}.parquet").path


def exports_of(folder: Path, *entries: str) -> tuple[BoundExport, ...]:
    """The exports that a recipe with these entries asks for."""
    recipe = folder / "recipe.yaml"
    lines = "".join(f"  - {entry}\n" for entry in entries)
    recipe.write_text(
        "version: 1\nstore: {path: store, seed: 7}\nsources:\n"
        '  crawl: {root: pages, files: ["*.jsonl"], class: web}\n'
        f"mix: {{}}\nexport:\n{lines}"
    )
    return bind_exports(load_recipe(recipe))


@dataclass(frozen=True)
class Shuffling(StageRun):
    """A run without a recipe, which would say how blocks travel."""

    how: Shuffle = "auto"

    @property
    def shuffle(self) -> Shuffle:
        return self.how


def export(
    store: Store, draw: Draw, exports: Sequence[BoundExport], workers: int = 1, **options: Any
) -> list[Finished]:
    """Write them, in this process or by workers."""
    console, shuffle = options.pop("console", Console(quiet=True)), options.pop("shuffle", "auto")
    run = Shuffling(console, Engine("local", workers), store, how=shuffle)
    edits = options.pop("edits", ())
    return export_draw(run, draw, ("samples.text",), edits, exports, **options)


def every(texts: Sequence[str | None], **given: int) -> Rows:
    """All of the rows, once each."""
    return Rows(texts, [Given(row, **given) for row in range(len(texts))])


def words(count: int, start: int = 0) -> list[str | None]:
    """Texts of different lengths."""
    return [f"text {start + number} " + "ab" * (number % 50) for number in range(count)]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _samples(shard: str, rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "id": identity(shard, row),
                "source": {
                    "name": rows.source,
                    "path": f"{shard}.jsonl",
                    "record": str(row),
                    "offset": 0,
                    "length": row,
                    "unit": "bytes",
                    "member": 0,
                },
                "source_class": "web",
                "licence": "CC0-1.0",
                "url": f"https://{shard}.example/{row}",
                "modality": "text" if text is not None else "image",
                "mime": "text/plain",
                "text": text,
                "media": list(rows.media),
                "captions": [],
                "metadata": f'{{"row":{row}}}',
            }
            for row, text in enumerate(rows.texts)
        ],
        schema=SAMPLES,
    )
