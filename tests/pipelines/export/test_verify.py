"""Looking at what stands: every export of a recipe, nothing written, and what is wrong of each."""

import io
import subprocess
from pathlib import Path

from rich.console import Console

from tests.faults.winnow import ended, run_here
from tests.messages import assert_told, assert_told_each
from tests.pipelines.export.drawn_stores import every, export, exports_of, make_draw, tree, words
from tests.small_disks import small_disk_at
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.store.local import LocalStore
from winnow.runners.stages.exports.verifying import print_verified, verify_exports
from winnow.schemas.recipe import load_recipe

ENTRIES = ("jsonl: {path: out/a}", "jsonl: {path: out/b, compression: none}", "mds: {path: out/c}")


def verified(folder: Path) -> tuple[bool, list[str]]:
    """What is said of the exports of the folder's recipe; nothing is touched."""
    before = tree(folder)
    told = io.StringIO()
    good = print_verified(
        verify_exports(bind(load_recipe(folder / "recipe.yaml"))),
        Console(markup=False, soft_wrap=True, file=told, width=80),
    )
    assert tree(folder) == before
    assert not list(folder.rglob(".*.winnow-*"))
    return good, told.getvalue().splitlines()


def write(folder: Path) -> None:
    store, draw = make_draw(LocalStore(folder / "store"), {"a": every(words(20))})
    export(store, draw, exports_of(folder, *ENTRIES))


def test_exports_that_are_as_they_were_written(tmp_path: Path) -> None:
    write(tmp_path)
    good, said = verified(tmp_path)
    assert good
    rows = [line.split() for line in said if line.startswith(str(tmp_path))]
    assert [(row[0], row[2]) for row in rows] == [(f"{tmp_path}/out/{name}", "ok") for name in "abc"]
    assert not any(line.startswith("WRONG") for line in said)
    assert said[-1].startswith("verified  3 exports: 4 files, ")


def test_what_cannot_be_written_can_be_verified(tmp_path: Path) -> None:
    with small_disk_at(tmp_path / "disk", 8) as disk:
        write(disk)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert "verified  3 exports: " in ended(run_here(disk, "export", "--verify", "recipe.yaml"))


def test_every_export_that_is_not_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "out/a/train-00000-of-00001.jsonl.zst").unlink()
    lines = tmp_path / "out/b/train-00000-of-00001.jsonl"
    lines.write_bytes(lines.read_bytes()[:-2] + b" \n")
    exports_of(tmp_path, *ENTRIES, "parquet: {path: out/d}")
    good, said = verified(tmp_path)
    assert not good
    recipe = f"winnow export {tmp_path}/recipe.yaml"
    assert_told_each(
        [line for line in said if line.startswith("WRONG")],
        ("WRONG", f"{tmp_path}/out/a", "train-00000-of-00001.jsonl.zst", "--replace"),
        ("WRONG", f"{tmp_path}/out/b", "train-00000-of-00001.jsonl", "--replace"),
        ("WRONG", f"{tmp_path}/out/d", str(recipe)),
    )
    assert_told(said[-1], "1 of 4", "2 files")


def test_what_is_advised_mends_it(tmp_path: Path) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(words(20))})
    exports = exports_of(tmp_path, *ENTRIES)
    export(store, draw, exports)
    before = tree(tmp_path / "out")
    lines = tmp_path / "out/b/train-00000-of-00001.jsonl"
    lines.write_bytes(lines.read_bytes()[:-2] + b" \n")  # of the same size
    assert not verified(tmp_path)[0]
    assert [one.new for one in export(store, draw, exports, replace=True)] == [False, True, False]
    assert tree(tmp_path / "out") == before
    assert verified(tmp_path)[0]


def test_a_tokenizer_that_is_gone_keeps_nobody_from_looking(tmp_path: Path) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(words(20))})
    export(store, draw, exports_of(tmp_path, "megatron: {path: out, tokenizer: bytes, end_token: 256}"))
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("tokenizer: bytes", "tokenizer: gone.json"))
    good, said = verified(tmp_path)
    assert good
    assert any("cannot determine whether the options have changed" in line for line in said)
    assert any("gone.json" in line for line in said)
    (tmp_path / "out/train_00000_of_00001_text_document.idx").unlink()
    assert not verified(tmp_path)[0]


def test_other_options_of_the_recipe_are_a_note(tmp_path: Path) -> None:
    write(tmp_path)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("compression: none", "compression: gzip"))
    good, said = verified(tmp_path)
    assert good
    assert_told(said, "'none'", "'gzip'")
