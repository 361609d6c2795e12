"""What ingest claims of a file, and the checks that rows, lines and ranges of bytes make it up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from winnow.pipelines.ingest.records import Span
from winnow.pipelines.ingest.tiling.counting import StreamCount, check_lines, check_ranges

MAX_FINDINGS: Final = 100  # findings reported per file; the rest are only counted


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim on a range: one per record or stretch of padding, even if several share a range."""

    span: Span
    readable: bool  # kept or dropped; False means quarantined, where only the extent is checked
    failed: bool = False  # quarantined by a reader that failed, so that nobody knows what is in it


def bytes_of(claims: Sequence[Claim]) -> list[Span]:
    """The claimed ranges of bytes."""
    return [claim.span for claim in claims if claim.span.unit == "bytes"]


def check_remains(claims: Sequence[Claim], size: int) -> list[str] | None:
    """Checks what is claimed beside the bytes that a failed reader left: nothing twice, nothing outside; else None."""
    ranges = bytes_of(claims)
    if not any(claim.failed and claim.span.unit == "bytes" for claim in claims):
        return None
    if len(ranges) == len(claims):
        return check_ranges(size, ranges)
    outside = [span for span in ranges if not 0 <= span.offset <= span.offset + span.length <= size]
    wrong = [
        f"bytes {span.offset} to {span.offset + span.length}: outside this file of {size} bytes" for span in outside
    ]
    seen = {claim.span for claim in claims}
    return wrong + ([] if len(seen) == len(claims) else [f"{len(claims) - len(seen)} ranges are claimed twice"])


def check_rows(claims: Sequence[Claim], rows: int | None, size: int) -> list[str]:
    """Checks that each row, or record with a range of bytes, is claimed once or quarantined.

    A file that cannot be counted is only checked to be made up by ranges of bytes, as is a table that is one of these.
    """
    whole = bytes_of(claims)
    if rows is None or whole:
        counted = rows is not None and all(claim.readable and claim.span.unit == "bytes" for claim in claims)
        return [*check_ranges(size, whole), *(_count(whole, rows or 0, "records") if counted else ())]
    wide = [claim.span for claim in claims if claim.readable and claim.span.length != 1]
    stretched = [f"one row claims the {span.length} rows from {span.offset}" for span in wide[:10]]
    return [*stretched, *check_ranges(rows, [claim.span for claim in claims])]


def check_decoded_lines(claims: Sequence[Claim], counted: StreamCount, size: int) -> list[str]:
    """Checks that lines tile the decoded stream; the rest of a damaged file is quarantined."""
    lines = [claim.span for claim in claims if claim.span.unit in ("stream", "member")]
    raw = bytes_of(claims)
    if counted.codec is None:
        return [*check_ranges(size, raw), *_count(raw, counted.lines)]
    answered = len({(span.offset, span.member) for span in lines})
    if counted.complete:
        return [*check_lines(counted, lines), *_unequal(answered, counted.lines)]
    # Decoders stop at damage some bytes apart: the reader's ranges must tile from the start, and it
    # may not have fewer complete lines than were counted here.
    wrong = check_lines(replace(counted, bytes=sum(span.length for span in lines)), lines)
    if answered < counted.lines - 1:
        wrong.append(f"{answered} lines are accounted for, but at least {counted.lines - 1} can be decoded")
    if not any(span.offset + span.length == size for span in raw):
        wrong.append("the compressed file is damaged, but no quarantined range covers its end")
    return wrong


def _count(claimed: Sequence[Span], counted: int, of: str = "lines") -> list[str]:
    return _unequal(len({(span.offset, span.member) for span in claimed if span.length}), counted, of)


def _unequal(claimed: int, counted: int, of: str = "lines") -> list[str]:
    return [] if claimed == counted else [f"{claimed} {of} are accounted for, but the file has {counted}"]
