"""Writes the files that Megatron Energon (7.4) reads beside the shards of a WebDataset.

`energon prepare` makes these files by reading every shard: `.nv-meta/.info.json` (samples per shard),
`split.yaml` (the shards of each part), `dataset.yaml` (the sample type), and `<shard>.tar.idx` (sample offsets).
It also makes `index.sqlite` and `index.uuid`. Loaders do not read them; joins, media metadata and datasets that
look up samples do. They are left to `energon prepare`, because a database's bytes depend on the SQLite version.

The output `validation` becomes the part `val`, where Energon looks for it (unless a stage has that name); the others
keep their names. Hugging Face's readers mistake the indices for shards unless told to read `train-*.tar`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import yaml

from winnow.pipelines.export.formats.counting import SHARD, Counted, json_of, output_of
from winnow.pipelines.export.formats.protocol import WrittenShard
from winnow.pipelines.export.formats.tar import RECORD
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json
from winnow.schemas.mixture import VALIDATION

INDEX_SUFFIX = ".idx"
_FOLDER = ".nv-meta"
_PICTURES = ("jpg", "png", "webp", "gif")


def index(sample_sizes: Sequence[npt.NDArray[np.int64]]) -> bytes:
    """The offsets of a tar's samples, and the end of the last, as 64-bit numbers."""
    return np.concatenate([np.zeros(1, np.int64), *sample_sizes]).cumsum().astype("<u8").tobytes()


def description(shards: Sequence[WrittenShard], dataset: Json, outputs: Sequence[str]) -> Mapping[str, bytes]:
    """The files under `.nv-meta`; `dataset` says what a sample is."""
    tars = {f"{one.shard.stem()}.tar": one.samples for one in shards}
    parts: dict[str, Json] = {}
    for output in outputs:
        part = "val" if output == VALIDATION and "val" not in outputs else output
        if own := [f"{one.shard.stem()}.tar" for one in shards if one.shard.output == output]:
            parts[part] = own
    return {
        f"{_FOLDER}/.info.json": json.dumps({"shard_counts": tars}, indent=2).encode(),
        f"{_FOLDER}/split.yaml": _yaml({"split_parts": parts, "exclude": []}),
        f"{_FOLDER}/dataset.yaml": _yaml(dataset),
    }


def count(folder: Path, path: str) -> Sequence[Counted]:
    """Counts the samples in the index beside a tar, or in Energon's description."""
    output = output_of(rf"{SHARD}\.tar{re.escape(INDEX_SUFFIX)}", path)
    if output is not None:
        places, size = (folder / path).stat().st_size // 8, (folder / path.removesuffix(INDEX_SUFFIX)).stat().st_size
        with (folder / path).open("rb") as stream:
            stream.seek(-8, 2)
            end = int.from_bytes(stream.read(8), "little")
        if not 0 <= size - end <= 2 * RECORD:  # the end-of-archive blocks follow the last sample
            raise ExportError(f"declares that its samples end at {end:,} of {size:,} bytes")
        return [Counted(output, places - 1, f"*{INDEX_SUFFIX}")]
    if path != f"{_FOLDER}/.info.json":
        return []
    listed = json_of(folder / path).get("shard_counts")
    return [
        Counted(output_of(rf"{SHARD}\.tar", name) or name, int(str(samples)), path)
        for name, samples in (listed.items() if isinstance(listed, Mapping) else ())
    ]


def dataset_of(suffix: str | None) -> Json:
    """What a sample is whose medium has this suffix; None for a text."""
    if suffix is None:
        return _typed("TextSample", {"text": "txt"})
    if suffix.rpartition(".")[2] in _PICTURES:  # of several, the first
        return _typed("CaptioningSample", {"image": suffix, "caption": "txt"})
    return {"__module__": "megatron.energon", "__class__": "CrudeWebdataset"}


def _typed(kind: str, fields: Mapping[str, str]) -> Json:
    return {"sample_type": {"__module__": "megatron.energon", "__class__": kind}, "field_map": dict(fields)}


def _yaml(value: Json) -> bytes:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode()
