"""Folders of files as Hugging Face's `imagefolder` reads them, one folder for each shard:

    train/00000/<key>.jpg           a medium, by the sample's id and copy; of several <key>.0.jpg, <key>.1.jpg …
    train/00000/<key>.txt           the sample's text or caption
    train/00000/<key>.json          what else is known of it
    train/00000/metadata.jsonl      a line for each sample: file_name (or file_names), text, and all of the .json

For looking at, and for tools that know nothing else: every sample is a file at least, which the record of the export
lists, so above some hundred thousand samples another format is better.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.export.formats.columns import identity_of, sample_facts
from winnow.pipelines.export.formats.counting import Counted, lines_of, output_of
from winnow.pipelines.export.formats.protocol import ExportFormat, Made, ShardName
from winnow.pipelines.export.formats.wanted_media import (
    MediaKind,
    MediaOptions,
    filled_texts,
    in_pieces,
    media_facts,
    media_names,
)
from winnow.schemas.identity import Json

_METADATA: Final = "metadata.jsonl"
_FOLDER: Final = r"(?P<output>[^/]+)/\d{5,}"
_FIRST_MEDIUM: Final = r"[0-9a-f]{32}-\d+(\.0)?\.(?!txt$|json$)[a-z0-9]+"


@dataclass(frozen=True)
class FolderConfig(MediaOptions):
    """Options of the format."""

    media: MediaKind = "image"
    beside: tuple[Literal["txt", "json"], ...] = ("txt", "json")  # the files that each sample has beside its media

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.media == "none":
            raise ValueError("a folder is one of media: leave out 'media: none', or write another format")


class Folder(ExportFormat):
    """The format of folders."""

    name = "folder"
    config = FolderConfig

    def identity(self, config: FolderConfig) -> Json:
        """The options."""
        return {"version": 1, "beside": sorted(config.beside), **config.identity()}

    def write(self, config: FolderConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one folder."""
        below = f"{shard.output}/{shard.digits}"
        (folder / below).mkdir(parents=True)
        files = [f"{below}/{_METADATA}"]
        samples = 0
        with (folder / files[0]).open("xb") as lines:
            for batch in rows:
                files += [f"{below}/{name}" for name in _write_media(batch, config, folder / below)]
                keys = [f"{name}-{copy}" for name, copy in zip(*identity_of(batch), strict=True)]
                texts = filled_texts(batch, config).fill_null("").to_pylist()
                for key, text, facts in zip(keys, texts, _facts(batch, config), strict=True):
                    found = {"txt": text.encode(), "json": orjson.dumps(facts)}
                    for suffix in sorted(set(config.beside)):
                        files.append(f"{below}/{key}.{suffix}")
                        (folder / files[-1]).write_bytes(found[suffix])
                samples += len(batch)
                lines.writelines(_lines(batch, config, texts))
        return Made(tuple(files), samples, {})

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts for the audit: the first medium of each sample, and the lines that list them."""
        output = output_of(f"{_FOLDER}/{_FIRST_MEDIUM}", path)
        if output is not None:
            return [Counted(output, 1)]
        output = output_of(f"{_FOLDER}/{_METADATA}", path)
        return [] if output is None else [Counted(output, lines_of(folder / path), _METADATA)]


def _write_media(batch: pa.RecordBatch, config: FolderConfig, folder: Path) -> list[str]:
    """Writes the media of some rows; returns their names."""
    names = media_names(batch, config)
    items = batch.column("media").flatten()
    held, files = pc.struct_field(items, "bytes"), pc.struct_field(items, "file").to_pylist()
    for number, (name, file) in enumerate(zip(names, files, strict=True)):
        with (folder / name).open("xb") as out:
            out.writelines([held[number].as_buffer()] if file is None else in_pieces(file))
    return names


def _facts(batch: pa.RecordBatch, config: FolderConfig) -> Iterator[dict[str, Json]]:
    """What is known of each sample."""
    columns = sample_facts(batch)
    columns |= {name: values.to_pylist() for name, values in media_facts(batch, config).items()}
    names = sorted(columns)
    for row in zip(*(columns[name] for name in names), strict=True):
        yield dict(zip(names, row, strict=True))


def _lines(batch: pa.RecordBatch, config: FolderConfig, texts: Sequence[str]) -> Iterator[bytes]:
    """The lines that list samples."""
    names = iter(media_names(batch, config))
    counts = pc.list_value_length(batch.column("media")).to_pylist()
    for facts, text, count in zip(_facts(batch, config), texts, counts, strict=True):
        own = [next(names) for _ in range(count)]
        listed: dict[str, Json] = {"file_names": [*own]} if config.many else {"file_name": own[0]}
        yield orjson.dumps({**listed, "text": text, **facts}, option=orjson.OPT_APPEND_NEWLINE)


FORMAT = Folder()
