"""Files whose columns are not those of the recipe: listed all at once, before anything is read, or quarantined."""

import gzip
import json
import tarfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.messages import assert_refused, assert_told, assert_told_each
from tests.pipelines.ingest.made_archives import Capture, pieces
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.ingest.tables.columns import Columns
from winnow.pipelines.preflight.checks.columns import MOST_REASONS, Shape, _quarantined
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.slices import Slice, ingest_slice
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.errors import SourceError
from winnow.schemas.recipe import load_recipe

RECIPE = "version: 1\nstore: {{path: store}}\nsources:\n  books: {{root: data, class: web, {0}}}\n"
QUIET = Console(quiet=True)
ONE = Engine("local", 1)


BOOKS = "recipe.yaml:4: sources.books"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    pq.write_table(pa.table({"text": ["one"], "id": ["a"]}), data / "good.parquet")
    pq.write_table(pa.table({"txt": ["one"], "id": ["a"]}), data / "bad1.parquet")
    pq.write_table(pa.table({"text": [1, 2], "id": ["a", "b"]}), data / "bad2.parquet")
    (data / "good.jsonl").write_text('{"text": "two"}\n{"x": 1}\n')
    (data / "bad.jsonl").write_text('{"content": "three", "meta": {}}\n')
    (data / "bad.jsonl.gz").write_bytes(gzip.compress(b'{"text": 5}\n' * 20_000))
    (data / "junk.jsonl").write_text("no JSON\n")
    return tmp_path


def write(folder: Path, source: str) -> None:
    (folder / "recipe.yaml").write_text(RECIPE.format(source))


def ingested(folder: Path, source: str, console: Console = QUIET) -> tuple[int, Mapping[str, int]]:
    """How many rows are kept, and what is quarantined."""
    write(folder, source)
    outcome = ingest(bind(load_recipe(Path("recipe.yaml"))), ONE, console)
    commits = outcome.store.tasks(outcome.generation)
    quarantined = sum((Counter(one.quarantined_by_reason) for one in commits), Counter[str]())
    return sum(one.kept for one in commits), quarantined


def refusal(folder: Path, source: str) -> list[str]:
    """The lines of the error, the same from every command that would read."""
    write(folder, source)
    recipe = bind(load_recipe(Path("recipe.yaml")))
    with pytest.raises(SourceError) as caught:
        ingest(recipe, ONE, QUIET)
    with pytest.raises(SourceError) as again:
        ingest_slice(recipe, Slice(1, 2), ONE, QUIET)
    assert str(again.value) == str(caught.value)
    return str(caught.value).splitlines()


def test_all_files_that_do_not_fit_are_listed_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = refusal(folder, 'files: ["*"]')
    assert_told_each(
        lines,
        (str(BOOKS), "bad.jsonl", "'text'"),
        (str(BOOKS), "bad.jsonl.gz", "'text'"),
        (str(BOOKS), "bad1.parquet", "'text'", "'txt'"),
        (str(BOOKS), "bad2.parquet", "'text'", "int64"),
        (str(BOOKS), "4 of 6", "'columns'", "'key'"),
    )
    assert main(["plan", "recipe.yaml"]) == 1
    assert capsys.readouterr().err.splitlines() == [f"winnow: {line}" for line in lines]


def test_their_rows_are_quarantined_if_the_recipe_says_so(folder: Path) -> None:
    with pytest.raises(SourceError):
        ingested(folder, 'files: ["*"]')
    console = Console(markup=False, soft_wrap=True, record=True, width=200, file=(folder / "printed").open("w"))
    kept, quarantined = ingested(folder, 'files: ["*"], on_schema_mismatch: quarantine', console)
    notes = [line.removeprefix("note    ") for line in console.export_text().splitlines() if line.startswith("note")]
    assert_told_each(
        notes,  # each with its own reason
        ("bad.jsonl", "'text'"),
        ("bad.jsonl.gz", "'text'"),
        ("bad1.parquet", "'text'", "'txt'"),
        ("bad2.parquet", "'text'", "int64"),
    )
    assert kept == 2
    assert quarantined == {"missing_text": 3, "wrong_type": 20_002, "bad_json": 1}


@pytest.mark.parametrize("also", ["", ", on_schema_mismatch: quarantine"])
def test_a_column_that_no_file_has_is_named_with_those_that_they_have(folder: Path, also: str) -> None:
    (line,) = refusal(folder, f'files: ["good*", "bad.jsonl"], columns: {{text: body}}{also}')
    assert_told(line, f"{BOOKS}.columns.text", "'body'", whole=True)
    (line,) = refusal(folder, f'files: ["good*"], key: uid{also}')
    assert_told(line, f"{BOOKS}.key", "'uid'", "'id'", whole=True)


def test_a_key_that_no_file_has_is_named_before_files_that_were_read_with_another_are_read_again(folder: Path) -> None:
    assert ingested(folder, 'files: ["good*"]')[0] == 2
    assert main(["gc", "store"]) == 0  # which drops the commits: the generation says what was read
    assert ingested(folder, 'files: ["good*"]')[0] == 2
    (line,) = refusal(folder, 'files: ["good*"], key: uid')
    assert_told(line, f"{BOOKS}.key", "'uid'", "'id'", whole=True)


def test_other_columns_that_no_file_has_are_noted_and_read_as_null(folder: Path) -> None:
    write(folder, 'files: ["good*"], columns: {url: link, fetched_at: when}')
    console = Console(markup=False, soft_wrap=True, record=True, width=200, file=(folder / "printed").open("w"))
    ingest(bind(load_recipe(Path("recipe.yaml"))), ONE, console)
    notes = [line for line in console.export_text().splitlines() if line.startswith("note")]
    assert_told_each(notes, (f"{BOOKS}.columns.url", "'link'"), (f"{BOOKS}.columns.fetched_at", "'when'"))


def test_only_new_files_are_looked_at(folder: Path) -> None:
    assert ingested(folder, 'files: ["good*"]')[0] == 2
    with assert_refused(SourceError, "1 of 1", "new files"):
        ingested(folder, 'files: ["good*", "bad1*"]')
    (folder / "data/good.jsonl").touch()
    assert ingested(folder, 'files: ["good*"]')[0] == 2


def test_two_columns_of_one_name_fit_nothing_in_any_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, texts = folder / "data", pa.array(["one", "two"])
    inner = pa.StructArray.from_arrays([texts, texts], fields=[pa.field("a", pa.string()), pa.field("a", pa.string())])
    twice = pa.table([texts, texts], names=["text", "text"])
    pq.write_table(twice, data / "twice.parquet")
    pq.write_table(pa.table({"text": texts, "meta": inner}), data / "twice_inside.parquet")
    for name, table in (("twice.arrow", twice), ("twice_inside.arrow", pa.table({"text": texts, "meta": inner}))):
        with pa.ipc.new_file(data / name, table.schema) as written:
            written.write_table(table)
    (data / "twice.csv").write_text("text,text\none,two\n")
    lines = refusal(folder, 'files: ["twice*", "good*"]')
    assert_told_each(
        lines[:-1],
        (str(BOOKS), "twice.arrow", "'text'"),
        (str(BOOKS), "twice.csv", "'text'"),
        (str(BOOKS), "twice.parquet", "'text'"),
        (str(BOOKS), "twice_inside.arrow", "'meta.a'"),
        (str(BOOKS), "twice_inside.parquet", "'meta.a'"),
    )
    assert_told(lines[-1], str(BOOKS), "5 of 7")
    kept, quarantined = ingested(folder, 'files: ["twice*", "good*"], on_schema_mismatch: quarantine')
    assert (kept, quarantined) == (2, {"corrupt_table": 4, "bad_csv": 1, "missing_text": 1})
    assert main(["audit", "recipe.yaml"]) == 0
    assert main(["look", "data/twice.parquet", "data/twice.csv"]) == 1
    assert "two columns 'text'" in capsys.readouterr().err


@pytest.mark.parametrize("format_name", ["warc", "arc", "jsonl", "csv", "parquet", "arrow", "webdataset"])
def test_files_that_contradict_the_format_of_their_source_are_named(folder: Path, format_name: str) -> None:
    data = folder / "data"
    (data / "a.warc").write_bytes(b"".join(pieces([Capture("https://e.org/a")], "warc")))
    with tarfile.open(data / "a.tar", "w") as tar:
        tar.add(data / "junk.jsonl", "a.txt")
    with pa.ipc.new_file(data / "a.arrow", pa.schema([("text", pa.string())])):
        pass
    own = {
        "good.parquet": "parquet",
        "good.jsonl": "jsonl",
        "a.warc": "warc",
        "a.tar": "webdataset",
        "a.arrow": "arrow",
    }
    wrong = sorted(name for name, of in own.items() if of != format_name)
    lines = refusal(folder, f"files: [{', '.join(own)}], format: {format_name}")
    assert sorted(line.split(": ")[2] for line in lines) == wrong
    assert all("'format'" in line for line in lines)


def test_names_from_files_neither_break_a_line_nor_hide_in_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data/new\nline\x1b[31m.jsonl").write_text('{"a\\nb\\u001b[31m": "x"}\n')
    write(folder, 'files: ["new*", "good*"]')
    assert main(["plan", "recipe.yaml"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert_told(first, str(BOOKS), "new\\nline\\x1b[31m.jsonl", "'text'", "a\\nb\\x1b[31m", whole=True)
    assert_told(second, str(BOOKS), "1 of 3")


def test_a_long_list_is_cut(folder: Path) -> None:
    for number in range(60):
        (folder / f"data/new{number:02}.jsonl").write_text('{"content": "x"}\n')
    lines = refusal(folder, 'files: ["new*", "good.jsonl"]')
    assert len(lines) == 52
    assert_told_each(lines[50:], f"{BOOKS}: and 10 more", (str(BOOKS), "60 of 61", "'columns'", "'key'"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"no JSON\n" * 3, "(bad_json 3){}: a.jsonl{}Expecting value"),
        (
            "a.warc",
            b"".join(pieces([Capture("https://e.org/a")], "warc")).replace(b"\r\n", b"\n"),
            "(bad_header 1){}: a.warc{}its lines end with LF alone",
        ),
        (
            "a.jsonl",
            b" " * (300 << 10) + json.dumps({"content": "late"}).encode() + b"\n",
            "(missing_text 1){}: a.jsonl{}no column 'text'",
        ),
    ],
)
def test_a_source_of_which_nothing_could_be_read_stops_the_command(
    folder: Path, name: str, content: bytes, message: str
) -> None:
    (folder / "data" / name).write_bytes(content)
    (line,) = refusal(folder, f"files: [{name}]")
    reason = message[1:].split()[0]
    assert_told(line, str(BOOKS), str(message.format("", f": {reason} (")))
    for _ in range(2):  # what was read is not read again, and not published either
        with pytest.raises(SourceError) as caught:
            ingested(folder, f"files: [{name}], on_schema_mismatch: quarantine")
        said = message.format(", so nothing is published", " at 0: ")
        assert str(caught.value).startswith(f"{BOOKS}: every record is quarantined {said}")
    assert list((folder / "store").glob("generations/*")) == []


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_page_larger_than_a_sample_reads_refuses_no_source(folder: Path, ending: str) -> None:
    rows = pa.table({"text": ["a text beside it"], "film": [b"\0" * (70 << 20)]})
    if ending == "parquet":
        pq.write_table(rows, folder / "data/wide.parquet", compression="none", use_dictionary=False)
    else:
        with pa.ipc.new_file(folder / "data/wide.arrow", rows.schema) as written:
            written.write_table(rows)
    write(folder, f"files: [wide.{ending}]")
    outcome = ingest(bind(load_recipe(Path("recipe.yaml"))), ONE, QUIET)
    assert sum(commit.kept for commit in outcome.store.tasks(outcome.generation)) == 1


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "arrow"])
def test_a_key_that_most_rows_share_is_refused(folder: Path, ending: str) -> None:
    rows = pa.table({"text": ["one", "two", "three", "four"], "lang": ["de", "de", "en", "de"], "id": [1, 2, 3, 3]})
    path = folder / f"data/rows.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
    elif ending == "csv":
        pa_csv.write_csv(rows, path)
    elif ending == "parquet":
        pq.write_table(rows, path)
    else:
        with pa.ipc.new_file(path, rows.schema) as written:
            written.write_table(rows)
    (line,) = refusal(folder, 'files: ["rows*"], key: lang')
    assert_told(line, f"{BOOKS}.key", "'lang'", "2", "4 rows", f"rows.{ending}", "'de'", whole=True)
    assert ingested(folder, 'files: ["rows*"], key: lang, on_schema_mismatch: quarantine')[0] == 2
    assert ingested(folder, 'files: ["rows*"], key: id')[0] == 3  # one of four may be a mistake in the rows


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_text_that_is_larger_than_what_a_sample_reads_is_refused_by_nothing(folder: Path, ending: str) -> None:
    text = "one long line " * (5 << 16)
    path = folder / f"data/rows.{ending}"
    if ending == "jsonl":
        path.write_text(json.dumps({"text": text}) + "\n")
    elif ending == "csv":
        path.write_text(f"text\n{text}\n")
    else:
        pq.write_table(pa.table({"text": [text]}), path)
    assert len(text) > 4 << 20
    assert ingested(folder, 'files: ["rows*"]') == (1, {})


def test_at_most_ten_reasons_are_named_and_the_files_with_others_are_counted() -> None:
    shapes = [
        Shape(f"{reason}-{copy}", Columns((), {}), f"reason {reason}") for copy in range(2) for reason in range(12)
    ]
    notes = _quarantined("books", shapes)
    assert_told_each(
        notes[:MOST_REASONS],
        *(("books", f"{number}-0", "1 more", f"reason {number}") for number in range(MOST_REASONS)),
    )
    assert_told_each(notes[MOST_REASONS:], ("source books", "4 more"))
    assert MOST_REASONS == 10
    assert len(_quarantined("books", shapes[:10])) == 10
