"""`winnow robots`: collects robots.txt and tdmrep.json files, so that they can be applied to any crawl.

A crawl that fetched robots.txt files has them among its samples; Common Crawl publishes them in separate archives,
which can be ingested into a store of their own. Files are written in the order of shards and rows, so the same store
gives the same bytes. A tdmrep.json is not ingested as text: its record is read again, which needs the recipe's sources.
"""

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from winnow.filters.extraction.charset import decode_page
from winnow.filters.web.rights.host_files import PATHS, Kind, host_file_line, split_url
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.forgetting.outputs import ROBOTS
from winnow.pipelines.ingest.formats import container_reader
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.ingest.records import Record
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.runners.stages.lists.whole_file import registered_file, require_writable, whole_file
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.records import FilePart, Generation

_NAMES: Final = "|".join(path.rpartition("/")[2].replace(".", r"\.") for path in PATHS)
_COLUMNS: Final = ["url", "text", "source", "media", "metadata"]


@dataclass(frozen=True, slots=True)
class KeptFile:
    """One file of a host; without a body if it is neither in the store nor in the recipe's sources."""

    kind: Kind
    url: str
    fetched_at: str | None
    body: str | None
    status: int | None = None  # of the response, if it is known

    def line(self) -> bytes:
        """The line that the operator reads."""
        return host_file_line(self.url, self.fetched_at, self.body, self.status)


def kept_files(store: Store, generation: Generation, context: IngestContext | None) -> Iterator[KeptFile]:
    """Every robots.txt and tdmrep.json among the samples."""
    for row in store.manifest(generation, layout.SAMPLES):
        urls = (batch.column("url") for batch in store.batches(row, ["url"]))
        # true for most shards, whose texts are then not read
        if not any(pc.any(_named(batch)).as_py() for batch in urls):
            continue
        for batch in store.batches(row, _COLUMNS):
            yield from _files(batch.filter(_named(batch.column("url"))), context)


def _named(urls: pa.Array) -> pa.BooleanArray:
    return pc.fill_null(pc.match_substring_regex(urls, rf"/(?:{_NAMES})(?:$|[?#])"), False)


def _files(batch: pa.RecordBatch, context: IngestContext | None) -> Iterator[KeptFile]:
    columns = [batch.column(name).to_pylist() for name in _COLUMNS]
    for url, text, source, media, metadata in zip(*columns, strict=True):
        place = split_url(url)
        if place is None or place[1] not in PATHS or (text is None and not media):
            continue
        fetched = source["fetched_at"]
        moment = None if fetched is None else fetched.isoformat().replace("+00:00", "Z")
        body = text if text is not None or context is None else _body(source, url, context)
        yield KeptFile(PATHS[place[1]], url, moment, body, _status(metadata))


def _status(metadata: str) -> int | None:
    """The status of a response that the source accepts though it may be an error."""
    found = cast(Mapping[str, Json], orjson.loads(metadata)).get("http_status")
    return found if isinstance(found, int) else None


def _body(source: Mapping[str, object], url: str, context: IngestContext) -> str | None:
    """The content of a sample's source record; None if it no longer exists."""
    bound = context.sources.get(str(source["name"]))
    if bound is None:
        return None
    path, offset = str(source["path"]), cast(int, source["offset"])
    try:
        with bound.objects.open(path) as stream:
            part = FilePart(path, stream.seek(0, 2), offset, offset + 1)
            for event in container_reader(bound.format, path, bound.columns)(stream, part, context.limits):
                if isinstance(event, Record) and event.url == url and event.span.member == source["member"]:
                    return None if event.body is None else decode_page(event.body, event.declared_charset).text
    except FileNotFoundError:
        return None
    return None


def write_kept_files(recipe: BoundRecipe | None, store: Store, output: Path, console: Console) -> int:
    """Write the files; returns 0 if there are any."""
    require_writable("--output", output)
    generation = require_latest_for(recipe, store)
    context = None if recipe is None else recipe.ingest(store)
    counts: dict[str, int] = dict.fromkeys(PATHS.values(), 0)
    unread = 0
    try:
        with (
            registered_file(store.objects, ROBOTS, output, generation.number),
            whole_file(output) as unfinished,
            unfinished.open("wb") as raw,
            _packed(raw, output) as stream,
        ):
            for file in kept_files(store, generation, context):
                if file.body is None:
                    unread += 1
                    continue
                counts[file.kind] += 1
                stream.write(file.line())
    except OSError as error:
        raise WinnowError(f"--output {output}: {error.strerror or error}") from None
    found = ", ".join(f"{count:_} {kind}" for kind, count in counts.items())
    console.print(f"{output}: {found} (generation {generation.number})")
    if unread:
        why = "give the recipe instead of the store" if recipe is None else "their archives no longer exist"
        console.print(f"left out: {unread:_} that the store only refers to; {why}")
    return 0 if any(counts.values()) else 3


def _packed(raw: IO[bytes], output: Path) -> IO[bytes]:
    if output.suffix != ".gz":
        return raw
    return cast(IO[bytes], gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
