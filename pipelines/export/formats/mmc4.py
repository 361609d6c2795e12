"""Documents in MMC4's shape: JSON lines with `url`, `text_list`, `image_info` and `similarity_matrix`.

Each picture of `image_info` has `image_name`, `raw_url`, `matched_text_index` and `matched_sim`; with `media: images`
also `image_base64`, as the shards of OpenFlamingo's reader. MMC4 matches pictures with sentences by CLIP. Here a
picture's text is the one that follows it on the page, or the last: `similarity_matrix` has 1 for that and 0 for the
others, and `matched_sim` is 1. These are places, not similarities.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.export.formats.columns import blocks, identity_of
from winnow.pipelines.export.formats.counting import SHARD, Counted, lines_of, output_of
from winnow.pipelines.export.formats.documents import DocumentOptions, Part, copied_documents_in
from winnow.pipelines.export.formats.jsonl import SUFFIXES, compressed
from winnow.pipelines.export.formats.protocol import ExportFormat, Made, ShardName
from winnow.pipelines.export.formats.wanted_media import contents, large_apart
from winnow.schemas.identity import Json


@dataclass(frozen=True)
class Mmc4Config(DocumentOptions):
    """Options of the format."""

    compression: Literal["zstd", "gzip", "none"] = "none"  # as MMC4's files are inside their zips


class Mmc4(ExportFormat):
    """MMC4's shape."""

    name = "mmc4"
    config = Mmc4Config

    def identity(self, config: Mmc4Config) -> Json:
        """The options."""
        return {"version": 2, "media": config.media, "compression": config.compression, **config.identity()}

    def write(self, config: Mmc4Config, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one file."""
        path = f"{shard.stem()}.jsonl{SUFFIXES[config.compression]}"
        samples = size = 0
        with open(folder / path, "wb") as file, compressed(file, config.compression) as stream:
            for batch in rows:
                for block in (part for one in blocks(batch) for part in large_apart(one)):
                    for line in _lines(config, block):
                        stream.write(line)
                        size += len(line)
                    samples += len(block)
        return Made((path,), samples, {"bytes": size})

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts lines for the audit."""
        output = output_of(rf"{SHARD}\.jsonl(\.zst|\.gz)?", path)
        return [] if output is None else [Counted(output, lines_of(folder / path))]


def _lines(config: Mmc4Config, block: pa.RecordBatch) -> Iterator[bytes]:
    media = block.column("media")
    held = contents(media.flatten()) if config.wants_media else None
    counts = pc.list_value_length(media).to_pylist()
    first = 0
    keys = zip(*identity_of(block), strict=True)
    rows = zip(keys, block.column("url").to_pylist(), copied_documents_in(block, config), counts, strict=True)
    for (name, copy), url, parts, count in rows:
        texts = [part.text for part in parts if part.text is not None]
        places = _places(parts, len(texts))
        images: list[Json] = []
        for part, place in places:
            image: dict[str, Json] = {
                "image_name": f"{name}-{copy}.{part.picture}.{config.suffix or 'jpg'}",
                "raw_url": part.url or "",
                "matched_text_index": place,
                "matched_sim": 1.0,
            }
            if held is not None:
                image["image_base64"] = base64.b64encode(held[first + part.picture].as_py()).decode()
            images.append(image)
        matrix: list[Json] = [[float(number == place) for number in range(len(texts))] for _, place in places]
        line = {"url": url or "", "text_list": texts, "image_info": images, "similarity_matrix": matrix}
        yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        first += count


def _places(parts: Sequence[Part], texts: int) -> list[tuple[Part, int]]:
    """Each picture, and the number of the text that follows it, or of the last; 0 where there is no text."""
    found, seen = [], 0
    for part in parts:
        if part.text is not None:
            seen += 1
        else:
            found.append((part, max(0, min(seen, texts - 1))))
    return found


FORMAT = Mmc4()
