"""The views on a store's content: what they show of a finished store, and of one that is not."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.runners.inspect.asking import Asker, opened, served, write_books
from winnow.runners.commands.main import main
from winnow.runners.inspect.labels import LabelsFile


def test_the_store_says_what_it_holds(page: Asker, books: Path) -> None:
    said = page.view("store")["answer"]
    assert (said["rows"], said["generation"], said["state"], said["missing"]) == (20, said["latest"], "finished", [])
    assert said["sources"] == [{"name": "books", "rows": 20}]
    assert said["recipe"] == str(books / "recipe.yaml")
    assert said["reasons"] == ["short"]
    assert {"name": "text.length.characters", "type": "int64", "numeric": True} in said["columns"]
    assert {"name": "text.length", "rows": 20} in said["layers"]
    assert sum(one["kept"] for one in said["languages"]) == 7


def test_a_store_without_anything_says_what_to_run(tmp_path: Path) -> None:
    write_books(tmp_path)
    assert main(["ingest", str(tmp_path / "recipe.yaml"), "--workers", "1", "--quiet"]) == 0
    for record in (tmp_path / "store" / "generations").iterdir():
        record.unlink()  # as before the first one is published
    with served(opened(tmp_path / "recipe.yaml")) as page:
        said = page.view("store")["answer"]
        assert (said["state"], said["rows"], said["columns"]) == ("empty", 0, [])
        assert said["missing"][0]["command"] == f"winnow ingest {tmp_path / 'recipe.yaml'}"
        for view in ("quarantine", "shards"):
            assert "winnow ingest" in page.view(view)["why"]
        assert page.view("sql", query="SELECT 1")["kind"] == "unavailable"


def test_a_store_in_the_middle_of_a_run_says_which_layers_are_missing(tmp_path: Path) -> None:
    write_books(tmp_path)
    assert main(["ingest", str(tmp_path / "recipe.yaml"), "--workers", "1", "--quiet"]) == 0
    with served(opened(tmp_path / "recipe.yaml")) as page:
        said = page.view("store")["answer"]
    assert (said["rows"], said["state"], said["languages"]) == (20, "unfinished", [])
    commands = {one["what"].split()[1]: one["command"].split()[1] for one in said["missing"]}
    assert commands == {"mix.tokens": "mix", "text.gopher": "annotate", "text.length": "annotate"}


def test_words_complete_conditions(page: Asker) -> None:
    said = page.view("words")["answer"]
    assert {"name": "text.length.characters", "type": "int64"} in said["columns"]
    assert "contains" in said["functions"]
    assert "+" not in said["functions"]
    assert "decisions" in said["tables"]


def test_quarantine_shows_the_bytes_that_could_not_be_read(page: Asker) -> None:
    said = page.view("quarantine")["answer"]
    assert said["reasons"] == [{"reason": "bad_json", "rows": 1}]
    (row,) = said["rows"]
    assert (row["file"], row["source"], bytes.fromhex(row["hex"])) == ("some.jsonl", "books", b"no JSON\n")
    assert page.view("quarantine", reason="other")["answer"]["rows"] == []


def test_shards_are_listed_by_what_is_asked(page: Asker) -> None:
    said = page.view("shards", order="rows")["answer"]
    assert [row["rows"] for row in said["rows"]] == [7, 7, 6]
    assert {row["outlier"] for row in said["rows"]} == {None}
    assert page.view("shards", order="size")["kind"] == "asked"


def test_a_page_of_sql_has_columns_and_rows(page: Asker) -> None:
    query = "SELECT kept, count(*) AS n, [1, 2] AS l, 9007199254740993 AS big, 'NaN'::DOUBLE AS f, '\\x00'::BLOB AS b "
    said = page.view("sql", query=f"{query} FROM decisions GROUP BY kept ORDER BY kept")["answer"]
    assert [column["name"] for column in said["columns"]] == ["kept", "n", "l", "big", "f", "b"]
    assert said["rows"] == [
        [False, 13, "[1, 2]", "9007199254740993", "nan", "00"],
        [True, 7, "[1, 2]", "9007199254740993", "nan", "00"],
    ]
    assert (said["total"], said["truncated"]) == (2, False)


def test_more_rows_than_the_page_turns_over_are_cut_and_said_to_be(page: Asker) -> None:
    query = "SELECT a.id, repeat('x', 3000) AS long FROM samples a, range(1000) b"
    first, last = (page.view("sql", query=query, page=number)["answer"] for number in (0, 99))
    assert (first["truncated"], len(first["rows"]), len(last["rows"])) == (True, 100, 100)
    assert first["total"] == 10_000
    assert first["rows"][0][1] == "x" * 2_000 + "…"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_is_downloaded_whole(page: Asker, ending: str, tmp_path: Path) -> None:
    said = page.ask("GET", f"/table.{ending}?query=SELECT%20id,%20'=1%2B1'%20AS%20f%20FROM%20samples%20ORDER%20BY%20id")
    assert said.status == 200
    assert said.headers["content-disposition"] == f'attachment; filename="table.{ending}"'
    if ending == "csv":
        lines = said.body.decode().splitlines()
        assert (lines[0], len(lines), lines[1][34:]) == ('"id","f"', 21, ',"\'=1+1"')
    else:
        (tmp_path / "table.parquet").write_bytes(said.body)
        assert pq.read_table(tmp_path / "table.parquet")["f"].to_pylist() == ["=1+1"] * 20


def test_a_table_that_cannot_be_made_is_said_in_a_line(page: Asker) -> None:
    assert b"only SELECT is allowed" in page.ask("GET", "/table.csv?query=DROP%20TABLE%20samples").body
    assert page.ask("GET", "/table.exe?query=SELECT%201").status == 400
    assert page.ask("GET", "/table.csv?query=SELECT%201", headers={"Cookie": None}).status == 403


def ids(page: Asker, kept: bool) -> list[str]:
    rows = page.view("sql", query=f"SELECT id FROM decisions WHERE kept = {kept} ORDER BY id")["answer"]["rows"]
    return [row[0] for row in rows]


def test_labels_are_kept_beside_the_recipe_and_exported(tmp_path: Path) -> None:
    write_books(tmp_path)
    recipe = tmp_path / "recipe.yaml"
    assert main(["run", str(recipe), "--workers", "1", "--quiet"]) == 0
    with served(opened(recipe)) as page:
        good, bad = ids(page, kept=True)[:2], ids(page, kept=False)[:3]
        for sample in good:
            page.view("labels", set={"id": sample, "label": "good"})
        for sample in bad:
            page.view("labels", set={"id": sample, "label": "bad"})
        page.view("labels", set={"id": bad[0], "label": None})
        said = page.view("labels")["answer"]
        assert said["labels"] == [
            *({"id": sample, "label": "good"} for sample in good),
            *({"id": sample, "label": "bad"} for sample in bad[1:]),
        ]
        assert said["file"] == str(tmp_path / "recipe.labels.jsonl")
        assert page.view("labels", export="train.jsonl", **{"as": "train-quality"})["answer"]["exported"]
        assert page.view("labels", export="good.jsonl", **{"as": "reference"})["ok"]
        assert "exists already" in page.view("labels", export="good.jsonl")["why"]
    rows = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    assert [(row["id"], row["label"]) for row in rows] == [*((one, 1) for one in good), *((one, 0) for one in bad[1:])]
    texts = [json.loads(line)["text"] for line in (tmp_path / "good.jsonl").read_text().splitlines()]
    assert [text.startswith("A text long enough") for text in texts] == [True, True]
    assert LabelsFile(tmp_path / "recipe.labels.jsonl").read() == dict.fromkeys(good, "good") | dict.fromkeys(
        bad[1:], "bad"
    )


@pytest.mark.parametrize("name", ["../out.jsonl", "/tmp/out.jsonl", "recipe.yaml", ".hidden.jsonl", "a/b.jsonl", ""])
def test_labels_are_exported_beside_the_recipe_alone(page: Asker, name: str) -> None:
    assert page.view("labels", export=name)["kind"] == "asked"


@pytest.mark.parametrize(
    "given", [{"id": "../../x", "label": "good"}, {"id": "0" * 32, "label": "fine"}, [], {"id": 1}]
)
def test_a_label_that_no_page_gives_is_refused(page: Asker, given: object) -> None:
    assert page.view("labels", set=given)["kind"] == "asked"


def test_a_labels_file_that_was_damaged_by_hand_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "recipe.labels.jsonl"
    file.write_text('{"id": "x", "label": 1}\n')
    with pytest.raises(Exception, match=r"recipe\.labels\.jsonl:1: expected"):
        LabelsFile(file).read()


def test_without_a_recipe_there_are_no_labels(books: Path) -> None:
    with served(opened(books / "store")) as page:
        assert page.view("labels")["kind"] == "unavailable"
        assert page.view("store")["answer"]["recipe"] is None
