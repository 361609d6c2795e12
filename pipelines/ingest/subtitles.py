"""Reads subtitles: the text of SubRip (`.srt`) and WebVTT (`.vtt`) files, without times and markup.

Hostile ones cost nothing else: what is no cue is passed over, in time linear in the file.
"""

import html
import re
from dataclasses import dataclass
from typing import Final

__all__ = ["ENDINGS", "Subtitles", "language_of_name", "read_subtitles"]

ENDINGS: Final = ("srt", "vtt")

_LANGUAGE: Final = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}", re.IGNORECASE)
_NOT_LANGUAGES: Final = frozenset(("sdh", "cc", "hi", "sub", "srt", "vtt"))  # `hi` beside a language: hard of hearing
_TIMES: Final = re.compile(
    r"\s*(?:\d{1,4}:)?\d{1,2}:\d{1,2}[.,]\d{1,3}\s*-->\s*(?:\d{1,4}:)?\d{1,2}:\d{1,2}[.,]\d{1,3}(?:\s.*)?"
)
_HEADER: Final = re.compile(r"language:\s*([A-Za-z0-9_-]{2,35})\s*", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z0-9][^<>]{0,200}>|\{\\[^{}]{0,200}\}")
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Subtitles:
    """What is said in a file: a line for each that is shown, and its language, if the file says it."""

    text: str
    language: str | None = None


def read_subtitles(raw: bytes) -> Subtitles | str:
    """The text of a file, or why it has none.

    A line that is shown again in the next cue, as captions that roll over the screen are, is kept once.
    """
    mark, charset = next(((mark, name) for mark, name in _BOMS if raw.startswith(mark)), (b"", "utf-8"))
    try:
        lines = raw[len(mark) :].decode(charset).replace("\0", "").splitlines()
    except UnicodeDecodeError as error:
        return f"byte {error.start} is not {charset.upper()}"
    said: list[str] = []
    shown: list[str] = []  # of the last cue
    language = None
    for cue in _cues(lines):
        if isinstance(cue, str):
            language = language or cue
            continue
        fresh = [line for line in cue if line not in shown]
        said += fresh
        shown = cue
    return Subtitles("\n".join(said), language) if said else "no cue with a text"


def language_of_name(suffix: str) -> str | None:
    """The language that a name gives: `de` of `de.srt`, `pt-BR` of `pt-BR.forced.vtt`, none of `srt`."""
    pieces = suffix.split(".")[:-1]
    found = [one for one in pieces if _LANGUAGE.fullmatch(one)]
    return next((one for one in found if one.lower() not in _NOT_LANGUAGES), found[0] if found else None)


def _cues(lines: list[str]) -> "list[list[str] | str]":
    """The lines of each cue, without markup; and the language of a header, alone."""
    found: list[list[str] | str] = []
    cue: list[str] | None = None
    for number, line in enumerate(lines):
        if _TIMES.fullmatch(line):
            cue = []
            found.append(cue)
        elif not line.strip():
            cue = None
        elif cue is not None:
            plain = " ".join(html.unescape(_TAG.sub("", line)).split())
            if plain:
                cue.append(plain)
        elif number < 16 and not found and (header := _HEADER.fullmatch(line)):
            found.append(header[1])
    return found
