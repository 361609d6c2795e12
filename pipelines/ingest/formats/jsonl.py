"""JSON lines: an object a line, plain or compressed with gzip or zstd."""

from winnow.pipelines.ingest.formats.source_format import COMPRESSED, OpenFile, SourceFormat
from winnow.pipelines.ingest.tables.jsonl import JsonlReader, foreign_format, parse_lines
from winnow.pipelines.ingest.tiling.claims import Claim, bytes_of, check_decoded_lines, check_remains
from winnow.pipelines.ingest.tiling.counting import check_ranges, count_jsonl


def _no_rows(beginning: bytes) -> str:
    if beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return "one JSON array, not a JSON object a line; `jq -c '.[]'` converts it"
    return "no rows can be read: expected a JSON object a line; `jq -c .` shows where it is none"


def _tile(file: OpenFile, claims: list[Claim]) -> list[str]:
    if foreign_format(file.stream) is not None:  # it was quarantined as one range
        return check_ranges(file.size, bytes_of(claims))
    remains = check_remains(claims, file.size)
    if remains is not None:
        return remains
    return check_decoded_lines(claims, count_jsonl(file.stream, file.limits), file.size)


FORMAT = SourceFormat(
    name="jsonl",
    called="JSON lines",
    content="table",
    endings=r"\.(jsonl|ndjson|json)" + COMPRESSED,
    marks=((0, b'{"'),),
    is_auto=True,
    is_text=True,
    reader=lambda how: JsonlReader(how.columns, how.checked),
    split="lines",
    rows=parse_lines,
    no_rows=_no_rows,
    tile=_tile,
)
