"""ArrayRecord with one record per sample, for grain and AXLearn, in the folder layout of TensorFlow Datasets.

    mixture/1.0.0/mixture-train.array_record-00000-of-00012    one split per output
    mixture/1.0.0/dataset_info.json, features.json             read by TFDS's builder_from_directory
    axlearn_mixture.py                                         the components of a mixture, in AXLearn's form

With `by: class` every source class is a separate dataset, `mixture_web`, and the mixture has a component for each,
weighted by the plan's share. A trainer with many hosts needs at least one shard per host.

A record is a tf.train.Example of bytes (text, id as 32 hexadecimal digits, metadata as JSON, …; empty where missing)
and copy, an int64. With `media` also captions (JSON) and `image`, `images` (several values), `video` or `audio`: the
bytes of files.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal, Protocol

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.extras import one_line_errors, required_package
from winnow.pipelines.export.formats.columns import as_binary, captions_in_json
from winnow.pipelines.export.formats.counting import Counted, json_of, output_of
from winnow.pipelines.export.formats.protocol import About, ExportFormat, Made, ShardName, WrittenShard
from winnow.pipelines.export.formats.tf_example import Column, examples
from winnow.pipelines.export.formats.wanted_media import MediaOptions, contents, filled_texts, large_apart, listed
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json
from winnow.schemas.recipe.checks import Between, Matching

# One record per chunk, so random access reads no other. One writer thread, so the bytes do not depend on timing.
WRITER_OPTIONS = "group_size:1,max_parallelism:1"
TEXT_FEATURES = ("band", "family", "id", "language", "licence", "metadata", "source", "source_class", "text", "url")
NUMBER_FEATURES = ("copy",)
_MODULE = "array_record.python.array_record_module"


@dataclass(frozen=True)
class ArrayRecordConfig(MediaOptions):
    """The datasets' name, version and number."""

    name: Annotated[str, Matching(r"[a-z][a-z0-9_]{0,59}", "a dataset's name of a-z, 0-9 and _")] = "mixture"
    version: Annotated[str, Matching(r"(0|[1-9]\d{0,5})(\.(0|[1-9]\d{0,5})){2}", "three numbers, such as 1.0.0")] = (
        "1.0.0"
    )
    by: Literal["output", "class"] = "output"
    # For the mixture's components: AXLearn's own mixtures have 8192. The export is in a random order already.
    shuffle_buffer_size: Annotated[int, Between(0, 1 << 30)] = 8192


class _Writer(Protocol):
    def write(self, record: bytes) -> None: ...
    def close(self) -> None: ...


def _writers() -> Callable[[str, str], _Writer]:
    """The writer's class; raises RecipeError if its package is missing."""
    writer: Callable[[str, str], _Writer] = required_package("arrayrecord", _MODULE, "arrayrecord").ArrayRecordWriter
    return writer


@dataclass
class _Open:
    """A dataset's open file in the current shard."""

    source_class: str  # empty if the dataset holds all classes
    path: str
    writer: _Writer
    samples: int = 0
    size: int = 0

    def write(self, records: Iterator[bytes]) -> None:
        for record in records:
            self.writer.write(record)
            self.samples += 1
            self.size += len(record)


@dataclass(frozen=True)
class _Dataset:
    """What all shards contribute to one dataset."""

    source_class: str
    lengths: dict[str, list[int]] = field(default_factory=dict)  # by output, one per shard
    sizes: dict[str, int] = field(default_factory=dict)


class _ArrayRecord(ExportFormat):
    name = "arrayrecord"
    config = ArrayRecordConfig

    def check(self, config: ArrayRecordConfig) -> None:
        config.require_packages()
        _writers()

    def identity(self, config: ArrayRecordConfig) -> Json:
        return {
            "name": config.name,
            "version": config.version,
            "by": config.by,
            "shuffle_buffer_size": config.shuffle_buffer_size,
            "writer": WRITER_OPTIONS,
            **config.identity(),
        }

    def write(self, config: ArrayRecordConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        writer = _writers()
        opened: dict[str, _Open] = {}
        for batch in rows:
            if not config.wants_media:
                _check(batch)
            for source_class, part in _parts(config, batch):
                dataset = _dataset(config, source_class)
                if dataset not in opened:
                    path = _path(config, dataset, shard)
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    with _told(path):
                        opened[dataset] = _Open(source_class, path, writer(str(folder / path), WRITER_OPTIONS))
                one = opened[dataset]
                if one.source_class != source_class:
                    raise _alike(one.source_class, source_class, dataset)
                with _told(one.path):
                    one.write(chain.from_iterable(_records(rows, config) for rows in large_apart(part)))
        for one in opened.values():
            with _told(one.path):
                one.writer.close()
        facts: dict[str, Json] = {
            "datasets": {
                name: {"source_class": one.source_class, "samples": one.samples, "bytes": one.size}
                for name, one in sorted(opened.items())
            }
        }
        samples = sum(one.samples for one in opened.values())
        return Made(tuple(sorted(one.path for one in opened.values())), samples, facts)

    def finish(self, config: ArrayRecordConfig, shards: Sequence[WrittenShard], about: About) -> Mapping[str, bytes]:
        """The datasets' descriptions, empty files for shards without a class, and the mixture."""
        datasets = _datasets(shards)
        files: dict[str, bytes] = {}
        for name, dataset in sorted(datasets.items()):
            below = f"{name}/{config.version}"
            files[f"{below}/dataset_info.json"] = _json(_info(config, name, dataset, about))
            files[f"{below}/features.json"] = _json(_features(config))
            for output, lengths in dataset.lengths.items():
                for number in (number for number, length in enumerate(lengths) if not length):
                    files[_path(config, name, ShardName(output, number, len(lengths)))] = _empty()
        return files | {"axlearn_mixture.py": _mixture(config, datasets, about).encode()}

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts for the audit: the records in each file, by the package's reader, and the counts declared to TFDS."""
        output = output_of(r"([^/]+)/[^/]+/\1-(?P<output>[a-z][a-z0-9_]*)\.array_record-\d{5,}-of-\d{5,}", path)
        if output is not None:
            reader = required_package("counting", _MODULE, "arrayrecord").ArrayRecordReader
            with one_line_errors("cannot be read", kind=ExportError):
                opened = reader(str(folder / path))
                samples = int(opened.num_records())
                opened.close()
            return [Counted(output, samples)]
        if not re.fullmatch(r"[^/]+/[^/]+/dataset_info\.json", path):
            return []
        splits = json_of(folder / path).get("splits")
        found = []
        for split in splits if isinstance(splits, list) else []:
            if isinstance(split, Mapping) and isinstance(lengths := split.get("shardLengths"), list):
                listed = sum(int(str(length)) for length in lengths)
                found.append(Counted(str(split.get("name")), listed, "dataset_info.json"))
        return found


def _told(path: str) -> AbstractContextManager[None]:
    """Turns the package's RuntimeError, raised for a full disk at the latest on close, into one line."""
    return one_line_errors(f"arrayrecord: {path} cannot be written", kind=ExportError)


def _check(rows: pa.RecordBatch) -> None:
    """Checks that every sample has a text."""
    first = pc.index(rows.column("text").is_null(), True).as_py()
    if first >= 0:
        name = rows.column("id")[first].as_py().hex()
        raise ExportError(
            f"arrayrecord: sample {name} has no text; drop such samples with a rule, or export webdataset"
        )


def _parts(config: ArrayRecordConfig, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each dataset, in order."""
    if config.by == "output":
        yield "", rows
        return
    classes = rows.column("source_class")
    for source_class in sorted(classes.unique().to_pylist()):
        yield source_class, rows.filter(pc.equal(classes, source_class))


def _records(rows: pa.RecordBatch, config: ArrayRecordConfig) -> Iterator[bytes]:
    columns: dict[str, Column] = {}
    for name in sorted(TEXT_FEATURES + NUMBER_FEATURES):
        column = rows.column(name)
        if name == "id":
            columns[name] = [one.hex().encode() for one in column.to_pylist()]
        elif name in NUMBER_FEATURES:
            columns[name] = column.to_pylist()
        else:
            columns[name] = as_binary(filled_texts(rows, config) if name == "text" else column).to_pylist()
    if config.wants_media:
        media = rows.column("media")
        found = contents(media.flatten())
        columns["captions"] = [one.encode() for one in captions_in_json(rows)]
        columns[config.column] = listed(found, media).to_pylist() if config.many else found.to_pylist()
    return examples(dict(sorted(columns.items())))


def _dataset(config: ArrayRecordConfig, source_class: str) -> str:
    """The dataset name for a class; TFDS allows only a-z, 0-9 and _."""
    if not source_class:
        return config.name
    return f"{config.name}_{re.sub(r'[^a-z0-9]+', '_', source_class.lower()).strip('_') or 'x'}"


def _path(config: ArrayRecordConfig, dataset: str, shard: ShardName) -> str:
    file = f"{dataset}-{shard.output}.array_record-{shard.numbered()}"
    return f"{dataset}/{config.version}/{file}"


def _alike(one: str, other: str, dataset: str) -> ExportError:
    return ExportError(
        f"arrayrecord: the source classes {one!r} and {other!r} would both be the dataset {dataset}; rename one"
    )


def _datasets(shards: Sequence[WrittenShard]) -> dict[str, _Dataset]:
    """Every dataset with samples in some shard."""
    datasets: dict[str, _Dataset] = {}
    for shard in shards:
        held = shard.facts["datasets"]
        assert isinstance(held, Mapping)
        for name, fact in held.items():
            assert isinstance(fact, Mapping)
            source_class = str(fact["source_class"])
            dataset = datasets.setdefault(name, _Dataset(source_class))
            if dataset.source_class != source_class:
                raise _alike(dataset.source_class, source_class, name)
            output = shard.shard.output
            lengths = dataset.lengths.setdefault(output, [0] * shard.shard.of)
            lengths[shard.shard.number] = int(str(fact["samples"]))
            dataset.sizes[output] = dataset.sizes.get(output, 0) + int(str(fact["bytes"]))
    return datasets


def _info(config: ArrayRecordConfig, name: str, dataset: _Dataset, about: About) -> Json:
    """TFDS's DatasetInfo in protocol-buffer JSON: 64-bit integers are strings."""
    what = f"Samples of {about.name}" + (f" of the class {dataset.source_class}" if dataset.source_class else "")
    return {
        "description": f"{what}, drawn by the plan {about.plan}.",
        "fileFormat": "array_record",
        "name": name,
        "splits": [
            {
                "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
                "name": output,
                "numBytes": str(dataset.sizes[output]),
                "shardLengths": [str(length) for length in dataset.lengths[output]],
            }
            for output in about.outputs
            if output in dataset.lengths
        ],
        "version": config.version,
    }


_FEATURE = "tensorflow_datasets.core.features"


def _features(config: ArrayRecordConfig) -> Json:
    """What TFDS is told of a record."""
    text: Json = {"pythonClassName": f"{_FEATURE}.text_feature.Text", "text": {}}
    features: dict[str, Json] = dict.fromkeys(TEXT_FEATURES, text)
    for name in NUMBER_FEATURES:
        features[name] = {
            "pythonClassName": f"{_FEATURE}.scalar.Scalar",
            "tensor": {"dtype": "int64", "encoding": "none", "shape": {}},
        }
    if config.wants_media:
        features["captions"] = text
        # Strings of bytes, which TFDS leaves to the caller to decode: an Image of TFDS has one type only.
        one: Json = {
            "pythonClassName": f"{_FEATURE}.tensor_feature.Tensor",
            "tensor": {"dtype": "string", "encoding": "none", "shape": {}},
        }
        many: Json = {
            "pythonClassName": f"{_FEATURE}.sequence_feature.Sequence",
            "sequence": {"feature": one, "length": "-1"},
        }
        features[config.column] = many if config.many else one
    return {
        "featuresDict": {"features": features},
        "pythonClassName": f"{_FEATURE}.features_dict.FeaturesDict",
    }


def _json(value: Json) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _empty() -> bytes:
    """An empty file, for a shard without a class's records: TFDS expects every number up to the last."""
    with temporary_folder("empty") as folder:
        path = Path(folder) / "empty"
        _writers()(str(path), WRITER_OPTIONS).close()
        return path.read_bytes()


def _weights(unit: str) -> list[str]:
    """What AXLearn takes weights to mean."""
    if unit == "tokens":
        return [
            "A weight is a share of tokens, as AXLearn takes it. AXLearn repeats every component, and wants a shard",
            "for each host.",
        ]
    return [
        f"A weight is a share of {unit}. AXLearn mixes packed sequences: to it a weight is a share of tokens. It",
        "repeats every component, and wants a shard for each host.",
    ]


def _mixture(config: ArrayRecordConfig, datasets: Mapping[str, _Dataset], about: About) -> str:
    """A Python file with one list per training output."""
    lines = [
        f'"""The mixture of the plan {about.plan}, as AXLearn reads mixtures.',
        "",
        "    from axlearn.experiments.text.common import DataMixtureComponent",
        '    components = [DataMixtureComponent(**one) for one in COMPONENTS["train"]]',
        "",
        *_weights(about.unit),
        '"""',
        "",
        "COMPONENTS = {",
    ]
    for output in about.outputs:
        lines.append(f"    {output!r}: [")
        for name, dataset in sorted(datasets.items()):
            if output not in dataset.lengths:
                continue
            # A class with only empty texts has no share of tokens.
            weight = about.weights[output].get(dataset.source_class, 0.0) if dataset.source_class else 1.0
            held = f"{sum(dataset.lengths[output])} samples in {len(dataset.lengths[output])} shards"
            component = {
                "name": f"{name}:{config.version}",
                "weight": weight,
                "shuffle_buffer_size": config.shuffle_buffer_size,
                "split": output,
                "info": f"{dataset.source_class or 'all source classes, mixed'}: {held}",
            }
            lines += [
                "        {",
                *(f"            {key!r}: {value!r}," for key, value in component.items()),
                "        },",
            ]
        lines.append("    ],")
    return "\n".join([*lines, "}", ""])


FORMAT = _ArrayRecord()
