"""Functions become operators by a decorator, also in worker processes, and mistakes are one line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import winnow
from tests.messages import assert_refused, assert_told
from winnow.filters import operators
from winnow.filters.operators import find_operator, operator_names
from winnow.pipelines.assets import AssetFiles
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.stages.running import stage_run
from winnow.schemas.errors import RecipeError, StageError, WinnowError
from winnow.schemas.recipe import recipe_from_text

ROOT = Path(__file__).resolve().parents[3]
WRITES = {"capitals": pa.int64()}
RECIPE = """\
version: 1
store: {path: store, shard_rows: 4}
sources: {s: {root: rows, files: ["*.jsonl"], class: web, key: id}}
annotate: [text.shouting]
keep: [{drop: text.shouting.capitals > 5, reason: loud, when_null: keep}]
"""
SCRIPT = """\
import pyarrow as pa, pyarrow.compute as pc, winnow
PATTERN = r"\\p{Lu}"

@winnow.operator("text.shouting", writes={"capitals": pa.int64()})
def shouting(batch):
    return {"capitals": pc.count_substring_regex(batch["text"], PATTERN)}

if __name__ == "__main__":
    winnow.run("recipe.yaml", workers=2)
    store = winnow.open_store("store", recipe="recipe.yaml")
    counts = "SELECT sum(capitals)::BIGINT AS capitals, count(*) FILTER (kept) AS kept"
    print(store.sql(counts + " FROM text.shouting JOIN decisions USING (id)").to_arrow().to_pylist())
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "_REGISTERED", {})


def shouting(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """How many letters are capitals."""
    return {"capitals": pc.count_substring_regex(batch["text"], r"\p{Lu}")}


def texts(*given: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(given, pa.large_string())], names=["text"])


def test_a_function_is_an_operator() -> None:
    assert winnow.operator("text.shouting", writes=WRITES)(shouting) is shouting
    assert "text.shouting" in operator_names()
    found = find_operator("text.shouting")
    assert found.summary == "How many letters are capitals."
    made = found.load(found.config(), AssetFiles())(texts("Ein HAUS", ""))
    assert made.to_pylist() == [{"capitals": 5}, {"capitals": 0}]
    (bound,) = bind(recipe_from_text(RECIPE)).operators
    assert bound.schema.names == ["status", "capitals"]


def test_other_code_has_another_key() -> None:
    def key() -> str:
        (bound,) = bind(recipe_from_text(RECIPE)).operators
        return bound.key({"samples": "x"})

    winnow.operator("text.shouting", writes=WRITES)(shouting)
    first = key()
    winnow.operator("text.shouting", writes=WRITES)(shouting)
    assert key() == first
    winnow.operator("text.shouting", writes=WRITES)(lambda batch: {"capitals": [1] * batch.num_rows})
    assert key() != first


@pytest.mark.parametrize(
    ("name", "writes", "line"),
    [
        ("text.length", WRITES, "'text.length' … name already"),
        ("shouting", WRITES, "expected a name such as text.shouting"),
        ("sound.loud", WRITES, "begins"),
        ("text.shouting", {}, "'writes' must name columns"),
        ("text.shouting", {"status": pa.string()}, "not 'status', which winnow writes"),
        ("text.shouting", {"capitals": "int"}, "'writes' … map columns"),
        ("text.shouting", ["capitals"], "'writes' … map columns"),
        ("text.shouting", {"a.b": pa.int64()}, "'a.b' … column"),
    ],
)
def test_a_wrong_registration_is_a_line(name: str, writes: Any, line: str) -> None:
    with pytest.raises(RecipeError) as raised:
        winnow.operator(name, writes=writes)(shouting)
    assert_told(str(raised.value), line)
    assert "\n" not in str(raised.value)
    with assert_refused(RecipeError, "'reads'", "'needs'"):
        winnow.operator("text.shouting", writes=WRITES, reads="text")(shouting)


def test_what_cannot_be_sent_to_workers_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:

        def logged(batch: pa.RecordBatch) -> dict[str, pa.Array]:
            log.write("x")
            return {"capitals": pa.nulls(batch.num_rows, pa.int64())}

        with assert_refused(RecipeError, "function cannot"):
            winnow.operator("text.shouting", writes=WRITES)(logged)


@pytest.mark.parametrize(
    ("made", "line"),
    [
        ({"small": [1]}, "returned the columns"),
        ({"capitals": [1, 2]}, "2 values … 'capitals' … 1 row"),
        ({"capitals": ["many"]}, "'capitals' … int64"),
    ],
)
def test_wrong_values_are_a_line(made: dict[str, list[object]], line: str) -> None:
    winnow.operator("text.shouting", writes=WRITES)(lambda _: made)
    found = find_operator("text.shouting")
    with assert_refused(WinnowError, line):
        found.load(found.config(), AssetFiles())(texts("One"))


def test_a_function_that_raises_is_named_before_a_run_and_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_row(tmp_path, monkeypatch)

    def always(_: pa.RecordBatch) -> dict[str, pa.Array]:
        raise ValueError("no feet\n  nor hands")

    def with_rows(batch: pa.RecordBatch) -> dict[str, pa.Array]:
        if batch.num_rows:
            raise ValueError("no feet\n  nor hands")
        return {"capitals": pa.nulls(0, pa.int64())}

    winnow.operator("text.shouting", writes=WRITES)(always)
    with assert_refused(RecipeError, "text.shouting", "ValueError", "feet\\n"):
        winnow.run("recipe.yaml", workers=1)

    def exits(_: pa.RecordBatch) -> dict[str, pa.Array]:
        raise SystemExit(0)

    winnow.operator("text.shouting", writes=WRITES)(exits)
    with assert_refused(RecipeError, "text.shouting", "SystemExit", "0"):
        winnow.run("recipe.yaml", workers=1)
    winnow.operator("text.shouting", writes=WRITES)(with_rows)
    with assert_refused(StageError, "text.shouting", "ValueError", "feet\\n"):
        winnow.run("recipe.yaml", workers=1)
    (report,) = tmp_path.glob("*/report.html")
    assert "The run stopped in annotate" in report.read_text()


@pytest.mark.processes
def test_a_function_that_ends_its_worker_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one_row(tmp_path, monkeypatch)
    died = tmp_path / "died"

    def once(batch: pa.RecordBatch) -> dict[str, pa.Array]:
        if batch.num_rows and not died.exists():
            died.touch()
            os._exit(3)
        return {"capitals": pa.nulls(batch.num_rows, pa.int64())}

    winnow.operator("text.shouting", writes=WRITES)(once)
    assert winnow.run("recipe.yaml", workers=2, quiet=False).new
    assert "annotate.cpu: a worker process died in text.shouting; running the remaining" in capsys.readouterr().out


@pytest.mark.processes
def test_a_function_that_kills_its_worker_on_every_row_ends_the_stage_and_the_rows_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_run, "SKIPPED", 2)
    one_row(tmp_path, monkeypatch)
    rows = "".join(f'{{"id": "{number}", "text": "A text"}}\n' for number in range(6))
    (tmp_path / "rows" / "a.jsonl").write_text(rows)
    good = tmp_path / "good"

    def deadly(batch: pa.RecordBatch) -> dict[str, pa.Array]:
        if batch.num_rows and not good.exists():
            os._exit(3)
        return {"capitals": pa.repeat(1, batch.num_rows)}

    winnow.operator("text.shouting", writes=WRITES)(deadly)
    line = (
        r"annotate\.cpu: text\.shouting killed its worker on 2 different rows, 3 times each; they are recorded in the "
        r"store's poison/annotate/s and left out from now on\. If text\.shouting is at fault, correct it or remove it"
    )
    with pytest.raises(StageError, match=line):
        winnow.run("recipe.yaml", workers=2)
    assert len(list((tmp_path / "store" / "poison" / "annotate" / "s").iterdir())) == 2
    good.touch()
    shutil.rmtree(tmp_path / "store" / "poison" / "annotate" / "s")
    winnow.run("recipe.yaml", workers=2)
    found = winnow.open_store("store", recipe="recipe.yaml").sql("SELECT count(capitals) AS n FROM text.shouting")
    assert found.to_arrow().to_pylist() == [{"n": 6}]


def test_a_rare_bad_row_ends_no_long_stage() -> None:
    many = {"text.shouting": stage_run.SKIPPED + 2, "text.other": 1}
    stage_run._require_rare("annotate.cpu", many, [], 3)
    with assert_refused(StageError, "text.shouting", "10"):
        stage_run._require_rare("annotate.cpu", many, [], 2)


def test_a_function_that_ends_the_process_that_tries_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    one_row(tmp_path, monkeypatch)
    exits = os._exit

    def ends(_: pa.RecordBatch) -> dict[str, pa.Array]:
        os._exit(0)

    winnow.operator("text.shouting", writes=WRITES)(ends)
    line = r"recipe\.yaml:4: annotate\[0\]\.text\.shouting: text\.shouting fails on an empty batch: .*os\._exit\(0\);"
    with pytest.raises(RecipeError, match=line):
        winnow.run("recipe.yaml", workers=1)
    assert os._exit is exits
    assert "the process ended" not in capfd.readouterr().err


@pytest.mark.processes
def test_a_fault_in_a_native_library_that_ends_the_process_is_said(tmp_path: Path) -> None:
    fault = SCRIPT.replace("    return {", "    import ctypes\n    ctypes.string_at(0)\n    return {")
    done = script_ends(tmp_path, fault)
    assert done.returncode == -11
    assert (
        "recipe.yaml:4: annotate[0].text.shouting: the process ended in text.shouting, on an empty batch" in done.stderr
    )


def one_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "rows").mkdir()
    (folder / "rows" / "a.jsonl").write_text('{"id": "1", "text": "A text"}\n')
    (folder / "recipe.yaml").write_text(RECIPE)


def script(folder: Path, text: str, **environment: str) -> str:
    done = script_ends(folder, text, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def script_ends(folder: Path, text: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    (folder / "rows").mkdir()
    rows = [{"id": str(number), "text": "A b " * number + "x"} for number in range(12)]
    (folder / "rows" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "notebook.py").write_text(text)
    return subprocess.run(
        [sys.executable, "notebook.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.large
def test_a_function_of_a_script_reaches_several_workers(tmp_path: Path) -> None:
    assert script(tmp_path, SCRIPT) == "[{'capitals': 66, 'kept': 6}]"
