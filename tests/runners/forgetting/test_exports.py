"""Forgetting and what was exported: exports are named, refused as they stand, and written again without the rows."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import zstandard
from rich.console import Console

from tests.messages import assert_refused, assert_told
from tests.runners.forgetting.crawl import HOST, SECRET, write_crawl, write_recipe
from tests.runners.forgetting.files import holders
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.mix.drawn_objects import DrawnObjects
from winnow.pipelines.processes import run_folder
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.location import open_store_at
from winnow.pipelines.store.tables import read_table
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.engines.workers.logs import kept_log, worker_log
from winnow.runners.stages import store_stages as stages
from winnow.runners.stages.exports.recipe_exports import export
from winnow.runners.stages.mixing import Mixed, mix
from winnow.schemas.environment.temporary_root import RUN_FOLDER_VARIABLE
from winnow.schemas.errors import ExportError
from winnow.schemas.recipe import load_recipe

pytestmark = pytest.mark.processes

ONE = Engine("local", 1)
SILENT = Console(quiet=True)
SELECTORS = ("--domain", HOST, "--url", "http://5.example")
MIXTURE = """
mix: {split: {validation: 0.2}}
export:
- parquet: {path: out/hf, shard_bytes: 8 KiB}
- jsonl: {path: out/lines, shard_bytes: 8 KiB}
- webdataset: {path: out/wds, shard_bytes: 8 KiB}
- mds: {path: out/mds, shard_bytes: 8 KiB, compression: zstd}
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    write_crawl(folder)
    recipe = write_recipe(folder, extract=("main",), annotate="text.length", rules="")
    recipe.write_text(recipe.read_text() + MIXTURE)
    with open(os.devnull, "w") as nowhere:
        stages.run_all(bind(load_recipe(recipe)), ONE, Console(file=nowhere))
        export(bind(load_recipe(recipe)), ONE, SILENT)
    return folder


@pytest.fixture
def crawl(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store and its exports, in a place of their own: the exports are registered where they are now."""
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    monkeypatch.chdir(folder)
    for name in ("outputs", "copies"):
        shutil.rmtree(folder / "store" / name)
    export(bind(load_recipe("recipe.yaml")), ONE, SILENT)
    return folder


def store() -> Store:
    return open_store_at("store")


def mixed() -> Mixed:
    return mix(bind(load_recipe("recipe.yaml")), ONE, SILENT)


def drawn(made: Mixed) -> set[bytes]:
    return {
        identity
        for one in DrawnObjects.read(made.store.objects, made.record.draws)
        for identity in read_table(made.store.objects, one.object, ["id"])["id"].to_pylist()
    }


def secrets() -> set[bytes]:
    """The ids of the rows that hold the word."""
    opened = store()
    return {
        row["id"]
        for one in opened.manifest(opened.require_latest(), "samples")
        for batch in opened.batches(one)
        for row in batch.to_pylist()
        if SECRET in str(row)
    }


def shown(folder: Path) -> list[str]:
    """Every file of an export in which the word stands, whatever compresses it."""
    found = set(holders(folder))
    for path in folder.rglob("*"):
        raw = path.read_bytes() if path.is_file() else b""
        if path.suffix in (".zst", ".zstd"):
            raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        if SECRET.encode() in raw:
            found.add(str(path.relative_to(folder)))
    return sorted(found)


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    capsys.readouterr()
    main(list(command))
    return capsys.readouterr().out


def test_exports_are_named_as_affected(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(crawl / "out" / "mds")
    said = printed(capsys, "forget", "recipe.yaml", *SELECTORS)
    number = store().require_latest().number
    for name in ("hf", "lines", "wds"):
        path = crawl / "out" / name
        assert_told(said, str(path), str(number))
    assert "out/mds" not in said, "what is gone shows nothing"
    found = json.loads(printed(capsys, "forget", "recipe.yaml", *SELECTORS, "--json"))
    assert {one["path"] for one in found["outputs"] if one["kind"] == "export"} == {
        str(crawl / "out" / name) for name in ("hf", "lines", "wds")
    }


def test_an_export_whose_record_is_lost_is_named_by_its_copy(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = printed(capsys, "forget", "recipe.yaml", *SELECTORS, "--dry-run")
    records = sorted((crawl / "store" / "outputs").iterdir())
    lost = records[1].read_bytes()
    records[1].unlink()
    assert printed(capsys, "forget", "recipe.yaml", *SELECTORS, "--dry-run") == whole
    name = f"outputs/{records[1].name}"
    line = f"{name} is missing; run 'winnow gc STORE', which writes it again from its copy, if there is one"
    assert line in printed(capsys, "audit", "--store-only", "store")
    assert_told(printed(capsys, "gc", "store"), str(name), "written again")
    assert records[1].read_bytes() == lost
    shutil.rmtree(crawl / "store" / "copies")  # as in a store from before there were copies
    assert main(["audit", "--store-only", "store"]) == 0
    assert main(["gc", "store"]) == 0
    assert [path.name for path in sorted((crawl / "store" / "copies").iterdir())] == [one.name for one in records]


def test_an_export_is_named_after_a_purge_until_it_is_written_again(
    crawl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = store().require_latest().number
    printed(capsys, "forget", "store", *SELECTORS)
    printed(capsys, "gc", "store", "--purge")
    said = printed(capsys, "forget", "store", *SELECTORS)
    for name in ("hf", "lines", "wds", "mds"):
        assert f"export {crawl / 'out' / name} (generation {number}) may contain such rows" in said
    assert "no longer has the generations of these outputs, so their rows cannot be searched" in said
    printed(capsys, "export", "recipe.yaml", "--replace")
    assert "may contain such rows" not in printed(capsys, "forget", "store", *SELECTORS)


def test_what_is_forgotten_is_in_no_plan_that_is_made_after(crawl: Path) -> None:
    before, gone = mixed(), secrets()
    assert gone
    assert gone <= drawn(before)
    assert main(["forget", "recipe.yaml", *SELECTORS]) == 0
    after = mixed()
    assert after.new
    assert after.record.plan.name != before.record.plan.name
    assert drawn(after) == drawn(before) - gone
    assert not mixed().new


def test_an_export_that_holds_it_is_refused_and_written_again_without(crawl: Path) -> None:
    folders = [crawl / "out" / name for name in ("hf", "lines", "wds", "mds")]
    assert all(shown(folder) for folder in folders)
    assert main(["forget", "recipe.yaml", *SELECTORS]) == 0
    recipe = load_recipe("recipe.yaml")
    with assert_refused(ExportError, "contains", "--replace"):
        export(bind(recipe), ONE, SILENT)
    assert all(shown(folder) for folder in folders), "nothing is touched without a word"
    done = export(bind(recipe), ONE, SILENT, replace=True)
    assert [one.new for one in done.finished] == [True] * 4
    assert [shown(folder) for folder in folders] == [[]] * 4
    assert sorted(path.name for path in (crawl / "out").iterdir()) == ["hf", "lines", "mds", "wds"]
    assert main(["audit", "recipe.yaml"]) == 0


def test_the_audit_names_plans_and_exports_of_rows_that_are_forgotten_since(
    crawl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "forgotten" not in printed(capsys, "audit", "recipe.yaml")
    assert main(["forget", "recipe.yaml", *SELECTORS]) == 0
    said = printed(capsys, "audit", "recipe.yaml")
    assert "note    plan" in said
    assert_told(said, str(crawl / "out" / "hf"), "3 rows")
    assert "audit   clean" in said
    assert f"export {crawl}" not in printed(capsys, "audit", "recipe.yaml", "--store-only")


def test_a_purge_drops_the_plans_that_draw_it(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = mixed().record.plan.request
    assert main(["forget", "recipe.yaml", *SELECTORS]) == 0
    assert main(["gc", "recipe.yaml", "--purge"]) == 0
    objects = store().objects
    assert not list(objects.list(layout.plan_objects(old)))
    said = printed(capsys, "audit", "recipe.yaml")
    assert_told(said, str(crawl / "out" / "hf"), "forgotten since")
    export(bind(load_recipe("recipe.yaml")), ONE, SILENT, replace=True)
    assert shown(crawl / "store") == shown(crawl / "out") == []
    assert main(["audit", "recipe.yaml"]) == 0


def test_a_changed_export_fails_the_audit(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim = next((crawl / "out" / "lines").glob("train-*"))
    victim.write_bytes(victim.read_bytes()[:-1])
    assert main(["audit", "recipe.yaml"]) == 1
    found = json.loads(printed(capsys, "audit", "recipe.yaml", "--json"))
    assert all(problem.startswith(f"export {crawl / 'out' / 'lines'}: ") for problem in found["problems"])
    assert any(victim.name in problem for problem in found["problems"])
    assert main(["audit", "recipe.yaml", "--store-only"]) == 0


def test_a_purge_names_what_failed_runs_left_and_the_search_for_duplicates_that_an_export_needs_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [f"The text of line {number % 7} is long enough for all." for number in range(9)]
    (tmp_path / "lines.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))
    (tmp_path / "recipe.yaml").write_text(
        "version: 1\nstore: {path: store}\nsources: {lines: {root: ., files: ['*.jsonl'], class: web}}\n"
        "dedupe: {exact: {}}\nmix: {unit: tokens, tokenizer: bytes}\nexport: [{jsonl: {path: out}}]\n"
    )

    def winnow(command: str, *more: str, status: int = 0) -> str:
        capsys.readouterr()
        assert main([command, "recipe.yaml", *more]) == status
        shown = capsys.readouterr()
        return shown.err if status else shown.out

    winnow("run", "--workers", "1")
    (identity,) = {row["id"] for row in read_table(store().objects, mixed_samples()).slice(0, 1).to_pylist()}
    monkeypatch.delenv(RUN_FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(run_folder, "_folder", None)
    made = worker_log()
    log = made.rename(kept_log(made))
    assert log.stat().st_mode & 0o077 == 0
    forgotten = winnow("forget", "--id", identity.hex())
    assert_told(forgotten, str(log), "purge removes")
    purged = winnow("gc", "--purge")
    assert f"removed       {log}, which a failed run left\n" in purged
    assert not log.exists()
    assert_told(purged, "winnow dedupe", "recipe.yaml")
    assert "next          winnow dedupe recipe.yaml: " in winnow("gc", "--purge")  # also where the first was killed
    assert "run: winnow dedupe recipe.yaml" in winnow("export", "--workers", "1", status=1)
    winnow("dedupe", "--workers", "1")
    winnow("export", "--replace", "--workers", "1")
    assert re.search(r"out +[0-9a-f]{16} +ok ", winnow("export", "--check"))
    assert "next " not in winnow("gc", "--purge")
    assert "out: already finished" in winnow("export", "--workers", "1")  # which needs the duplicates


def mixed_samples() -> str:
    """The first object of samples."""
    generation = store().require_latest()
    return next(iter(store().manifest(generation, layout.SAMPLES))).object
