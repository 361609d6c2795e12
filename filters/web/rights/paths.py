"""Patterns of paths, as robots.txt (RFC 9309) and tdmrep.json have them: `*` is anything, `$` at the end is the end.

Paths and patterns are compared in one spelling of their percent-encoding, octet by octet.
"""

import re
from dataclasses import dataclass
from typing import Final

_ESCAPED: Final = re.compile(r"%[0-9A-Fa-f]{2}|[^!-~]")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, taken apart at its stars."""

    length: int  # the longer wins
    parts: tuple[str, ...]
    anchored: bool  # it ends where the path ends

    @property
    def prefix(self) -> str:
        """What every path that it matches begins with."""
        return self.parts[0]

    @property
    def is_plain(self) -> bool:
        """Whether it matches whatever begins with its prefix."""
        return len(self.parts) == 1 and not self.anchored

    def matches(self, path: str) -> bool:
        """Whether it matches a path in its one spelling. Each part is looked for once, so this is linear."""
        if not path.startswith(self.parts[0]):
            return False
        if len(self.parts) == 1:
            return not self.anchored or len(path) == len(self.parts[0])
        at = len(self.parts[0])
        for part in self.parts[1:-1]:
            at = path.find(part, at)
            if at < 0:
                return False
            at += len(part)
        last = self.parts[-1]
        if self.anchored:
            return len(path) - len(last) >= at and path.endswith(last)
        return path.find(last, at) >= 0


def one_spelling(path: str) -> str:
    """A path with its query as patterns are compared with it: `*` and `$` in it stand for themselves."""
    return _spelt(path).replace("*", "%2A").replace("$", "%24")


def pattern_of(written: str) -> Pattern:
    """A pattern as it is written."""
    anchored = written.endswith("$")
    spelt = _spelt(written[:-1] if anchored else written).replace("$", "%24")
    return Pattern(len(spelt) + anchored, tuple(re.sub(r"\*+", "*", spelt).split("*")), anchored)


def _spelt(text: str) -> str:
    return _ESCAPED.sub(_escape, text) if "%" in text or not text.isascii() or not text.isprintable() else text


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    if len(found) == 3:
        character = chr(int(found[1:], 16))
        return character if character in _UNRESERVED else found.upper()
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "surrogatepass"))
