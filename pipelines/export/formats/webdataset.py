"""WebDataset: shards `train-00000-of-00012.tar`, in which a sample's members are adjacent and share a key.

A sample is `<key>.txt`, its text or caption (empty if it has neither), and `<key>.json`; with `media` also its one
medium, such as `<key>.jpg`, or its pictures, `<key>.0.jpg`, `<key>.1.jpg` … Readers infer the schema from the first few
samples (Hugging Face from five, and ignores later additions). So every sample of an export has the same members, and
every JSON value has one type and is never null: missing values are empty, and `captions` and `metadata`, whose shape
varies, are JSON in a string. With media it also has `sha256`, `width`, `height`, `original_width` and
`original_height` of what is beside it: lists for `images`.

Keys contain no dot, since a member's key ends at the first one: `<id in hex>-<copy>`, or the sample's position
(`train-00003-00000042`).
"""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.export.formats import energon
from winnow.pipelines.export.formats.columns import (
    as_binary,
    blocks,
    count_media,
    identity_of,
    sample_facts,
    sample_name,
)
from winnow.pipelines.export.formats.counting import SHARD, Counted, output_of, tar_samples
from winnow.pipelines.export.formats.protocol import About, ExportFormat, Made, ShardName, WrittenShard
from winnow.pipelines.export.formats.tar import BLOCK, MAX_MEMBER, buffer_of, end, headers, joined, members, sizes_of
from winnow.pipelines.export.formats.wanted_media import (
    MediaOptions,
    WantedMedia,
    filled_texts,
    in_pieces,
    large_rows,
    media_facts,
)
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json


@dataclass(frozen=True)
class WebDatasetConfig(MediaOptions):
    """Options of the format."""

    key: Literal["id", "position"] = "id"
    energon: bool = False  # with the files for Megatron Energon: .nv-meta, and an index beside each shard

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.energon and self.key == "position":
            raise ValueError("energon looks samples up by their keys: write 'key: id'")


class WebDataset(ExportFormat):
    """The WebDataset format."""

    name = "webdataset"
    config = WebDatasetConfig

    def identity(self, config: WebDatasetConfig) -> Json:
        """The options."""
        return {"version": 2, "key": config.key, "energon": config.energon, **config.identity()}

    def write(self, config: WebDatasetConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one tar, and its index for Energon."""
        name = f"{shard.stem()}.tar"
        with (folder / name).open("xb") as file:
            tar = _Tar(config, shard, file)
            for batch in rows:
                for block in blocks(batch):
                    tar.add(block)
            file.write(end(tar.length))
        files = [name]
        if config.energon:
            files.append(f"{name}{energon.INDEX_SUFFIX}")
            (folder / files[1]).write_bytes(energon.index(tar.sample_sizes))
        counted = {"media_left_out": tar.media_left_out, "without_text": tar.without_text}
        facts: dict[str, Json] = {fact: count for fact, count in counted.items() if count}
        return Made(tuple(files), tar.samples, facts)

    def finish(self, config: WebDatasetConfig, shards: Sequence[WrittenShard], about: About) -> Mapping[str, bytes]:
        """Energon's description of the dataset, if requested."""
        if not config.energon:
            return {}
        suffix = f"0.{config.suffix}" if config.many else config.suffix
        return energon.description(shards, energon.dataset_of(suffix or None), about.outputs)

    def wanted_media(self, config: WebDatasetConfig) -> WantedMedia | None:
        """The requirement on every sample: equally many pictures, as readers expect the same members in each."""
        return config.wanted(same_number=True)

    def notes(self, _: WebDatasetConfig, shards: Sequence[WrittenShard]) -> Sequence[str]:
        """Reports, for each output, the samples without text for a model."""
        return notes_without_text(shards)

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts for the audit: samples in each tar, and in Energon's indices."""
        output = output_of(rf"{SHARD}\.tar", path)
        return energon.count(folder, path) if output is None else [Counted(output, tar_samples(folder / path))]


def notes_without_text(shards: Sequence[WrittenShard]) -> Sequence[str]:
    """For each output, the number of samples that are counted as `without_text`, where there are any."""
    found = []
    for output in dict.fromkeys(shard.shard.output for shard in shards):
        mine = [shard for shard in shards if shard.shard.output == output]
        without = sum(int(str(one.facts.get("without_text", 0))) for one in mine)
        if without:
            of = sum(one.samples for one in mine)
            found.append(
                f"{output}: neither a text nor a caption, and so an empty .txt, in {without:,} of {of:,} samples"
            )
    return found


class _Tar:
    """One archive, extended by blocks of rows."""

    def __init__(self, config: WebDatasetConfig, shard: ShardName, file: BinaryIO) -> None:
        self._config = config
        self._shard = shard
        self._file = file
        self._positions: dict[bytes, int] = {}  # of written samples, by key
        self.length = 0  # bytes of members
        self.media_left_out = 0
        self.without_text = 0  # where a caption may replace it
        self._number = 0  # of media of each sample, once one has come
        self.sample_sizes: list[npt.NDArray[np.int64]] = []

    @property
    def samples(self) -> int:
        """The number of samples written."""
        return len(self._positions)

    def add(self, block: pa.RecordBatch) -> None:
        """Writes the samples of a block, as one buffer."""
        keys = self._keys(block)
        for part, names in _runs(block, keys):
            contents = self._members(part)
            if any(file is not None for files in contents.files.values() for file in files):
                self._add_large(part, names[0], contents)
            else:
                self._add(part, names, contents.held)

    def _add(self, block: pa.RecordBatch, keys: Sequence[bytes], found: Mapping[str, pa.Array]) -> None:
        """Writes samples whose members are all in memory, as one buffer."""
        parts: list[pa.Array] = []
        for suffix, contents in sorted(found.items()):
            sizes = sizes_of(contents)
            if int(np.max(sizes, initial=0)) > MAX_MEMBER:
                raise _too_large(block, int(np.argmax(sizes)), suffix)
            ending = f".{suffix}".encode()
            parts += members([key + ending for key in keys], contents)
        written = joined(parts)
        raw = buffer_of(written)
        self._file.write(raw)
        self.length += raw.size
        self.sample_sizes.append(sizes_of(written))

    def _add_large(self, block: pa.RecordBatch, key: bytes, found: "_Members") -> None:
        """Writes one sample, of which some members are copied from files of their own."""
        size = 0
        for suffix, contents in sorted(found.held.items()):
            file = found.files[suffix][0] if suffix in found.files else None
            length = os.stat(file).st_size if file else len(contents[0].as_py())
            if length > MAX_MEMBER:
                raise _too_large(block, 0, suffix)
            head = headers([key + f".{suffix}".encode()], np.array([length]))
            self._file.write(buffer_of(head))
            for piece in in_pieces(file) if file else (contents[0].as_py(),):
                self._file.write(piece)
            self._file.write(bytes(-length % BLOCK))
            size += BLOCK + length + -length % BLOCK
        self.length += size
        self.sample_sizes.append(np.array([size], np.int64))

    def _keys(self, block: pa.RecordBatch) -> list[bytes]:
        start = self.samples
        if self._config.key == "position":
            stem = f"{self._shard.output}-{self._shard.digits}"
            keys = [f"{stem}-{start + row:08d}".encode() for row in range(len(block))]
        else:
            keys = [f"{name}-{copy}".encode() for name, copy in zip(*identity_of(block), strict=True)]
        for position, key in enumerate(keys, start):
            first = self._positions.setdefault(key, position)
            if first != position:
                again = sample_name(block, position - start)
                raise ExportError(
                    f"{again}: samples {first} and {position} of {self._shard.stem()}.tar have the same key "
                    f"{key.decode()}; a copy must come once: draw the mixture again, or write key: position"
                )
        return keys

    def _members(self, block: pa.RecordBatch) -> "_Members":
        placed: dict[str, pa.StructArray] = self._media(block) if self._config.wants_media else {}
        texts = filled_texts(block, self._config)
        if self._config.caption_rule != "none":
            self.without_text += texts.null_count
        if not self._config.wants_media:
            self.media_left_out += count_media(block)
        held = {suffix: pc.fill_null(pc.struct_field(items, "bytes"), b"") for suffix, items in placed.items()}
        held |= {"txt": as_binary(texts), "json": _descriptions(block, self._config)}
        return _Members(held, {suffix: pc.struct_field(items, "file").to_pylist() for suffix, items in placed.items()})

    def _media(self, block: pa.RecordBatch) -> dict[str, pa.StructArray]:
        """The media of all rows by suffix. Checked before in the store; this covers fetched ones."""
        media = block.column("media")
        wanted = self._config.wanted(same_number=True)
        assert wanted is not None
        counts = np.asarray(pc.list_value_length(media), np.int64)
        self._number = self._number or (int(counts[0]) if self._config.many else 1)
        wrong = np.flatnonzero(counts != self._number)
        if not len(wrong) and not self._config.changes.encodes:  # else they are of another type than in the store
            wrong = wanted.misfits(media)
        if len(wrong):
            row = int(wrong[0])
            raise ExportError(
                f"{sample_name(block, row)} has {wanted.has(media[row])}; {wanted.expected}: {wanted.remedy}"
            )
        items, suffix = media.flatten(), self._config.suffix
        return {
            f"{place}.{suffix}" if self._config.many else suffix: items.take(
                pa.array(np.arange(place, len(items), self._number))
            )
            for place in range(self._number)
        }


@dataclass(frozen=True, slots=True)
class _Members:
    """The members of some samples by suffix: what is in memory, and the files of what is not."""

    held: dict[str, pa.Array]
    files: dict[str, list[str | None]]


def _runs(block: pa.RecordBatch, keys: Sequence[bytes]) -> Iterator[tuple[pa.RecordBatch, Sequence[bytes]]]:
    """The rows between those with large media, and each of those alone."""
    large = np.flatnonzero(large_rows(block.column("media")))
    edges = np.unique(np.concatenate([[0], large, large + 1, [len(block)]])).tolist()
    for first, last in itertools.pairwise(edges):
        yield block.slice(first, last - first), keys[first:last]


def _too_large(block: pa.RecordBatch, row: int, suffix: str) -> ExportError:
    return ExportError(
        f"{sample_name(block, row)}: its .{suffix} is larger than 8 GiB, the limit for a member of a tar"
    )


def _descriptions(block: pa.RecordBatch, config: WebDatasetConfig) -> pa.Array:
    """The JSON of each sample, row by row because only orjson escapes correctly; a microsecond or two per row."""
    columns = sample_facts(block)
    if config.wants_media:
        columns |= {name: values.to_pylist() for name, values in media_facts(block, config).items()}
    names = sorted(columns)
    rows = zip(*(columns[name] for name in names), strict=True)
    return pa.array([orjson.dumps(dict(zip(names, row, strict=True))) for row in rows], pa.large_binary())


FORMAT = WebDataset()
