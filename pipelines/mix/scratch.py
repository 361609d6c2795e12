"""Columns of candidates on this machine's disk, a file a column and shard: planning holds one shard at a time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import StageError


class Scratch:
    """Arrays by shard number and name, below a folder that belongs to one plan and goes with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._types: dict[str, np.dtype[Any]] = {}  # columns of one name are of one type

    def save(self, shard: int, name: str, values: NDArray[Any]) -> None:
        """Keep an array, in the place of one of the same name."""
        self._types[name] = values.dtype
        try:
            # Not tofile: it does not notice when the last bytes find no room, and the rest would be planned with.
            with open(self._file(shard, name), "wb") as stream:
                stream.write(np.ascontiguousarray(values).data)
        except OSError as error:
            raise StageError(
                f"planning: {error.strerror or error}: what is counted lies in {self._folder.parent}: make room there, "
                "or name another folder in TMPDIR"
            ) from None

    def load(self, shard: int, name: str) -> NDArray[Any]:
        """An array."""
        return np.fromfile(self._file(shard, name), self._types[name])

    def columns(self, shard: int, names: Sequence[str]) -> list[NDArray[Any]]:
        """Several of a shard's arrays."""
        return [self.load(shard, name) for name in names]

    def _file(self, shard: int, name: str) -> str:
        return f"{self._folder}/{shard}.{name}"
