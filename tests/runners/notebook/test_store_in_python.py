"""A store in Python: tables and SQL give what is in its objects, whatever is asked, and read nothing else."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import winnow
from tests.faults.crawl import write_crawl
from tests.messages import assert_refused
from tests.trainers import require_trainer_package, run_trainer
from winnow.runners.commands.main import main
from winnow.runners.notebook.opened_store import OpenedStore
from winnow.runners.notebook.result import SHOWN_ROWS
from winnow.runners.notebook.sql import QueryError
from winnow.schemas.errors import StoreError

RECIPE = """\
version: 1
store: {path: store, shard_rows: 7}
sources:
  crawl: {root: crawl, files: ["*.warc.gz"], class: web}
  books: {root: books, files: ["*.jsonl"], class: public, key: id}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
annotate: [text.length]
dedupe: {exact: {}}
keep: [{drop: text.length.characters < 40, reason: short, when_null: drop}]
mix: {unit: samples}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("python")
    write_crawl(folder, archives=2, pages=9, lines=60)
    (folder / "books").mkdir(exist_ok=True)
    rows = [
        {"id": f"b{at}", "text": "short" if at % 3 else f"A text long enough to be kept, number {at}."}
        for at in range(20)
    ]
    (folder / "books" / "more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "no JSON\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1"]) == 0
    return folder


@pytest.fixture
def store(folder: Path) -> OpenedStore:
    return winnow.open_store(folder / "store", recipe=folder / "recipe.yaml")


def objects(store: OpenedStore, layer: str, column: str) -> list[object]:
    """A column by the store's own reader of objects."""
    generation = store.require_latest()
    rows = store.manifest(generation, layer)
    return [value for row in rows for batch in store.batches(row, [column]) for value in batch[column].to_pylist()]


def test_columns_of_layers_lie_side_by_side(store: OpenedStore) -> None:
    found = store.table(["id", "samples.source.name", "text.length.characters", "extract.main.text"]).to_arrow()
    assert found.column_names == ["id", "samples.source.name", "text.length.characters", "extract.main.text"]
    assert found["id"].to_pylist() == [one.hex() for one in objects(store, "samples", "id")]  # type: ignore[attr-defined]
    assert found["text.length.characters"].to_pylist() == objects(store, "text.length", "characters")
    assert found["extract.main.text"].to_pylist() == objects(store, "extract.main", "text")
    assert found.schema.types == [store.table([name]).schema.types[0] for name in found.column_names]


def test_sql_counts_what_the_objects_hold(store: OpenedStore) -> None:
    sizes = objects(store, "text.length", "characters")
    long = sum(isinstance(one, int) and one >= 40 for one in sizes)
    for query in (
        "SELECT count(*) AS n FROM text.length WHERE characters >= 40",
        'SELECT count(*) AS n FROM "text.length" WHERE CHARACTERS >= 40',
        'SELECT count(*) AS n FROM rows WHERE "text.length.characters" >= 40',
        "WITH l AS (FROM text.length) SELECT count(*) AS n FROM l JOIN samples USING (id) WHERE characters >= 40",
        "SELECT count(*) AS n FROM text.length AS a JOIN Text.Length AS b USING (id) WHERE a.characters >= 40",
        "SELECT count(*) AS n FROM samples NATURAL JOIN (SELECT id, characters AS c FROM text.length) WHERE c >= 40",
        "FROM text.length SELECT count(*) FILTER (characters >= 40) AS n",
    ):
        assert store.sql(query).to_arrow().to_pydict() == {"n": [long]}, query
    assert store.sql("SELECT * FROM samples LIMIT 0").schema.names == [name for name, *_ in [("id",)]] + [
        field for field in store.tables.layers["samples"].names if field != "id"
    ]


def test_decisions_are_those_of_plan(store: OpenedStore, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(folder / "recipe.yaml"), "--json"]) == 0
    rules = json.loads(capsys.readouterr().out)["rules"]["rules"]
    found = (
        store.sql("SELECT reason, count(*) AS n FROM decisions WHERE NOT kept GROUP BY reason").to_arrow().to_pylist()
    )
    assert {row["reason"]: row["n"] for row in found} == {
        one["reason"]: one["dropped"]["rows"] for one in rules if one["dropped"]["rows"]
    }
    whole = store.sql("SELECT id, kept FROM decisions").to_arrow()
    assert whole["id"].to_pylist() == store.table(["id"]).to_arrow()["id"].to_pylist()
    doubles = store.sql("SELECT d.duplicate_of IS NOT NULL AS has FROM decisions d WHERE reason = 'duplicate_exact'")
    assert set(doubles.to_arrow()["has"].to_pylist()) <= {True}


def test_tables_are_listed(store: OpenedStore) -> None:
    expected = sorted(store.tables.schemas)
    for query in ("SHOW TABLES", "SELECT table_name AS name FROM information_schema.tables ORDER BY name"):
        assert store.sql(query).to_arrow()["name"].to_pylist() == expected, query
    described = store.sql("SHOW samples").to_arrow()
    assert described["column_name"].to_pylist() == store.tables.schemas["samples"].names
    both = "SELECT (SELECT count(*) FROM samples) AS n, count(*) AS tables FROM information_schema.tables"
    assert store.sql(both).to_arrow().to_pylist() == [
        {"n": len(objects(store, "samples", "id")), "tables": len(expected)}
    ]


def test_quarantine_is_a_table(store: OpenedStore) -> None:
    found = store.sql("SELECT reason, path FROM quarantine").to_arrow().to_pylist()
    assert {"reason": "bad_json", "path": "more.jsonl"} in found


def test_rows_for_other_packages(store: OpenedStore) -> None:
    rows = store.table(["samples.source.name", "text.length.characters"])
    expected = Counter(rows.to_arrow()["samples.source.name"].to_pylist())
    assert isinstance(frame := rows.to_pandas(), pd.DataFrame)
    assert frame["samples.source.name"].value_counts().to_dict() == expected
    assert isinstance(other := rows.to_polars(), pl.DataFrame)
    assert other.height == frame.shape[0]
    assert rows.to_reader().read_all() == rows.to_arrow() == pa.Table.from_batches(rows.batches())


DATASETS = """
import json, sys
import winnow

store = winnow.open_store(sys.argv[1], recipe=sys.argv[2])
names = {"samples", "rows", "decisions", "quarantine", "dropped", "extract.main", "text.length", "dedupe.exact"}
found = {name: store.sql(f"SELECT * FROM {name} ORDER BY ALL").to_datasets() for name in names}
counted = {name: dataset.num_rows for name, dataset in found.items()}
none = store.sql("SELECT url FROM samples WHERE false").to_datasets()
lengths = store.table(["id", "text.length.characters"]).to_datasets()
long = lengths.filter(lambda row: (row["text.length.characters"] or 0) >= 40)
long.save_to_disk(sys.argv[3])
print(json.dumps([counted, none.num_rows, dict(zip(long["id"], long["text.length.characters"]))]))
"""


@pytest.mark.readers
@pytest.mark.large
def test_every_table_becomes_a_dataset_of_datasets(folder: Path, store: OpenedStore, tmp_path: Path) -> None:
    require_trainer_package("apache_beam", "winnow, which comes with: make test-torch, and")
    (tmp_path / "script.py").write_text(DATASETS)
    said = run_trainer(tmp_path / "script.py", [folder / "store", folder / "recipe.yaml", tmp_path / "saved"])
    counted, none, long = json.loads(said.splitlines()[-1])
    for name, rows in counted.items():
        assert rows == store.sql(f"SELECT count(*) AS n FROM {name}").to_arrow()["n"][0].as_py(), name
    assert counted["samples"] > 20
    expected = store.sql("SELECT id, characters FROM text.length WHERE characters >= 40").to_arrow().to_pylist()
    assert (none, long) == (0, {row["id"]: row["characters"] for row in expected})


def test_what_notebooks_show_is_escaped_and_short(store: OpenedStore) -> None:
    page = store.sql(
        "SELECT '<script>alert(1)</script>' AS \"<b>\", repeat('x', 5000) AS long FROM samples"
    )._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;" in page
    assert len(page) < 20_000
    assert "text.length" in store._repr_html_()
    assert "\ntext.length: id, status, bytes, characters" in repr(store)
    assert "\nrows: " in repr(store)
    assert len(repr(store)) < 4000  # not each column once more
    ids = store.sql("SELECT id FROM samples ORDER BY id")
    every = [row["id"] for row in ids.to_arrow().to_pylist()]
    shown = every[:SHOWN_ROWS]
    assert len(every) > SHOWN_ROWS
    assert repr(ids).splitlines() == ["id", *shown, "…"]
    assert [ids._repr_html_().count(f"<td>{one}</td>") for one in shown] == [1] * SHOWN_ROWS


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT cod FROM samples", "no column 'cod'"),
        ("FROM query_table('samples')", "'samples' … FROM … JOIN"),
        ("SELECT characterz FROM text.length", "'characterz' … 'characters'"),
        ("SELECT detail FROM samples", "'detail' … quarantine"),
        ("SELECT * FROM text.lenght", "'text.lenght' … 'text.length'"),
        ("DROP TABLE samples", "only SELECT is allowed"),
        ("COPY samples TO 'there.csv'", "only SELECT is allowed"),
        ("SELECT 1; SELECT 2", "expected one SELECT"),
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM read_csv('/etc/passwd')", "s tables alone"),
        ("SHOW TABLES FROM text", "SHOW … TABLES … FROM"),
        ("SELECT * FROM '/etc/passwd'", "no table"),
        ("SELECT CAST(url AS INTEGER) FROM samples", "Could not convert"),
    ],
)
def test_a_query_that_cannot_be_run_is_one_line(store: OpenedStore, query: str, said: str) -> None:
    with assert_refused(QueryError, said) as found:
        store.sql(query).to_arrow()
    assert len(str(found.value).splitlines()) == 1


def test_a_misspelt_column_is_an_error(store: OpenedStore) -> None:
    with assert_refused(StoreError, "'text.length.character'", "'text.length.characters'"):
        store.table(["text.length.character"])
    with assert_refused(StoreError, "'urll'", "'url'"):
        store.table(["urll"])
    with assert_refused(StoreError, "'text.length'", "name columns"):
        store.table(["text.length"])
    wrong: tuple[Any, ...] = ("id", [], [1])
    for columns in wrong:
        with pytest.raises(StoreError, match="name columns in a list"):
            store.table(columns)
    row = store.manifest(store.require_latest(), "text.length")[0]
    with assert_refused(StoreError, "'characterz'", "'characters'"):
        store.batches(row, ["characterz"])


def test_a_generation_that_is_deleted_meanwhile_is_a_line(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder / "store", tmp_path / "store")
    store = winnow.open_store(copy)
    rows, counted = store.table(["id"]), store.sql("SELECT count(*) FROM samples")
    number = store.tables.generation.number
    for record in (copy / "generations").glob(f"*{number}*"):
        record.unlink()
    shutil.rmtree(copy / "manifests")  # as gc does it: those of a generation after its record
    for asked in (rows, counted):
        with assert_refused(StoreError, f"generation {number}", "deleted"):
            asked.to_arrow()


def test_a_store_without_samples_has_their_table(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").touch()
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("version: 1\nstore: {path: store}\nsources: {s: {root: ., files: [none.jsonl], class: web}}\n")
    assert main(["ingest", str(recipe), "--workers", "1", "--quiet"]) == 0
    store = winnow.open_store(tmp_path / "store", recipe=recipe)
    assert store.sql("SELECT count(*) AS n FROM samples").to_arrow().to_pylist() == [{"n": 0}]
    assert "samples" in store.sql("SHOW TABLES").to_arrow()["name"].to_pylist()
    assert store.table(["id", "url"]).to_arrow().num_rows == 0
    assert repr(store)


def test_forgotten_rows_are_in_no_table(folder: Path) -> None:
    recipe = folder / "recipe.yaml"
    before = winnow.open_store(folder / "store", recipe=recipe).table(["id"]).to_arrow()["id"].to_pylist()
    assert main(["forget", str(recipe), "--id", before[3]]) == 0
    store = winnow.open_store(folder / "store", recipe=recipe)
    expected = [one for one in before if one != before[3]]
    for query in (
        "SELECT id FROM samples",
        "SELECT id FROM text.length",
        "SELECT id FROM decisions",
        'SELECT "samples.id" AS id FROM rows',
    ):
        assert store.sql(query).to_arrow()["id"].to_pylist() == expected, query
