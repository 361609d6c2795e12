"""The recipe's `export` section: format, destination and file size."""

from dataclasses import dataclass, field
from typing import Annotated

from winnow.schemas.problems import Place
from winnow.schemas.recipe.checks import NOT_WRITTEN, Between, Matching, PathText
from winnow.schemas.recipe.nodes import MapNode

FORMAT = Matching(r"[a-z][a-z0-9_]{0,39}", "a format's name, such as parquet")
_VECTORS = Matching(r"([a-z][a-z0-9_.]{0,79})?", "a layer of vectors, such as text.embedding")
_FOLDER = PathText("the path of a folder")


@dataclass(frozen=True)
class ExportEntry:
    """One export: a folder, its format, and the format's own options."""

    name: str = field(metadata=NOT_WRITTEN)  # the format
    options: MapNode
    path: Annotated[str, _FOLDER]
    shard_bytes: Annotated[int, Between(1 << 10, 8 << 30)] = 256 << 20
    atlas: Annotated[str, _VECTORS] = ""  # of whose vectors a map of the exported samples lies beside the folder

    @property
    def place(self) -> Place:
        """Where the recipe configures it."""
        return self.options.place


@dataclass(frozen=True)
class OwnFolders:
    """Checks that no two exports write the same folder."""

    expects: str = ""

    def complaint(self, value: object) -> str | None:
        """Name the first folder that two exports write."""
        assert isinstance(value, tuple)
        first: dict[str, ExportEntry] = {}
        for entry in value:
            other = first.setdefault(entry.path.rstrip("/"), entry)
            if other is not entry:
                lines = f"lines {other.place.line} and {entry.place.line}"
                return f"two exports ({lines}) write {entry.path}; give each its own folder"
        return None
