"""The text of one subtitle within a video, without markup, by the codec that keeps it."""

import html
import re
from typing import Final

TEXT_CODECS: Final = frozenset({"mov_text", "subrip", "srt", "webvtt", "text", "ass", "ssa"})
"""FFmpeg's names of those that keep text; others keep pictures."""

_TAG: Final = re.compile(r"</?[A-Za-z0-9][^<>]{0,200}>|\{\\[^{}]{0,200}\}")
_ASS_FIELDS: Final = 8  # before the text, each with a comma behind it


def plain_line(line: str) -> str:
    """A line without tags, entities and needless spaces."""
    return " ".join(html.unescape(_TAG.sub("", line)).split())


def cue_text(codec: str, packet: bytes) -> str | None:
    """The lines of a packet; None if it has none, or is of a codec that keeps no text."""
    if codec not in TEXT_CODECS:
        return None
    if codec == "mov_text":  # two bytes of length, and styles behind the text
        packet = packet[2 : 2 + int.from_bytes(packet[:2], "big")]
        charset = "utf-16" if packet[:2] in (b"\xfe\xff", b"\xff\xfe") else "utf-8"
    else:
        charset = "utf-8"
    text = packet.decode(charset, "replace").replace("\0", "")
    if codec in ("ass", "ssa"):
        text = text.split(",", _ASS_FIELDS)[-1].replace("\\N", "\n").replace("\\n", "\n").replace("\\h", " ")
    return "\n".join(filter(None, map(plain_line, text.splitlines()))) or None
