"""Path patterns of robots.txt (RFC 9309) and tdmrep.json: `*` is anything, a final `$` is the end.

Paths and patterns are compared octet by octet, with normalised percent-encoding.
"""

import re
from dataclasses import dataclass
from functools import partial
from typing import Final

from winnow.filters.web.urls import encoded

_ESCAPED: Final = re.compile(r"%[0-9A-Fa-f]{2}|[^!-~]")
_escaped = partial(encoded, errors="surrogatepass")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, split at its stars."""

    length: int  # the longest pattern wins
    parts: tuple[str, ...]
    anchored: bool  # it must match up to the path's end

    @property
    def prefix(self) -> str:
        """The prefix of every path that it matches."""
        return self.parts[0]

    @property
    def is_plain(self) -> bool:
        """Whether it matches everything that begins with its prefix."""
        return len(self.parts) == 1 and not self.anchored

    @property
    def is_everything(self) -> bool:
        """Whether it is written so that it matches every path."""
        return not self.anchored and self.parts[0] in ("", "/") and not any(self.parts[1:])

    def matches(self, path: str) -> bool:
        """Whether it matches a normalised path. Each part is searched for once, so this is linear."""
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
    """Normalise a path with its query for matching: `*` and `$` in it are literal."""
    return _spelt(path).replace("*", "%2A").replace("$", "%24")


def pattern_of(written: str) -> Pattern:
    """Parse a pattern."""
    anchored = written.endswith("$")
    spelt = _spelt(written[:-1] if anchored else written).replace("$", "%24")
    return Pattern(len(spelt) + anchored, tuple(re.sub(r"\*+", "*", spelt).split("*")), anchored)


def _spelt(text: str) -> str:
    return _ESCAPED.sub(_escaped, text) if "%" in text or not text.isascii() or not text.isprintable() else text
