"""Files that no reader takes, and what makes them readable."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from winnow.pipelines.ingest.formats import format_by_name

HIDDEN: Final = "hidden"
EMPTY: Final = "empty"
DESCRIBING: Final = "of those pictures' captions"

LINKED: Final = "a link to a file"

_MOST_NAMED: Final = 12
_FEW: Final = 3
_REMEDIES: Final[Mapping[str, frozenset[str]]] = {
    "extract the text, for example with `pdftotext`": frozenset({".pdf", ".djvu", ".ps"}),
    "convert to HTML or text, for example with `pandoc`": frozenset(
        {".doc", ".docx", ".epub", ".fb2", ".ipynb", ".mobi", ".odt", ".org", ".rst", ".rtf", ".tex"}
    ),
    "save the sheets as CSV": frozenset({".ods", ".xls", ".xlsm", ".xlsx"}),
    "decompress; tars are read only uncompressed": frozenset({".tar.bz2", ".tar.gz", ".tar.xz", ".tar.zst", ".tgz"}),
    "unpack": frozenset({".7z", ".rar", ".zip"}),
    "decompress; only WARC, ARC, JSON lines and CSV are read as gzip or zstd": frozenset(
        {".br", ".bz2", ".gz", ".lz4", ".xz", ".zst"}
    ),
    "convert to text, or each message to a row of JSON lines": frozenset({".eml", ".mbox", ".msg"}),
    "convert to JPEG, PNG, WebP or AVIF": frozenset({".heic", ".heif", ".jp2", ".jxl", ".psd", ".svg"}),
    "they are read with the pictures beside them, once these are converted": frozenset({DESCRIBING}),
    "winnow has no reader for sound; add transcripts as text": frozenset(
        {".flac", ".m4a", ".mp3", ".ogg", ".opus", ".wav"}
    ),
    "subtitles are read as SRT or WebVTT under the video's own name, such as talk.srt beside talk.mp4": frozenset(
        {".ass", ".srt", ".ssa", ".vtt"}
    ),
    "the name or a folder's begins with a dot; rename what you want read": frozenset({HIDDEN}),
    "0 bytes; fetch again what should not be empty": frozenset({EMPTY}),
}
_NO_READER: Final = "winnow has no reader; name text files .txt, convert others to text, HTML or JSON lines"


def ending_shown(path: str) -> str:
    """What an unread file's name ends in; `.tar.gz` and its like are shown whole."""
    of = format_by_name(path)
    if of is not None and of.why_not(path):
        return of.ending(path).lower()
    return PurePosixPath(path).suffix.lower()


def listed_unread(unread: Mapping[str, int], most: int = _MOST_NAMED) -> str:
    """Files that no reader takes, in a few words."""
    ordered = sorted(unread.items(), key=lambda one: (-one[1], one[0]))
    named = [f"{count:,} {ending or 'without an ending'}" for ending, count in ordered[:most]]
    rest = sum(count for _, count in ordered[most:])
    return ", ".join([*named, f"{rest:,} others"] if rest else named)


def unread_notes(unread: Mapping[str, int]) -> Iterator[str]:
    """A line for each remedy: the files that it makes readable."""
    by_remedy: dict[str, dict[str, int]] = {}
    for ending, count in unread.items():
        remedy = next((remedy for remedy, endings in _REMEDIES.items() if ending in endings), _NO_READER)
        by_remedy.setdefault(remedy, {})[ending] = count
    for remedy in (*_REMEDIES, _NO_READER):
        if remedy in by_remedy:
            yield f"not read: {listed_unread(by_remedy[remedy])}: {remedy}"


def irregular_notes(irregular: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A line for each kind of what is no plain file or folder, with the first names."""
    for kind, paths in irregular.items():
        named = ", ".join(paths[:_FEW]) + (f" and {len(paths) - _FEW:,} more" if len(paths) > _FEW else "")
        each = kind if len(paths) == 1 else f"{len(paths):,} are each {kind}"
        if kind == LINKED:
            yield f"{each}, read under that name; if the file itself lies here, too, it is read twice: {named}"
        else:
            yield f"not read: {each}: {named}"
