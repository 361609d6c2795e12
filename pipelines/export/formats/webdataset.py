"""WebDataset: shards `train-00000-of-00012.tar`, in which a sample's members are adjacent and share a key.

A sample is `<key>.txt`, its text (empty if it has none), and `<key>.json`; with `media` also its one medium, such as
`<key>.jpg`. Readers infer the schema from the first few samples (Hugging Face from five, and ignores later additions).
So every sample of an export has the same members, and every JSON value has one type and is never null:
missing values are empty, and `captions` and `metadata`, whose shape varies, are JSON in a string.

Keys contain no dot, since a member's key ends at the first one: `<id in hex>-<copy>`, or the sample's position
(`train-00003-00000042`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.export.formats import energon
from winnow.pipelines.export.formats.columns import as_binary, blocks, count_media, identity_of, sample_name
from winnow.pipelines.export.formats.counting import SHARD, Counted, output_of, tar_samples
from winnow.pipelines.export.formats.one_medium import OneMedium
from winnow.pipelines.export.formats.protocol import About, Made, ShardName, WrittenShard
from winnow.pipelines.export.formats.tar import MAX_MEMBER, buffer_of, end, joined, members, sizes_of
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json

MediaKind: TypeAlias = Literal[
    "none", "image", "jpg", "png", "webp", "gif", "mp4", "mov", "webm", "mp3", "m4a", "flac", "ogg", "wav"
]


@dataclass(frozen=True, slots=True)
class _Kind:
    suffix: str
    mimes: tuple[str, ...]  # one that ends in a slash stands for all types with that prefix

    def wanted(self, kind: str) -> OneMedium:
        """The requirement on each sample."""
        return OneMedium(kind, self.mimes)


_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "image": _Kind("jpg", ("image/",)),  # image readers detect the type from the bytes; the name only says "image"
        "jpg": _Kind("jpg", ("image/jpeg",)),
        "png": _Kind("png", ("image/png",)),
        "webp": _Kind("webp", ("image/webp",)),
        "gif": _Kind("gif", ("image/gif",)),
        "mp4": _Kind("mp4", ("video/mp4", "video/x-m4v")),
        "mov": _Kind("mov", ("video/quicktime",)),
        "webm": _Kind("webm", ("video/webm",)),
        "mp3": _Kind("mp3", ("audio/mpeg",)),
        "m4a": _Kind("m4a", ("audio/mp4",)),
        "flac": _Kind("flac", ("audio/flac",)),
        "ogg": _Kind("ogg", ("audio/ogg",)),
        "wav": _Kind("wav", ("audio/wav", "audio/x-wav", "audio/vnd.wave")),
    }
)


@dataclass(frozen=True)
class WebDatasetConfig:
    """Options of the format."""

    media: MediaKind = "none"  # the type of the one medium per sample; image: any image, named .jpg
    # caption: the first caption, for a sample without text; rows of tables that name media have captions
    text: Literal["text", "caption"] = "text"
    key: Literal["id", "position"] = "id"
    energon: bool = False  # with the files for Megatron Energon: .nv-meta, and an index beside each shard

    def __post_init__(self) -> None:
        if self.energon and self.key == "position":
            raise ValueError("energon looks samples up by their keys: write 'key: id'")


@dataclass(frozen=True, slots=True)
class WebDataset:
    """The WebDataset format."""

    name: str = "webdataset"
    config: type[WebDatasetConfig] = WebDatasetConfig

    def check(self, config: WebDatasetConfig) -> None:
        """Checks nothing: winnow brings all that is needed."""

    def identity(self, config: WebDatasetConfig) -> Json:
        """The options."""
        return {"version": 1, **asdict(config)}

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
        kind = _KINDS.get(config.media)
        return energon.description(shards, kind.suffix if kind else None, about.outputs)

    def one_medium(self, config: WebDatasetConfig) -> OneMedium | None:
        """The requirement on every sample."""
        return _KINDS[config.media].wanted(config.media) if config.media in _KINDS else None

    def notes(self, config: WebDatasetConfig, shards: Sequence[WrittenShard]) -> Sequence[str]:
        """Reports, for each output, the samples without text for a model."""
        found = []
        for output in dict.fromkeys(one.shard.output for one in shards):
            mine = [one for one in shards if one.shard.output == output]
            without = sum(int(str(one.facts.get("without_text", 0))) for one in mine)
            if without:
                of = sum(one.samples for one in mine)
                found.append(
                    f"{output}: {without:,} of {of:,} samples have neither a text nor a caption, as text: "
                    f"{config.text} wants; their .txt is empty"
                )
        return found

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts for the audit: samples in each tar, and in Energon's indices."""
        output = output_of(rf"{SHARD}\.tar", path)
        return energon.count(folder, path) if output is None else [Counted(output, tar_samples(folder / path))]


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
        self.sample_sizes: list[npt.NDArray[np.int64]] = []

    @property
    def samples(self) -> int:
        """The number of samples written."""
        return len(self._positions)

    def add(self, block: pa.RecordBatch) -> None:
        """Writes the samples of a block, as one buffer."""
        keys = self._keys(block)
        parts: list[pa.Array] = []
        for suffix, contents in sorted(self._members(block).items()):
            if int(np.max(sizes_of(contents), initial=0)) > MAX_MEMBER:
                big = sample_name(block, int(np.argmax(sizes_of(contents))))
                raise ExportError(f"{big}: its .{suffix} is larger than 8 GiB, the limit for a member of a tar")
            ending = f".{suffix}".encode()
            parts += members([key + ending for key in keys], contents)
        written = joined(parts)
        raw = buffer_of(written)
        self._file.write(raw)
        self.length += raw.size
        self.sample_sizes.append(sizes_of(written))

    def _keys(self, block: pa.RecordBatch) -> list[bytes]:
        start = self.samples
        if self._config.key == "position":
            stem = f"{self._shard.output}-{self._shard.number:05d}"
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

    def _members(self, block: pa.RecordBatch) -> dict[str, pa.Array]:
        texts = _texts(block, self._config.text)
        if self._config.text == "caption":
            self.without_text += texts.null_count
        found = {"txt": as_binary(texts), "json": _descriptions(block)}
        if self._config.media == "none":
            self.media_left_out += count_media(block)
        else:
            kind = _KINDS[self._config.media]
            found[kind.suffix] = _media(block, self._config.media, kind)
        return found


def _texts(block: pa.RecordBatch, which: str) -> pa.Array:
    """The text of each sample, null if it has none."""
    texts = block.column("text")
    if which == "caption" and texts.null_count:
        # Row by row: where captions are the training text, the bytes of the media outweigh them.
        first = [said[0]["text"] if said else None for said in block.column("captions").to_pylist()]
        texts = pc.coalesce(texts, pa.array(first, pa.large_string()))
    return texts


def _media(block: pa.RecordBatch, wanted: str, kind: _Kind) -> pa.Array:
    media = block.column("media")
    one = kind.wanted(wanted)
    if len(wrong := one.misfits(media)):  # checked before against the store; this covers fetched media
        row = int(wrong[0])
        raise ExportError(f"{sample_name(block, row)} has {one.has(media[row])}; {one.expected}: {one.remedy}")
    return pc.struct_field(media.flatten(), "bytes")


_PLAIN = ("family", "language", "licence", "modality", "source", "source_class")
_MAYBE = ("band", "metadata", "mime", "url")


def _descriptions(block: pa.RecordBatch) -> pa.Array:
    """The JSON of each sample, row by row because only orjson escapes correctly; a microsecond or two per row."""
    columns: dict[str, Sequence[Json]] = {name: block.column(name).to_pylist() for name in _PLAIN}
    columns |= {name: block.column(name).fill_null("").to_pylist() for name in _MAYBE}
    columns["captions"] = _captions(block)
    columns["id"], columns["copy"] = identity_of(block)
    names = sorted(columns)
    rows = zip(*(columns[name] for name in names), strict=True)
    return pa.array([orjson.dumps(dict(zip(names, row, strict=True))) for row in rows], pa.large_binary())


def _captions(block: pa.RecordBatch) -> list[str]:
    captions = block.column("captions")
    if not len(captions.flatten()):
        return ["[]"] * len(block)
    return [orjson.dumps(value).decode() for value in captions.to_pylist()]


FORMAT = WebDataset()
