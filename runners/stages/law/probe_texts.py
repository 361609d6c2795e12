"""The training texts of a probe with their families: from a store's kept samples, or a folder of text files."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.identity import digest

ENDING: Final = ".txt"
_STORE_RECORD: Final = "store.json"  # marks the folder of a store
_MOST_LINE_BYTES: Final = 1 << 20
_MOST_DOCUMENT_BYTES: Final = 4 << 20  # a file without empty lines is cut here


class Texts(Protocol):
    """A source of texts."""

    @property
    def key(self) -> str:
        """A hash that changes when the texts may have changed."""

    @property
    def lost(self) -> Counter[str]:
        """The number of samples without text, by reason."""

    def read(self) -> Iterator[tuple[str, str]]:
        """Yield families and texts, in the same order on every call."""


def texts_at(place: str, families: tuple[str, ...], named_grouping: str) -> Texts:
    """The texts of a recipe's store, of a store, or of a folder of text files; WinnowError if the place is none of
    these."""
    folder = Path(place)
    store = "://" in place or (folder / _STORE_RECORD).is_file()
    if not store and folder.is_dir():
        return FolderTexts(folder, families)
    if not store and not folder.is_file():
        raise WinnowError(f"{place}: not a recipe, a store, or a folder of files FAMILY{ENDING}")
    from winnow.runners.stages.law.probe_store import texts_of_recipe, texts_of_store  # Beam takes a second to import

    return texts_of_store(place, named_grouping) if store else texts_of_recipe(place, named_grouping)


@dataclass
class FolderTexts:
    """Files `FAMILY.txt` in UTF-8; an empty line ends a document."""

    folder: Path
    families: tuple[str, ...]  # empty for all files
    lost: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        found = {file.stem: file for file in sorted(self.folder.iterdir()) if file.suffix == ENDING and file.is_file()}
        if not found:
            raise SourceError(f"{self.folder}: not a store, and contains no file FAMILY{ENDING}")
        for name in found:
            if not name.isprintable() or len(name) > 100:
                raise SourceError(f"{self.folder}: {name[:60]!r} is not a family name; rename the file")
        self._files = {name: file for name, file in found.items() if not self.families or name in self.families}

    @property
    def key(self) -> str:
        """A hash of the files' sizes and times."""
        stats = [(name, file.stat()) for name, file in self._files.items()]
        return digest("folder", *(f"{name} {one.st_size} {one.st_mtime_ns}" for name, one in stats)).hex()

    def read(self) -> Iterator[tuple[str, str]]:
        """Read the files in order."""
        for family, file in self._files.items():
            for line, document in _documents(file):
                try:
                    yield family, document.decode()
                except UnicodeDecodeError as error:
                    at = line + document.count(b"\n", 0, error.start)
                    raise SourceError(f"{file}:{at}: not UTF-8 text; save the file in UTF-8") from None


def _documents(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each document with the number of its first line."""
    held: list[bytes] = []
    size, first, line = 0, 1, 1
    with open(file, "rb") as stream:
        while raw := stream.readline(_MOST_LINE_BYTES):
            if raw.strip():
                if not held:
                    first = line
                held.append(raw)
                size += len(raw)
            if held and (not raw.strip() or (size >= _MOST_DOCUMENT_BYTES and raw.endswith(b"\n"))):
                yield first, b"".join(held)
                held, size = [], 0
            line += raw.endswith(b"\n")
    if held:
        yield first, b"".join(held)
