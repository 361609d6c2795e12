"""What a source holds now: the files under its root that its patterns match, from a listing alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.schemas.errors import SourceError


@dataclass(frozen=True, slots=True)
class Listing:
    """The matching files of one source, sorted by path."""

    source: str
    files: tuple[ObjectInfo, ...]

    @property
    def bytes(self) -> int:
        """Their total size."""
        return sum(file.size for file in self.files)


def list_source(source: str, objects: ObjectStore, patterns: Sequence[str]) -> Listing:
    """List a source; no match at all is an error, because it is nearly always a wrong path."""
    files = tuple(info for info in objects.list() if matches(info.path, patterns))
    if not files:
        raise SourceError(
            f"source {source!r}: no file under {objects.root} matches {', '.join(patterns)}; check 'root' and 'files'"
        )
    return Listing(source, files)


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path relative to the root matches one of the patterns: `**` crosses folders, `*` does not."""
    return any(_pattern(pattern).fullmatch(path) for pattern in patterns)


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    return re.compile("".join(special.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)
