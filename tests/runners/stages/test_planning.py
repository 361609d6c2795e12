"""`winnow plan` on a store: what the rules drop and why, as tables, as JSON and as a file."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.messages import assert_told
from tests.pipelines.rules.stores import Shard, make_store
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.local import LocalStore
from winnow.runners.commands.main import main
from winnow.schemas.recipe import load_recipe

RECIPE = """\
version: 1
store: {path: store}
sources:
  crawl: {root: crawl, files: ["*.warc"], class: web}
  books: {root: crawl, files: ["*.warc"], class: public}
annotate: [{text.fineweb: {preset: fineweb}}]
eligible:
- {drop: text.fineweb.words < 3, reason: short, when_null: drop}
keep:
- {preset: fineweb, rules: {line_punct_ratio: off, char_dup_ratio: off, list_ratio: off}}
"""


def written(folder: Path, *, layer: bool = True) -> str:
    """A recipe and its store of two sources."""
    (folder / "crawl").mkdir()
    (folder / "crawl/empty.warc").write_bytes(b"")
    path = folder / "recipe.yaml"
    path.write_text(RECIPE)
    recipe = load_recipe(path)
    objects = LocalStore(folder / "store")
    (fineweb,) = bind(recipe).operators
    store = Store(objects, store_record(recipe))
    every = expected_keys(bind(recipe).ingest(store), [fineweb], store, None)

    def shard(source: str, words: list[int | None], ratios: list[float | None]) -> Shard:
        rows = [
            {"status": "ok", "words": w, "lines": None if w is None else w - 1, "short_line_ratio": ratio}
            for w, ratio in zip(words, ratios, strict=True)
        ]
        table = pa.Table.from_pylist(rows, schema=fineweb.schema)
        return Shard(source, len(rows), {"text.fineweb": table} if layer else {}, lengths=[100] * len(rows))

    shards = {
        "crawl-0": shard("crawl", [1, 2, 5, None, 9], [0.9, 0.1, 0.9, None, 0.1]),
        "books-0": shard("books", [7], [0.5]),
    }
    make_store(objects, shards, lambda layer, source: every[layer][source])
    return str(path)


def test_the_tables_of_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", written(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith(
        """
Rules: 4 of 6 samples dropped; bytes of the record
list      reason            dropped   share  bytes  fires  by null
--------  ----------------  -------  ------  -----  -----  -------
eligible  short                   3  50.0 %  300 B      3        1
keep      no_lines                0   0.0 %    0 B      1        0
keep      short_line_ratio        1  16.7 %  100 B      2        0
          kept                    2  33.3 %  200 B

Kept by source and language
source  language  samples  kept    share  kept bytes  dropped  top reason
------  --------  -------  ----  -------  ----------  -------  ------------
crawl   unknown         5     1   20.0 %       100 B        4  short 75.0 %
books   unknown         1     1  100.0 %       100 B        0

"""
    )
    rule = '- {drop: "text.fineweb.lines = 0", reason: no_lines, when_null: keep}'
    assert rule not in printed
    assert main(["plan", str(tmp_path / "recipe.yaml"), "--resolved"]) == 0
    resolved = capsys.readouterr().out
    assert rule in resolved
    assert resolved.endswith(printed)


def test_a_plan_as_json_adds_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", written(tmp_path), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    rules = plan["rules"]
    assert rules["rows"] == {"rows": 6, "bytes": 600}
    assert rules["rows"]["rows"] == rules["kept"]["rows"] + sum(rule["dropped"]["rows"] for rule in rules["rules"])
    assert [(rule["list"], rule["reason"], rule["fires"]["rows"]) for rule in rules["rules"]] == [
        ("eligible", "short", 3),
        ("keep", "no_lines", 1),
        ("keep", "short_line_ratio", 2),
    ]
    assert rules["rules"][1]["place"].endswith("recipe.yaml:10")
    assert [(group["source"], group["dropped"]) for group in rules["groups"]] == [
        ("books", {}),
        ("crawl", {"eligible.short": {"rows": 3, "bytes": 300}, "keep.short_line_ratio": {"rows": 1, "bytes": 100}}),
    ]
    assert (plan["generation"], [source["name"] for source in plan["sources"]]) == (1, ["crawl", "books"])


def test_dropped_samples_go_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "made" / "dropped.parquet"
    file.parent.mkdir()
    assert main(["plan", written(tmp_path), "--decisions", str(file)]) == 0
    assert pq.read_table(file).select(["url", "reason", "reasons"]).to_pylist() == [
        {"url": "https://crawl-0.example/0", "reason": "short", "reasons": ["short", "no_lines", "short_line_ratio"]},
        {"url": "https://crawl-0.example/1", "reason": "short", "reasons": ["short"]},
        {"url": "https://crawl-0.example/2", "reason": "short_line_ratio", "reasons": ["short_line_ratio"]},
        {"url": "https://crawl-0.example/3", "reason": "short", "reasons": ["short"]},
    ]
    assert [path.name for path in file.parent.iterdir()] == ["dropped.parquet"]


def test_a_layer_that_is_not_measured_yet_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, layer=False)
    assert main(["plan", path]) == 1
    printed = capsys.readouterr()
    assert "estimate  nothing to ingest" in printed.out
    assert_told(
        printed.err,
        f"{path}:8",
        "eligible[0]",
        "generation 1",
        "text.fineweb",
        "winnow annotate",
        str(path),
        whole=True,
    )


def test_a_plan_without_a_store_checks_the_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl/empty.warc").write_bytes(b"")
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    assert main(["plan", str(path)]) == 0
    assert "store (does not exist yet)" in capsys.readouterr().out
    assert main(["plan", str(path), "--decisions", "x.parquet"]) == 1
    assert_told(capsys.readouterr().err, "--decisions", "x.parquet", whole=True)
    assert not (tmp_path / "store").exists()
    path.write_text(RECIPE.replace("fineweb.words", "fineweb.wrods"))
    assert main(["plan", str(path)]) == 1
    assert_told(capsys.readouterr().err, ":8", "eligible[0]", "'text.fineweb.wrods'", "'text.fineweb.words'")


def test_decisions_need_a_files_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe, absent = written(tmp_path), tmp_path / "no" / "x"
    for place, why in ((tmp_path, "is a folder; give a file name"), (absent, "its folder does not exist")):
        assert main(["plan", recipe, "--decisions", str(place)]) == 1
        assert f"--decisions {place}: {why}" in capsys.readouterr().err
    assert not absent.parent.exists()
