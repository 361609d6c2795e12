"""Stores columns of candidates on the local disk, one file per column and shard; planning loads one shard at a time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import StageError


class Scratch:
    """Arrays by shard number and name, in a folder that belongs to one plan and is removed with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._types: dict[str, np.dtype[Any]] = {}  # columns of one name have one type

    def save(self, shard: int, name: str, values: NDArray[Any]) -> None:
        """Store an array, replacing any of the same name."""
        self._types[name] = values.dtype
        try:
            # Not tofile: it does not notice a full disk at the last bytes, and planning would use incomplete data.
            with open(self._file(shard, name), "wb") as stream:
                stream.write(np.ascontiguousarray(values).data)
        except OSError as error:
            raise StageError(
                f"planning: {error.strerror or error}: temporary files are in {self._folder.parent}; free some space "
                "there, or set TMPDIR to another folder"
            ) from None

    def load(self, shard: int, name: str) -> NDArray[Any]:
        """Load an array."""
        return np.fromfile(self._file(shard, name), self._types[name])

    def columns(self, shard: int, names: Sequence[str]) -> list[NDArray[Any]]:
        """Load several arrays of a shard."""
        return [self.load(shard, name) for name in names]

    def _file(self, shard: int, name: str) -> str:
        return f"{self._folder}/{shard}.{name}"
