"""The captures of robots.txt that a crawl has beside its pages, in the form that `url.robots: {rules: …}` reads."""

import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.extraction.charset import decode_page
from winnow.filters.web.rights.host_files import host_file_line
from winnow.filters.web.rights.robots_txt import MAX_BYTES
from winnow.pipelines.ingest.archives.warc import read_warc
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record
from winnow.schemas.records import FilePart


def host_lines(warc: Path, planned: pa.Table, offsets: NDArray[np.int64]) -> bytes:
    """The lines of a file of captures, packed; a capture that cannot be read has none, as if there were none.

    Args:
        warc: The file.
        planned: What is known of its captures.
        offsets: Where each is in the file.
    """
    rows = {int(offset): row for row, offset in enumerate(offsets) if offset >= 0}
    size = warc.stat().st_size
    packed = io.BytesIO()
    with warc.open("rb") as stream, gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as lines:
        for event in read_warc(stream, FilePart(warc.name, size, 0, size), ReadLimits()):
            row = rows.get(event.span.offset)
            if row is None:
                continue
            url, status, moment = (planned[name][row].as_py() for name in ("url", "status", "fetched_at"))
            if isinstance(event, Record):
                raw = event.head if event.body is None else event.body
                text = event.text or decode_page(raw[:MAX_BYTES], event.declared_charset).text
                known = event.metadata.get("http_status")
                status = known if isinstance(known, int) else status
                moment = event.fetched_at or moment
            elif isinstance(event, Dropped) and event.reason == "empty":
                text = ""  # which refuses nothing
            else:
                continue
            when = None if moment is None else moment.isoformat().replace("+00:00", "Z")
            lines.write(host_file_line(url, when, text, status))
    return packed.getvalue()
