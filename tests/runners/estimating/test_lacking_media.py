"""Plans of exports whose media no source has."""

import io
import tarfile
from pathlib import Path

import pytest

from tests.faults.winnow import run_here

RECIPE = """
version: 1
store: {path: store}
sources: {a: {root: in, files: ["*"], class: web}}
mix: {unit: samples}
export: [{webdataset: {path: out, media: image}}]
"""
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


def write(folder: Path, samples: int, *more: tuple[str, bytes]) -> None:
    (folder / "in").mkdir()
    (folder / "recipe.yaml").write_text(RECIPE)
    with tarfile.open(folder / "in" / "a.tar", "w") as archive:
        for name, body in (*((f"{number:04}.txt", b"A text.") for number in range(samples)), *more):
            header = tarfile.TarInfo(name)
            header.size = len(body)
            archive.addfile(header, io.BytesIO(body))


@pytest.mark.parametrize("command", ["plan", "run"])
def test_an_export_whose_media_no_record_has_is_refused_before_anything_is_measured(
    tmp_path: Path, command: str
) -> None:
    write(tmp_path, 3, ("0003.pdf", b"%PDF-1.4\n%\xe2\xe3\n" + b"x" * 50))
    done = run_here(tmp_path, command, "recipe.yaml")
    assert (done.status, done.err.splitlines()[-1]) == (
        1,
        "winnow: recipe.yaml:6: export[0].webdataset: media: image expects exactly one image/* per sample, but none of "
        "the 4 records of the sources has one: 3 without media, 1 application/pdf; write media: "
        "none, or add a source that has them",
    )
    assert not list((tmp_path / "store").rglob("*.parquet"))


def test_of_a_sample_it_is_a_note_and_one_picture_is_enough(tmp_path: Path) -> None:
    write(tmp_path, 300)
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 0, done.err
    assert "but none of the 256 records of the sources that were looked at has one: 256 without media" in done.out
    (tmp_path / "in" / "z.png").write_bytes(PNG)
    assert "that were looked at" not in run_here(tmp_path, "plan", "recipe.yaml").out
