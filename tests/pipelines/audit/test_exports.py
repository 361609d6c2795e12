"""An export that is not what it says, or not what was planned, is caught from its files alone, in every format."""

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.messages import assert_told, assert_told_each
from tests.pipelines.export.drawn_stores import BOOKS, WEB, Given, Rows, export, exports_of, make_draw, words
from winnow.pipelines.audit.exports import ExportsCheck
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.export.formats import formats
from winnow.pipelines.forgetting.outputs import EXPORT, register
from winnow.pipelines.mix.plans import PlanRecord
from winnow.pipelines.running.job_tasks import HERE, TaskFolder
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.integrity.sealed import put_record
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import RecipeError

ENTRIES = {
    "parquet": "parquet: {path: %s, shard_bytes: 4096}",
    "jsonl": "jsonl: {path: %s, shard_bytes: 4096}",
    "lines": "jsonl: {path: %s, shard_bytes: 4096, compression: none}",
    "webdataset": "webdataset: {path: %s, shard_bytes: 4096, energon: true}",
    "mds": "mds: {path: %s, shard_bytes: 4096}",
    "packed": "mds: {path: %s, shard_bytes: 4096, compression: zstd}",
    "megatron": "megatron: {path: %s, shard_bytes: 4096, tokenizer: bytes, end: false}",
    "merged": "megatron: {path: %s, shard_bytes: 4096, tokenizer: bytes, end: false, merge: true}",
    "arrayrecord": "arrayrecord: {path: %s, shard_bytes: 4096, by: class}",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, and exports of 21 samples for training and 4 for validation in every format."""
    folder = tmp_path_factory.mktemp("whole")
    given = [Given(row, copies=1 + row % 2) for row in range(14)]
    held = [Given(row, output=1) for row in range(14, 18)]
    shards = {"a": Rows(words(18), [*given, *held]), "b": Rows(["uno", "due"], [], source="books")}
    store, draw = make_draw(LocalStore(folder / "store"), shards, ((WEB, BOOKS), (WEB,)), ("train", "validation"))
    put_record(store.objects, layout.plan_record(draw.plan.request), PlanRecord(draw.plan, ""))
    export(store, draw, exports_of(folder, *(entry % name for name, entry in ENTRIES.items())))
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    store = open_store(LocalStore(tmp_path / "store"))
    for name in ENTRIES:
        register(store.objects, EXPORT, tmp_path / name, 1)
    return tmp_path


def audited(folder: Path, *named: str, **stale: int) -> Findings:
    findings = Findings()
    check = ExportsCheck(open_store(LocalStore(folder / "store")), findings, named)
    with HERE.folder("audit") as steps:
        tasks = TaskFolder(steps)
        check.plan(lambda _: tasks)
        tasks.run(HERE, "Checks")
        check.conclude(stale)
    return findings


def manifest(export: Path) -> Any:
    return json.loads((export / "winnow.json").read_text())


def record(export: Path, **changed: Any) -> None:
    """Write `winnow.json` anew, with the sizes and hashes that its files have now."""
    found = manifest(export) | changed
    for file in found["files"]:
        raw = (export / file["path"]).read_bytes()
        file |= {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    (export / "winnow.json").write_text(json.dumps(found))


def test_honest_exports_are_proved_and_every_sample_is_counted(folder: Path) -> None:
    findings = audited(folder)
    assert (findings.problems, findings.notes) == ([], [])
    assert len(findings.proved) == len(ENTRIES)
    assert all(line.endswith("are unchanged; 25 samples") for line in findings.proved)


def test_an_export_whose_registration_is_lost_is_wrong_if_the_recipe_names_it(folder: Path) -> None:
    objects = open_store(LocalStore(folder / "store")).objects
    for info in [*objects.list(layout.OUTPUTS), *objects.list(layout.COPIES)]:
        if str(folder / "lines").encode() in objects.read(info.path):
            objects.delete(info.path)
    assert audited(folder).problems == []
    named = [str(folder / name) for name in ("lines", "parquet", "not written yet")]
    foreign, broken = folder / "foreign", folder / "broken"
    shutil.copytree(folder / "jsonl", foreign)
    record(foreign, plan="0" * 16)
    (broken / "winnow.json").parent.mkdir()
    (broken / "winnow.json").write_text("{")
    findings = audited(folder, *named, str(foreign), str(broken))
    lost = (
        "the store has no record of it here (it is lost, or the folder was moved), so `winnow forget` would not name "
        "it; run: winnow export"
    )
    unknown = "not written by this store, as far as it knows: `winnow forget` does not name it; not checked"
    assert findings.problems == [f"export {folder / 'lines'}: {lost}"]
    assert findings.notes == [f"export {foreign}: {unknown}"]
    assert len(findings.proved) == len(ENTRIES) - 1


def test_every_format_counts() -> None:
    assert [name for name, one in formats().items() if not hasattr(one, "count")] == []


@pytest.mark.parametrize("name", ENTRIES)
def test_a_byte_that_changed_is_caught(folder: Path, name: str) -> None:
    victim = folder / name / manifest(folder / name)["files"][-1]["path"]
    raw = bytearray(victim.read_bytes())
    raw[len(raw) // 2] ^= 1
    victim.write_bytes(raw)
    problems = audited(folder).problems
    assert any(str(victim.relative_to(folder / name)) in one and "SHA-256" in one for one in problems)
    assert all(one.startswith(f"export {folder / name}: ") for one in problems)


def less_parquet(export: Path) -> None:
    file = export / "data" / "train-00000-of-00003.parquet"
    pq.write_table(pq.read_table(file).slice(1), file)


def less_jsonl(export: Path) -> None:
    file = export / "train-00000-of-00003.jsonl.zst"
    lines = zstandard.decompress(file.read_bytes(), 1 << 20).splitlines(keepends=True)
    file.write_bytes(zstandard.compress(b"".join(lines[1:])))


def less_lines(export: Path) -> None:
    file = export / "train-00000-of-00003.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[1:]))


def less_webdataset(export: Path) -> None:
    file = export / "train-00000-of-00003.tar"
    with tarfile.open(file) as tar:
        members = [(one, tar.extractfile(one)) for one in tar.getmembers()]
        with tarfile.open(export / "new", "w", format=tarfile.USTAR_FORMAT) as other:
            for one, content in members[:-2]:
                other.addfile(one, content)
    os.replace(export / "new", file)
    index = file.with_name(f"{file.name}.idx")
    index.write_bytes(index.read_bytes()[:-8])


def less_mds(export: Path) -> None:
    file = export / "train" / "shard.00000.mds"
    raw = file.read_bytes()
    samples = int.from_bytes(raw[:4], "little")
    ends = np.frombuffer(raw[4 : 8 + 4 * samples], "<u4")
    # The last sample goes; its offset with it, so that all others are 4 bytes nearer.
    kept = (samples - 1).to_bytes(4, "little") + (ends[:-1] - 4).astype("<u4").tobytes()
    file.write_bytes(kept + raw[8 + 4 * samples : ends[-2]])


def less_packed(export: Path) -> None:
    file = export / "train" / "shard.00000.mds.zstd"
    plain = file.with_name("shard.00000.mds")
    plain.write_bytes(zstandard.decompress(file.read_bytes()))
    less_mds(export)
    file.write_bytes(zstandard.compress(plain.read_bytes()))
    plain.unlink()


def less_indexed(export: Path) -> None:
    """The last sample of an index and of its .bin."""
    prefix = min(path.name.removesuffix(".idx") for path in export.glob("train*.idx"))
    index, binary = export / f"{prefix}.idx", export / f"{prefix}.bin"
    raw = index.read_bytes()
    count = int.from_bytes(raw[18:26], "little")
    head, parts = raw[:18], np.frombuffer(raw[34 : 34 + 4 * count], "<i4")
    places = raw[34 + 4 * count : 34 + 12 * count - 8]
    documents = raw[34 + 12 * count :][:-8]
    sizes = (count - 1).to_bytes(8, "little") + count.to_bytes(8, "little")
    index.write_bytes(head + sizes + parts[:-1].tobytes() + places + documents)
    binary.write_bytes(binary.read_bytes()[: -2 * int(parts[-1])])


def less_arrayrecord(export: Path) -> None:
    module = pytest.importorskip("array_record.python.array_record_module")
    file = next((export / "mixture_web" / "1.0.0").glob("*train*00000-of*"))
    reader = module.ArrayRecordReader(str(file))
    records = reader.read_all()
    reader.close()
    writer = module.ArrayRecordWriter(str(file), "group_size:1")
    for one in records[1:]:
        writer.write(one)
    writer.close()


LESS: dict[str, Callable[[Path], None]] = {
    "parquet": less_parquet,
    "jsonl": less_jsonl,
    "lines": less_lines,
    "webdataset": less_webdataset,
    "mds": less_mds,
    "packed": less_packed,
    "megatron": less_indexed,
    "merged": less_indexed,
    "arrayrecord": less_arrayrecord,
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_writer_that_loses_a_sample_and_says_nothing_is_caught(folder: Path, name: str) -> None:
    LESS[name](folder / name)
    record(folder / name)
    said = [one.removeprefix(f"export {folder / name}: ") for one in audited(folder).problems]
    assert_told(said, "train:", "20 samples", "winnow.json", "declares 21")
    # One that says how many it wrote is held against what was planned.
    outputs = manifest(folder / name)["outputs"]
    outputs["train"]["samples"] = 20
    record(folder / name, outputs=outputs)
    said = [one.removeprefix(f"export {folder / name}: ") for one in audited(folder).problems]
    assert_told(said, "25 samples", "24", "0")
    outputs["train"]["planned"] = 20
    record(folder / name, outputs=outputs)
    said = [one.removeprefix(f"export {folder / name}: ") for one in audited(folder).problems]
    assert_told(said, "train:", "winnow.json", "declares 20", "21")


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "said"),
    [
        ("mds", "train/index.json", '"samples": ', '"samples": 1', "train: index.json lists "),
        ("webdataset", ".nv-meta/.info.json", 'tar": ', 'tar": 1', "train: .nv-meta/.info.json lists "),
        ("arrayrecord", "mixture_web/1.0.0/dataset_info.json", '"shardLengths": [', '"shardLengths": ["5",', "lists"),
    ],
)
def test_an_index_that_says_other_than_the_files_is_caught(
    folder: Path, name: str, file: str, old: str, new: str, said: str
) -> None:
    target = folder / name / file
    text = target.read_text()
    assert old in text
    target.write_text(text.replace(old, new, 1))
    record(folder / name)
    assert any(said in one for one in audited(folder).problems)


def test_what_is_left_out_is_answered_for(folder: Path) -> None:
    outputs = manifest(folder / "lines")["outputs"]
    less_lines(folder / "lines")
    outputs["train"]["samples"] = 20
    left_out = [{"reason": "media_gone", "file": "a.warc", "detail": "gone", "samples": 1}]
    record(folder / "lines", outputs=outputs, left_out=left_out)
    assert audited(folder).problems == []


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("parquet", lambda raw: raw[:-8] + b"\0" * 8, "has no readable footer"),
        ("jsonl", lambda raw: raw[:-3], "cannot be fully decompressed"),
        ("webdataset", lambda raw: raw[: -(len(raw) // 2)], "tar"),
        ("webdataset", lambda raw: b"\xff" * 512 + raw[512:], "has an invalid tar header"),
        ("mds", lambda raw: raw[:-1], "bytes, but its offsets say"),
        ("mds", lambda raw: raw[:3], "ends inside its header"),
        ("packed", lambda raw: raw[:-3], "shard.00000.mds.zstd"),
        ("megatron", lambda raw: raw[:-1], ".bin, which has"),
        ("arrayrecord", lambda raw: raw[: len(raw) // 2], "array_record-"),
        ("arrayrecord", lambda raw: b"\0" * len(raw), "array_record-"),
    ],
)
def test_a_file_that_its_record_agrees_with_and_no_reader_can_read_is_a_line(
    folder: Path, name: str, change: Callable[[bytes], bytes], said: str
) -> None:
    paths = [one["path"] for one in manifest(folder / name)["files"]]
    victim = (
        folder
        / name
        / next(
            path
            for path in paths
            if "train" in path and Path(path).suffix not in (".json", ".idx", ".md", ".py", ".txt")
        )
    )
    victim.write_bytes(change(victim.read_bytes()))
    record(folder / name)
    problems = audited(folder).problems
    assert any(said in one for one in problems), problems
    assert all("\n" not in one for one in problems)


def test_a_file_that_is_gone_and_one_that_is_a_link_to_nowhere(folder: Path) -> None:
    export = folder / "parquet"
    (export / "data" / "train-00000-of-00003.parquet").unlink()
    (export / "data" / "train-00001-of-00003.parquet").unlink()
    (export / "data" / "train-00002-of-00003.parquet").unlink()
    (export / "data" / "train-00002-of-00003.parquet").symlink_to("nowhere")
    os.mkfifo(export / "data" / "train-00001-of-00003.parquet")  # nothing would ever come of reading it
    said = [one.removeprefix(f"export {export}: ") for one in audited(folder).problems]
    assert_told_each(
        said,
        "data/train-00000-of-00003.parquet is missing",
        "data/train-00001-of-00003.parquet is missing",
        "data/train-00002-of-00003.parquet is missing",
        ("train:", "0 samples", "winnow.json", "declares 21"),
    )


def test_a_file_that_cannot_be_looked_at_is_a_line(folder: Path) -> None:
    found = manifest(folder / "jsonl")
    found["files"].append({"path": "x" * 300, "bytes": 1, "sha256": ""})
    (folder / "jsonl" / "winnow.json").write_text(json.dumps(found))
    (problem,) = audited(folder).problems
    assert "File name too long" in problem


def test_what_others_put_there_is_a_note(folder: Path) -> None:
    for name in ("b.txt", "a.txt", "data/c.txt", "z.txt"):
        (folder / "parquet" / name).write_text("mine")
    (folder / "jsonl" / "x").write_text("mine")
    assert_told_each(
        audited(folder).notes,
        (str(folder / "jsonl"), "1 file", "winnow did"),
        (str(folder / "parquet"), "4 files", "winnow did", "a.txt"),
    )


def test_exports_that_are_gone_are_notes(folder: Path) -> None:
    shutil.rmtree(folder / "mds")
    shutil.rmtree(folder / "packed")
    (folder / "packed").mkdir()
    findings = audited(folder)
    assert findings.problems == []
    assert findings.notes == [f"export {folder / name}: no longer exists" for name in ("mds", "packed")]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (None, "winnow.json is missing"),
        (b"{", "winnow.json: not a manifest of winnow"),
        (b"[]", "winnow.json: not a manifest of winnow"),
        ({"files": [{"path": "../../etc/passwd", "bytes": 1, "sha256": ""}]}, "winnow.json is invalid"),
        ({"files": [{"path": "/etc/passwd", "bytes": 1, "sha256": ""}]}, "winnow.json is invalid"),
        ({"files": [{"path": 1, "bytes": 1, "sha256": ""}]}, "winnow.json is invalid"),
        ({"files": [{"path": "x", "bytes": "1", "sha256": ""}]}, "winnow.json is invalid"),
        ({"outputs": {"train": {"planned": -1, "samples": 0}}}, "winnow.json is invalid"),
        ({"outputs": [1]}, "winnow.json is invalid"),
        ({"plan": ["x"]}, "winnow.json is invalid"),
        ({"format": {}}, "winnow.json is invalid"),
    ],
)
def test_a_record_that_is_none_is_a_line(folder: Path, raw: Any, said: str) -> None:
    file = folder / "jsonl" / "winnow.json"
    if raw is None:
        file.unlink()
    else:
        file.write_bytes(raw if isinstance(raw, bytes) else json.dumps(manifest(folder / "jsonl") | raw).encode())
    (problem,) = audited(folder).problems
    assert said in problem


def test_an_export_of_another_store_or_plan_is_a_note(folder: Path) -> None:
    record(folder / "jsonl", store="other")
    record(folder / "parquet", plan="0123456789abcdef")
    findings = audited(folder)
    assert findings.problems == []
    assert_told_each(
        findings.notes, (str(folder / "jsonl"), "now belongs"), (str(folder / "parquet"), "0123456789abcdef")
    )


def test_a_format_that_is_not_known_here_is_not_counted(folder: Path) -> None:
    record(folder / "jsonl", format="webdatasets")
    findings = audited(folder)
    assert findings.problems == []
    assert_told_each(findings.notes, (str(folder / "jsonl"), "webdatasets"))


def test_without_the_package_records_are_not_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: str) -> None:
        raise RecipeError("counting needs the package array_record; run: pip install 'winnow[arrayrecord]'")

    monkeypatch.setattr("winnow.pipelines.export.formats.arrayrecord.required_package", missing)
    findings = audited(folder)
    assert findings.problems == []
    assert_told_each(findings.notes, (str(folder / "arrayrecord"), "array_record", "'winnow[arrayrecord]'"))


def test_an_export_of_rows_that_are_forgotten_since_is_named(folder: Path) -> None:
    plan = manifest(folder / "jsonl")["plan"]
    assert_told(audited(folder, **{plan: 2}).notes, str(folder / "jsonl"), "2 rows")
