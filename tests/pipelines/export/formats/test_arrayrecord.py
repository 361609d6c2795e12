"""ArrayRecord in TFDS's folders: read back by array_record, by grain and by TFDS itself."""

import json
import os
import random
import resource
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_refused, assert_told
from tests.pipelines.export.formats.mixed_rows import HARD, batches, export, row
from tests.trainers import ROOT, run_trainer
from winnow.pipelines.export.formats import find_format
from winnow.pipelines.export.formats.arrayrecord import FORMAT, ArrayRecordConfig
from winnow.pipelines.export.formats.protocol import About, ShardName, WrittenShard
from winnow.pipelines.export.formats.tf_example import examples, varint
from winnow.schemas.errors import ExportError, WinnowError

pytest.importorskip("array_record", reason="winnow[arrayrecord] is not installed")

TEXTS = [one for one in HARD if one["text"] is not None]
SHARDS = [TEXTS[:2], TEXTS[2:5], TEXTS[5:]]
CLASSES = [[row(0), row(1)], [row(2), row(3, source_class="Math & code")], [row(4)]]
BY_CLASS = ArrayRecordConfig(name="mix", version="2.0.1", by="class")


def sample(one: dict[str, Any]) -> dict[str, str | int]:
    """What a reader shall find of a row."""
    names = ("band", "family", "language", "licence", "metadata", "source", "source_class", "text", "url")
    return {"copy": one["copy"], "id": one["id"].hex()} | {name: one[name] or "" for name in names}


def classes(folder: Path) -> dict[str, bytes]:
    """An export of CLASSES with a dataset for each class; what `finish` made."""
    written = []
    for number, rows in enumerate(CLASSES):
        made = FORMAT.write(BY_CLASS, folder, ShardName("train", number, 3), batches(rows, 1))
        written.append(WrittenShard(ShardName("train", number, 3), made.samples, (), made.facts))
    about = About("demo", "0123456789abcdef", "tokens", ("train",), {"train": {"web": 0.7, "Math & code": 0.3}})
    finished = dict(FORMAT.finish(BY_CLASS, written, about))
    for path, raw in finished.items():
        (folder / path).write_bytes(raw)
    return finished


def test_a_record_is_an_example_of_one_value_a_feature() -> None:
    (record,) = examples({"id": [b"ab"], "n": [-1]})
    name = b"\x0a\x0c" + b"\x0a\x02id" + b"\x12\x06" + b"\x0a\x04" + b"\x0a\x02ab"
    number = b"\x0a\x13" + b"\x0a\x01n" + b"\x12\x0e" + b"\x1a\x0c" + b"\x0a\x0a" + b"\xff" * 9 + b"\x01"
    assert record == b"\x0a" + varint(len(name + number)) + name + number
    assert [varint(number) for number in (0, 127, 128, 16_384)] == [b"\0", b"\x7f", b"\x80\x01", b"\x80\x80\x01"]


def test_the_files_are_those_of_a_tfds_dataset(tmp_path: Path) -> None:
    written = export(FORMAT, ArrayRecordConfig(), tmp_path / "out", {"train": SHARDS, "validation": [[row(99)]]})
    assert sorted(
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*") if path.is_file()
    ) == [
        "axlearn_mixture.py",
        "mixture/1.0.0/dataset_info.json",
        "mixture/1.0.0/features.json",
        "mixture/1.0.0/mixture-train.array_record-00000-of-00003",
        "mixture/1.0.0/mixture-train.array_record-00001-of-00003",
        "mixture/1.0.0/mixture-train.array_record-00002-of-00003",
        "mixture/1.0.0/mixture-validation.array_record-00000-of-00001",
    ]
    assert [one.samples for one in written] == [2, 3, 4, 1]
    info = json.loads((tmp_path / "out/mixture/1.0.0/dataset_info.json").read_bytes())
    assert [(one["name"], one["shardLengths"]) for one in info["splits"]] == [
        ("train", ["2", "3", "4"]),
        ("validation", ["1"]),
    ]


def test_the_mixture_has_one_component_for_what_is_mixed_already(tmp_path: Path) -> None:
    export(FORMAT, ArrayRecordConfig(), tmp_path / "out", {"train": SHARDS})
    held = runpy.run_path(str(tmp_path / "out" / "axlearn_mixture.py"))
    assert_told(held["__doc__"], "share of samples")
    assert held["COMPONENTS"] == {
        "train": [
            {
                "name": "mixture:1.0.0",
                "weight": 1.0,
                "shuffle_buffer_size": 8192,
                "split": "train",
                "info": "all source classes, mixed: 9 samples in 3 shards",
            }
        ]
    }


def test_by_class_each_is_a_dataset_with_its_planned_share(tmp_path: Path) -> None:
    classes(tmp_path)
    components = runpy.run_path(str(tmp_path / "axlearn_mixture.py"))["COMPONENTS"]["train"]
    assert [(one["name"], one["weight"], one["info"]) for one in components] == [
        ("mix_math_code:2.0.1", 0.3, "Math & code: 1 samples in 3 shards"),
        ("mix_web:2.0.1", 0.7, "web: 4 samples in 3 shards"),
    ]
    for name, lengths in (("mix_math_code", ["0", "1", "0"]), ("mix_web", ["2", "1", "1"])):
        info = json.loads((tmp_path / name / "2.0.1" / "dataset_info.json").read_bytes())
        assert info["splits"][0]["shardLengths"] == lengths
        assert len(list((tmp_path / name / "2.0.1").glob(f"{name}-train.array_record-0000?-of-00003"))) == 3


def test_a_class_of_empty_texts_has_no_share_of_tokens(tmp_path: Path) -> None:
    config = ArrayRecordConfig(by="class")
    rows = [row(0), row(1, text="", source_class="code")]
    made = FORMAT.write(config, tmp_path, ShardName("train", 0, 1), batches(rows, 2))
    shard = WrittenShard(ShardName("train", 0, 1), made.samples, (), made.facts)
    files = FORMAT.finish(config, [shard], About("demo", "plan", "tokens", ("train",), {"train": {"web": 1.0}}))
    (tmp_path / "mixture.py").write_bytes(files["axlearn_mixture.py"])
    held = runpy.run_path(str(tmp_path / "mixture.py"))
    assert held["__doc__"].count("share of tokens") == 1
    components = held["COMPONENTS"]["train"]
    assert [(one["name"], one["weight"]) for one in components] == [
        ("mixture_code:1.0.0", 0.0),
        ("mixture_web:1.0.0", 1.0),
    ]


def test_the_same_rows_give_the_same_bytes_however_they_come(tmp_path: Path) -> None:
    rows = [row(number, text=f"text {number} " * 500) for number in range(300)]
    for size in (7, 300):
        (tmp_path / str(size)).mkdir()
        FORMAT.write(ArrayRecordConfig(), tmp_path / str(size), ShardName("train", 0, 1), batches(rows, size))
    file = "mixture/1.0.0/mixture-train.array_record-00000-of-00001"
    assert (tmp_path / "7" / file).read_bytes() == (tmp_path / "300" / file).read_bytes()
    classes(tmp_path / "7")
    assert classes(tmp_path / "7") == classes(tmp_path / "300")


def test_what_it_cannot_hold_is_told_in_a_line(tmp_path: Path) -> None:
    config = ArrayRecordConfig(by="class")
    with pytest.raises(ExportError, match=r"sample 0{31}2 has no text"):
        FORMAT.write(ArrayRecordConfig(), tmp_path, ShardName("train", 0, 1), batches(HARD, 10))
    alike = [row(0, source_class="a b"), row(1, source_class="a-b")]
    with assert_refused(ExportError, "'a b'", "'a-b'", "mixture_a_b"):
        FORMAT.write(config, tmp_path, ShardName("train", 0, 1), batches(alike, 2))
    apart = []
    for number, one in enumerate(alike):
        made = FORMAT.write(config, tmp_path, ShardName("train", number, 2), batches([one], 1))
        apart.append(WrittenShard(ShardName("train", number, 2), 1, (), made.facts))
    with assert_refused(ExportError, "'a b'", "'a-b'"):
        FORMAT.finish(config, apart, About("demo", "0", "tokens", ("train",), {}))


def test_a_full_disk_is_told_in_a_line(tmp_path: Path) -> None:
    rows = [row(number, text=random.Random(number).randbytes(20_000).hex()) for number in range(40)]
    held = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, held[1]))
        with assert_refused(ExportError, "array_record-00000-of-00001", "too large"):
            FORMAT.write(ArrayRecordConfig(), tmp_path, ShardName("train", 0, 1), batches(rows, 40))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, held)
        signal.signal(signal.SIGXFSZ, before)


def test_a_missing_package_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "array_record.python.array_record_module", None)
    with assert_refused(WinnowError, "array_record", "'winnow[arrayrecord]'"):
        FORMAT.check(ArrayRecordConfig())
    assert find_format("arrayrecord") is FORMAT


GRAIN = """
import json, sys
from pathlib import Path
import grain

def parse(record):
    from grain_arrayrecord import features
    return {key: value if isinstance(value, int) else value.decode() for key, value in features(record).items()}

if __name__ == "__main__":
    files = sorted(map(str, Path(sys.argv[1]).glob("*-train.array_record-*")))
    source = grain.sources.ArrayRecordDataSource(files)
    print(json.dumps([parse(source[number]) for number in reversed(range(len(source)))]))
    samples = grain.MapDataset.source(source).seed(3).shuffle().map(parse).to_iter_dataset()
    samples = samples.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))
    once = iter(samples)
    first = [next(once) for _ in range(4)]
    state = json.dumps(once.get_state())
    rest = list(once)
    again = iter(samples)
    again.set_state(json.loads(state))
    assert list(again) == rest
    print(json.dumps([first, rest]))
"""


@pytest.mark.readers
def test_grain_reads_at_random_shuffled_with_workers_and_resumed(tmp_path: Path) -> None:
    export(FORMAT, ArrayRecordConfig(), tmp_path / "out", {"train": SHARDS})
    script = tmp_path / "read.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(ROOT / 'examples')!r})\n{GRAIN}")
    backwards, shuffled = run_trainer(script, [tmp_path / "out/mixture/1.0.0"]).splitlines()[-2:]
    assert json.loads(backwards)[::-1] == [sample(one) for one in TEXTS]
    first, rest = json.loads(shuffled)
    assert len(first) == 4
    assert first + rest != [sample(one) for one in TEXTS]
    assert sorted(first + rest, key=str) == sorted((sample(one) for one in TEXTS), key=str)


TFDS = """
import json, sys
import tensorflow_datasets as tfds

def plain(value):
    return value.decode() if isinstance(value, bytes) else int(value)

def read(source):
    return [{key: plain(value) for key, value in one.items()} for one in source]

for folder, split in (part.split(":") for part in sys.argv[1:]):
    builder = tfds.builder_from_directory(folder)
    assert builder.info.splits[split].num_examples == len(builder.as_data_source(split))
    print(json.dumps(read(builder.as_data_source(split))))
"""


@pytest.mark.peers
def test_tfds_own_reader(tmp_path: Path) -> None:
    python = ROOT / ".cache/peers/tfds/bin/python"
    if not python.exists():
        pytest.skip(
            f"no {python}: TensorFlow Datasets is not here; get it with: python3 -m venv .cache/peers/tfds && "
            ".cache/peers/tfds/bin/pip install tensorflow-datasets tensorflow-cpu"
        )
    export(FORMAT, ArrayRecordConfig(), tmp_path / "out", {"train": SHARDS, "validation": [[row(99)]]})
    classes(tmp_path / "classes")
    # That environment has TFDS without array_record, which is the same package for both.
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "array_record").symlink_to(Path(str(sys.modules["array_record"].__file__)).parent)
    script = tmp_path / "read.py"
    script.write_text(TFDS)
    parts = ["out/mixture/1.0.0:train", "out/mixture/1.0.0:validation", "classes/mix_math_code/2.0.1:train"]
    environment = os.environ | {"PYTHONPATH": str(packages), "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [str(python), str(script), *(str(tmp_path / part) for part in parts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    expected = [TEXTS, [row(99)], [CLASSES[1][1]]]
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        [sample(one) for one in rows] for rows in expected
    ]


def test_records_of_a_file_can_be_had_one_by_one(tmp_path: Path) -> None:
    from array_record.python.array_record_module import ArrayRecordReader

    export(FORMAT, ArrayRecordConfig(), tmp_path / "out", {"train": SHARDS})
    reader = ArrayRecordReader(str(tmp_path / "out/mixture/1.0.0/mixture-train.array_record-00002-of-00003"))
    assert reader.writer_options_string().startswith("group_size:1,")
    assert b"Text 7." in reader.read([1])[0]
    assert reader.num_records() == 4
