"""Reads subtitles: the text of SubRip (`.srt`) and WebVTT (`.vtt`) files without markup, and their times.

Hostile files do no harm: what is no cue is skipped, in time linear in the file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from winnow.filters.video.decode.cues import plain_line

__all__ = [
    "ENDINGS",
    "Subtitles",
    "UndecodableTextError",
    "decoded",
    "language_of_name",
    "lines_between",
    "read_subtitles",
]

ENDINGS: Final = ("srt", "vtt")

_LANGUAGE: Final = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}", re.IGNORECASE)
_NOT_LANGUAGES: Final = frozenset(("sdh", "cc", "hi", "sub", "srt", "vtt"))  # `hi` beside a language: hard of hearing
_TIMES: Final = re.compile(
    r"\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})\s*-->"
    r"\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})(?:\s.*)?"
)
_HEADER: Final = re.compile(r"language:\s*([A-Za-z0-9_-]{2,35})\s*", re.IGNORECASE)
_BOMS: Final = (
    *((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\0\0", "utf-32-le"), (b"\0\0\xfe\xff", "utf-32-be")),
    *((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")),
)


@dataclass(frozen=True, slots=True)
class Subtitles:
    """A file's lines with their times, and its language, if the file says it."""

    text: str
    language: str | None = None
    times: tuple[int, ...] = ()  # of each line its first and its last millisecond, one after the other


class UndecodableTextError(Exception):
    """A text is not in the charset that its byte-order mark says."""


def decoded(raw: bytes) -> str:
    """A text in UTF-8, or in the charset of its byte-order mark; UndecodableTextError if it is in another one."""
    mark, charset = next(((mark, name) for mark, name in _BOMS if raw.startswith(mark)), (b"", "utf-8"))
    try:
        return raw[len(mark) :].decode(charset)
    except UnicodeDecodeError as error:
        raise UndecodableTextError(f"byte {len(mark) + error.start} is not {charset.upper()}") from None


def read_subtitles(raw: bytes) -> Subtitles | str:
    """The text of a file, or why it has none.

    A line that repeats in the next cue, as in rolling captions, is kept once.
    """
    try:
        lines = decoded(raw).replace("\0", "").splitlines()
    except UndecodableTextError as error:
        return str(error)
    texts: list[str] = []
    times: list[int] = []
    shown: dict[str, int] = {}  # the lines of the last cue, and which they are of all
    language = None
    for cue in _cues(lines):
        if isinstance(cue, str):
            language = language or cue
            continue
        now: dict[str, int] = {}
        for line in cue.lines:
            if (known := shown.get(line)) is not None:
                times[2 * known + 1] = max(times[2 * known + 1], cue.end)
                now[line] = known
                continue
            now[line] = len(texts)
            texts.append(line)
            times += (cue.start, cue.end)
        shown = now
    return Subtitles("\n".join(texts), language, tuple(times)) if texts else "no cue with a text"


def lines_between(text: str, times: Sequence[int], start: float, end: float) -> str | None:
    """The lines of subtitles whose middle is within some seconds; None if the times are of another text."""
    lines = text.split("\n")
    if len(times) != 2 * len(lines):
        return None
    middles = zip(lines, times[::2], times[1::2], strict=True)
    return "\n".join(line for line, first, last in middles if start * 1000 <= (first + last) / 2 < end * 1000)


def language_of_name(suffix: str) -> str | None:
    """The language that a name gives: `de` of `de.srt`, `pt-BR` of `pt-BR.forced.vtt`, none of `srt`."""
    pieces = suffix.split(".")[:-1]
    found = [piece for piece in pieces if _LANGUAGE.fullmatch(piece)]
    return next((one for one in found if one.lower() not in _NOT_LANGUAGES), found[0] if found else None)


@dataclass(slots=True)
class _Cue:
    """What is shown together, in milliseconds."""

    start: int
    end: int
    lines: list[str] = field(default_factory=list)


def _cues(lines: list[str]) -> "list[_Cue | str]":
    """The lines of each cue, without markup; and the language of a header, alone."""
    found: list[_Cue | str] = []
    cue: _Cue | None = None
    for number, line in enumerate(lines):
        if times := _TIMES.fullmatch(line):
            start, end = (_milliseconds(times.groups()[at : at + 4]) for at in (0, 4))
            cue = _Cue(start, max(start, end))
            found.append(cue)
        elif not line.strip() or "-->" in line:  # times that cannot be, such as negative ones, begin no cue
            cue = None
        elif cue is not None:
            plain = plain_line(line)
            if plain:
                cue.lines.append(plain)
        elif number < 16 and not found and (header := _HEADER.fullmatch(line)):
            found.append(header[1])
    return found


def _milliseconds(pieces: Sequence[str | None]) -> int:
    hours, minutes, seconds, fraction = pieces
    whole = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    return whole * 1000 + int((fraction or "0").ljust(3, "0"))
