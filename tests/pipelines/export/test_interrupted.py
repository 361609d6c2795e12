"""Exports that die half-way: workers that are killed, a disk that fills."""

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from tests.messages import assert_told
from tests.pipelines.export.drawn_stores import every, export, exports_of, make_draw, tree, words
from tests.pipelines.export.lethal import Lethal, LethalConfig
from tests.small_disks import small_disk_at
from winnow.pipelines.export.stage import BoundExport
from winnow.pipelines.store.local import LocalStore
from winnow.runners.engines.failures import WorkerLostError
from winnow.schemas.errors import ExportError, WinnowError
from winnow.schemas.problems import Place

PLACED = (Place("recipe.yaml", 9), "export[0]")


@pytest.mark.processes
def test_what_a_killed_worker_had_not_written_is_written_by_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(words(60)), "b": every(words(60, 60))})
    export(store, draw, exports_of(tmp_path, "jsonl: {path: whole, shard_bytes: 8192}"))
    lethal = BoundExport(Lethal(), LethalConfig(str(tmp_path), 1, (2,)), str(tmp_path / "out"), 8192, *PLACED)
    (done,) = export(store, draw, [lethal], 2, console=Console(markup=False, soft_wrap=True, width=200))
    assert_told(capsys.readouterr().out, "worker process died")
    assert done.manifest.outputs["train"]["samples"] == 120
    assert _lines(tmp_path / "out") == _lines(tmp_path / "whole")


@pytest.mark.processes
def test_a_shard_that_kills_every_worker_ends_the_export_and_what_stands_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.runners.stages.exports.writing.LOSSES", 0)
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(words(60)), "b": every(words(60, 60))})
    lethal = BoundExport(Lethal(), LethalConfig(str(tmp_path), 100, (2,)), str(tmp_path / "out"), 8192, *PLACED)
    with pytest.raises(WorkerLostError, match=r"^export: a worker process died"):
        export(store, draw, [lethal], 2)
    assert not (tmp_path / "out").exists()
    standing = _standing(tmp_path)
    assert standing
    healed = BoundExport(Lethal(), LethalConfig(str(tmp_path), 0, ()), str(tmp_path / "out"), 8192, *PLACED)
    (done,) = export(store, draw, [healed])
    assert done.manifest.outputs["train"]["samples"] == 120
    assert {name: (tmp_path / "out" / name).stat().st_ino for name in standing} == standing


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk_at(tmp_path / "disk", megabytes=4) as disk:
        yield disk


@pytest.mark.parametrize("room", [0, 40_000, 150_000])
def test_a_full_disk_is_one_clear_line_and_a_rerun_continues(small_disk: Path, tmp_path: Path, room: int) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(words(900))})
    entry = f"jsonl: {{path: {small_disk}/out, compression: none, shard_bytes: 65536}}"
    filler = small_disk / "filler"
    filler.write_bytes(bytes((4 << 20) - room - 4096))
    with pytest.raises(WinnowError, match="No space left on device") as failed:
        export(store, draw, exports_of(tmp_path, entry))
    assert str(failed.value).count("\n") == 0
    assert not (small_disk / "out").exists()
    filler.unlink()
    (done,) = export(store, draw, exports_of(tmp_path, entry))
    assert done.manifest.outputs["train"]["samples"] == 900
    assert [one.name for one in small_disk.iterdir()] == ["out"]


def test_a_full_disk_is_told_from_the_others_and_what_it_lacks(small_disk: Path, tmp_path: Path) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(words(900))})
    (small_disk / "filler").write_bytes(bytes((4 << 20) - 80_000))
    roomy, small = f"jsonl: {{path: {tmp_path}/roomy}}", f"mds: {{path: {small_disk}/out, shard_bytes: 65536}}"
    with pytest.raises(ExportError) as failed:
        export(store, draw, exports_of(tmp_path, roomy, small))
    said = str(failed.value)
    assert_told(said, f"{small_disk}/out", "space left")
    assert_told(said, f"{small_disk}/.out.winnow-unfinished")
    assert_told(said, "same command again")
    assert "roomy" not in said
    assert said.count("\n") == 0


def test_what_travels_through_files_needs_space_with_the_first_export(small_disk: Path, tmp_path: Path) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every(["x" * 200] * 900)})
    (small_disk / "filler").write_bytes(bytes((4 << 20) - 80_000))
    needed = {}
    for shuffle in ("files", "engine"):
        with pytest.raises(ExportError) as failed:
            export(store, draw, exports_of(tmp_path, f"mds: {{path: {small_disk}/out}}"), shuffle=shuffle)
        found = re.search(r"up to ([\d.]+) (K|M)iB more", str(failed.value))
        assert found is not None, failed.value
        needed[shuffle] = float(found[1]) * (1024 if found[2] == "M" else 1)
    assert needed["files"] == pytest.approx(2 * needed["engine"], rel=0.05)


def test_notes_say_which_export_they_are_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, draw = make_draw(LocalStore(tmp_path / "store"), {"a": every([*words(3), "long " * 500])})
    entries = ["jsonl: {path: a, shard_bytes: 1024}", "mds: {path: b, shard_bytes: 2048}", "jsonl: {path: c}"]
    export(store, draw, exports_of(tmp_path, *entries), console=Console(markup=False, soft_wrap=True, width=200))
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note")]
    said = "train: 1 samples alone exceed shard_bytes ({}); their shards exceed it too"
    assert notes == [
        f"note    jsonl {tmp_path}/a: {said.format('1,024')}",
        f"note    mds {tmp_path}/b: {said.format('2,048')}",
    ]


def _lines(folder: Path) -> dict[str, bytes]:
    return {path: raw for path, raw in tree(folder).items() if path != "winnow.json"}


def _standing(folder: Path) -> dict[str, int]:
    """The files of shards that are committed, and which they are."""
    (commits,) = (folder / ".out.winnow-unfinished").glob("*/commits")
    names = [orjson.loads(file.read_bytes())["written"]["files"][0]["path"] for file in commits.iterdir()]
    return {name: (commits.parent / "files" / name).stat().st_ino for name in names}
