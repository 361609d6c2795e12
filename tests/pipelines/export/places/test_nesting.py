"""Exports in one another, whosever they are, and formats that cannot: refused before anything runs, all at once."""

from pathlib import Path

import pytest

from tests.messages import assert_told
from tests.pipelines.export.drawn_stores import every, export, exports_of, make_draw, tree, words
from tests.pipelines.export.made_exports import ONE, StoppedError, make
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import RecipeError


def refusal(folder: Path, *entries: str) -> str:
    """What is said of exports that a recipe asks for; nothing is touched."""
    before = tree(folder)
    with pytest.raises(RecipeError) as error:
        exports_of(folder, *entries)
    (folder / "recipe.yaml").unlink()
    assert tree(folder) == before
    return str(error.value)


def test_a_folder_in_an_export_of_another_recipe_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "out", "one", ONE)
    for path in ("out/more", "out/data/deep/er"):
        said = refusal(tmp_path, f"jsonl: {{path: {path}}}")
        assert "recipe.yaml:7: export[0].jsonl.path: is inside" in said
        assert_told(said, f"'{tmp_path}/out'", "export")


def test_a_folder_that_holds_an_export_of_another_recipe_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "out/deep/hf", "one", ONE)
    said = refusal(tmp_path, "jsonl: {path: out}")
    assert_told(said, "contains", f"'{tmp_path}/out/deep/hf'")


def test_unfinished_exports_count_as_such(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        make(tmp_path / "out/hf", "one", ONE, stop_after=1)
    unfinished = tmp_path / "out/.hf.winnow-unfinished"
    assert_told(refusal(tmp_path, "mds: {path: out/hf/in}"), f"'{tmp_path}/out/hf'", "being written")
    assert f"is inside '{unfinished}', an unfinished export" in refusal(tmp_path, f"mds: {{path: {unfinished}/in}}")
    assert f"contains '{unfinished}', an unfinished export" in refusal(tmp_path, "mds: {path: out}")
    exports_of(tmp_path, "jsonl: {path: out/hf}", "jsonl: {path: out/other}")  # its own place, and one beside it


def test_an_export_written_before_is_in_nobodys_way_at_its_own_place(tmp_path: Path) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(words(5))})
    for new in (True, False):
        (done,) = export(store, draw, exports_of(tmp_path, "jsonl: {path: out}"))
        assert done.new is new


def test_a_file_above_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    said = refusal(tmp_path, "jsonl: {path: notes/out/hf}")
    assert_told(said, f"'{tmp_path}/notes'")


def test_all_that_is_wrong_with_exports_is_said_at_once(tmp_path: Path) -> None:
    said = refusal(
        tmp_path,
        "parquett: {path: a}",
        "jsonl: {path: b, compresion: gzip}",
        "mds: {path: c, shard_bytes: 4 GiB, level: 99}",
        "mds: {path: d, shard_bytes: 4 GiB}",
        "megatron: {path: e, tokenizer: gone.json}",
        "jsonl: {path: store/f}",
    ).splitlines()
    assert [line.partition("recipe.yaml:")[2].partition(": ")[0] for line in said] == ["7", "8", "9", "10", "11", "12"]
    for line, part in zip(
        said,
        (
            "unknown export format 'parquett'",
            "compresion",
            "level",
            "mds.shard_bytes: 4,294,967,296 is too large for a shard of mds; expected at most 4,294,967,295",
            "gone.json",
            "overlaps the store",
        ),
        strict=True,
    ):
        assert part in line
