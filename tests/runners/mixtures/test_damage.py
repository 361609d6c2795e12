"""Stores, plans and media that are not what they were when they are exported."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.messages import assert_told, assert_told_each
from tests.pipelines.export.test_media import png
from tests.runners.mixtures.tiny import MIX, RECIPE, Tiny, tree
from winnow.pipelines.export.places.manifest import LeftOut
from winnow.runners.facts.exports import left_out_lines

ONE = "{jsonl: {path: out/jsonl}}"


@pytest.mark.parametrize(
    ("pattern", "raw", "said"),
    [
        ("plans/*/*.parquet", None, "plan"),
        ("plans/*/*.parquet", b"PAR1 and nothing else PAR1", "plan"),
        ("plans/*/plan.json", b"", "plan.json"),
        ("plans/*/plan.json", b"\xff\xfe", "plan.json"),
    ],
)
def test_a_plan_that_is_damaged_in_the_store(tiny: Tiny, pattern: str, raw: bytes | None, said: str) -> None:
    tiny.write(MIX, ONE)
    tiny.mix()
    file = sorted((tiny.folder / "store").glob(pattern))[0]
    if raw is None:
        file.unlink()
    else:
        file.write_bytes(raw)
    complaint = tiny.complaint("export")
    assert said in complaint
    assert str(tiny.folder / "store") in complaint
    assert not (tiny.folder / "out/jsonl").exists()


def test_a_shard_of_the_store_that_is_gone(tiny: Tiny) -> None:
    tiny.write(MIX, ONE)
    tiny.mix()
    store = tiny.store
    (tiny.folder / "store" / store.manifest(store.require_latest(), "samples")[0].object).unlink()
    complaint = tiny.complaint("export")
    assert "store" in complaint
    assert not (tiny.folder / "out/jsonl").exists()


def test_a_key_of_pseudonyms_that_is_not_there(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    base = RECIPE.replace(
        "edits: [text.pii]",
        'environment: {PII_KEY: {}}\nedits: [{text.pii: {replace: pseudonym, key: "${PII_KEY}"}}]',
    )
    tiny.write(MIX, ONE, base=base)
    monkeypatch.delenv("PII_KEY", raising=False)
    assert "PII_KEY" in tiny.complaint("export")
    monkeypatch.setenv("PII_KEY", "sixteen-bytes-of-it")
    tiny.run("export")
    names = tree(tiny.folder / "out")
    monkeypatch.setenv("PII_KEY", "another-sixteen-bytes")
    assert "contains an export of plan" in tiny.complaint("export")  # another key makes other texts
    assert tree(tiny.folder / "out") == names


def test_media_that_are_gone_are_lines_of_the_ledger(tmp_path: Path) -> None:
    tiny = Tiny(tmp_path)
    (tmp_path / "pictures").mkdir()
    for shade in range(6):
        (tmp_path / "pictures" / f"{shade}.png").write_bytes(png(shade))
    source = "sources: {crawl: {root: pictures, files: ['*.png'], class: web}}"
    tiny.write(
        "{budget: 12}", "{webdataset: {path: out, media: image}}", base=f"version: 1\nstore: {{path: store}}\n{source}"
    )
    tiny.run("run")
    assert len(pictures(tmp_path / "out")) == 12
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "pictures/2.png").unlink()
    (tmp_path / "pictures/4.png").write_bytes(png(99))
    shown = tiny.run("export")
    assert sorted(pictures(tmp_path / "out")) == sorted([png(shade) for shade in (0, 1, 3, 5)] * 2)
    assert "2 samples left out: media_gone, 2.png" in shown
    card = json.loads((tmp_path / "out/card.json").read_bytes())
    assert [(one["file"], one["samples"]) for one in card["left_out"]["export"]] == [("2.png", 2), ("4.png", 2)]
    assert "media\\_gone: 2.png" in (tmp_path / "out/README.md").read_text()
    for file in (tmp_path / "pictures").iterdir():
        file.unlink()
    shutil.rmtree(tmp_path / "out")
    shown = tiny.run("export")  # nothing is left of it, and that is said
    assert pictures(tmp_path / "out") == []
    assert shown.count("samples left out: media_gone") == 6


def test_many_files_that_are_left_out_are_a_few_lines() -> None:
    lost = [LeftOut("media_unchangeable", f"{number}.png", "damaged", 2) for number in range(500)]
    lines = list(left_out_lines([*lost, LeftOut("media_gone", "a.tar", "missing", 1)]))
    assert_told_each(lines[:2], ("1 sample", "media_gone", "a.tar"), ("2 samples", "media_unchangeable", "0.png"))
    assert_told(lines[-1], "980 samples", "media_unchangeable", "490 more", "winnow.json", whole=True)
    assert len(lines) == 12


def pictures(folder: Path) -> list[bytes]:
    found = []
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as tar:
            members = (tar.extractfile(member) for member in tar if member.name.endswith(".jpg"))
            found += [stream.read() for stream in members if stream is not None]
    return found
