"""Documents in WebDataset shards: texts and pictures in reading order, for WebDataset's and Megatron Energon's readers.

A sample is its pictures, `<key>.0.jpg`, `<key>.1.jpg` …, each once however often it is shown, and `<key>.json`. The
JSON has what is known of the sample, as the format `webdataset` writes it, and `sequence`, the document: each element
has `text`, or `image` with the name of a member (`0.jpg`), and then `url` and `alt`. With `media: none` the members of
pictures are not there, and `image` is empty. Keys are `<id in hex>-<copy>`.

With `energon` the shards are a dataset of Energon's `InterleavedSample`, whose loader stands beside its description.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.export.formats import energon
from winnow.pipelines.export.formats.columns import blocks, identity_of, sample_facts, sample_name
from winnow.pipelines.export.formats.counting import SHARD, Counted, output_of, tar_samples
from winnow.pipelines.export.formats.documents import DocumentOptions, Part, documents_in
from winnow.pipelines.export.formats.protocol import About, ExportFormat, Made, ShardName, WrittenShard
from winnow.pipelines.export.formats.tar import MAX_MEMBER, end, sizes_of, write_samples
from winnow.pipelines.export.formats.wanted_media import contents, large_apart, media_facts
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json

_LOADER: Final = ".nv-meta/sample_loader.py"
_LOADS: Final = b'''"""Makes a document of a sample: its texts, and its pictures as they were decoded, in order."""


def part_filter(part: str) -> bool:
    return True


def sample_loader(raw: dict) -> dict:
    sequence = [raw[one["image"]] if one.get("image") else one["text"] for one in raw["json"]["sequence"]]
    return {"__key__": raw["__key__"], "__restore_key__": raw["__restore_key__"], "sequence": sequence}
'''
_DATASET: Final[Json] = {
    "sample_type": {"__module__": "megatron.energon", "__class__": "InterleavedSample"},
    "part_filter": "sample_loader.py:part_filter",
    "sample_loader": "sample_loader.py:sample_loader",
}


@dataclass(frozen=True)
class InterleavedConfig(DocumentOptions):
    """Options of the format."""

    energon: bool = False  # with the files for Megatron Energon: .nv-meta, and an index beside each shard


class Interleaved(ExportFormat):
    """Documents in tars."""

    name = "interleaved"
    config = InterleavedConfig

    def check(self, config: InterleavedConfig) -> None:
        """Raises WinnowError if packages are missing or the options contradict each other."""
        super().check(config)
        if config.energon and not config.wants_media:
            raise ExportError("energon reads pictures: remove 'media: none', or 'energon'")

    def identity(self, config: InterleavedConfig) -> Json:
        """The options."""
        return {"version": 2, "energon": config.energon, **config.identity()}

    def write(self, config: InterleavedConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one tar, and its index for Energon."""
        name = f"{shard.stem()}.tar"
        sizes: list[npt.NDArray[np.int64]] = []
        pictures = 0
        with (folder / name).open("xb") as file:
            for batch in rows:
                for block in (part for one in blocks(batch) for part in large_apart(one)):
                    sizes.append(_write(config, block, file))
                    pictures += len(block.column("media").flatten())
            file.write(end(int(sum(one.sum() for one in sizes))))
        files = [name]
        if config.energon:
            files.append(f"{name}{energon.INDEX_SUFFIX}")
            (folder / files[1]).write_bytes(energon.index(sizes))
        return Made(tuple(files), sum(map(len, sizes)), {"pictures": pictures})

    def finish(self, config: InterleavedConfig, shards: Sequence[WrittenShard], about: About) -> Mapping[str, bytes]:
        """Energon's description of the dataset, if requested."""
        if not config.energon:
            return {}
        return {**energon.description(shards, _DATASET, about.outputs), _LOADER: _LOADS}

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts for the audit: samples in each tar, and in Energon's indices."""
        output = output_of(rf"{SHARD}\.tar", path)
        if output is None:
            return energon.count(folder, path)
        return [Counted(output, tar_samples(folder / path, alike=False))]


def _write(config: InterleavedConfig, block: pa.RecordBatch, file: BinaryIO) -> npt.NDArray[np.int64]:
    """Writes the samples of a block as one buffer; returns the bytes of each."""
    keys = [f"{name}-{copy}" for name, copy in zip(*identity_of(block), strict=True)]
    media = block.column("media")
    counts = np.asarray(pc.list_value_length(media), np.int64)
    suffix = config.suffix
    names: list[bytes] = []
    order: list[int] = []  # of members, in pictures and then descriptions
    first = 0
    for row, (key, count) in enumerate(zip(keys, counts.tolist(), strict=True)):
        names += [f"{key}.{number}.{suffix}".encode() for number in range(count)]
        names.append(f"{key}.json".encode())
        order += [*range(first, first + count), int(counts.sum()) + row]
        first += count
    held = pa.concat_arrays([contents(media.flatten()), _descriptions(config, block)]).take(pa.array(order))
    large = sizes_of(held) > MAX_MEMBER
    if large.any():
        row = int(np.searchsorted(np.cumsum(counts + 1), int(np.argmax(large)), side="right"))
        raise ExportError(f"{sample_name(block, row)}: a member is larger than 8 GiB, the limit of a tar")
    return write_samples(file, names, held, counts + 1)


def _descriptions(config: InterleavedConfig, block: pa.RecordBatch) -> pa.LargeBinaryArray:
    columns: dict[str, Sequence[Json]] = sample_facts(block)
    if config.wants_media:
        columns |= {name: values.to_pylist() for name, values in media_facts(block, config).items()}
    columns["sequence"] = [[_element(config, part) for part in parts] for parts in documents_in(block, config)]
    names = sorted(columns)
    rows = zip(*(columns[name] for name in names), strict=True)
    return pa.array([orjson.dumps(dict(zip(names, row, strict=True))) for row in rows], pa.large_binary())


def _element(config: InterleavedConfig, part: Part) -> Json:
    if part.text is not None:
        return {"text": part.text}
    name = f"{part.picture}.{config.suffix}" if config.wants_media else ""
    return {"image": name, "url": part.url or "", "alt": part.alt or ""}


FORMAT = Interleaved()
