"""Columns of candidates: an object for each column and shard, in a folder of the plan; a reader holds one shard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StageError

_TYPE_BYTES: Final = 8  # of the type's name, in front of the values, which stay aligned


@dataclass(frozen=True)
class Scratch:
    """Arrays by shard number and name, in a folder that belongs to one plan and is removed with it. Picklable."""

    objects: ObjectStore
    folder: str

    def save(self, shard: int, name: str, values: NDArray[Any]) -> None:
        """Store an array, replacing any of the same name."""
        raw = values.dtype.str.encode().ljust(_TYPE_BYTES) + values.tobytes()
        try:
            self.objects.put(self._path(shard, name), raw)
        except OSError as error:
            raise StageError(
                f"planning: {error.strerror or error}: temporary files are in {self.objects.root}; free some space "
                "there, or set TMPDIR to another folder"
            ) from None

    def load(self, shard: int, name: str) -> NDArray[Any]:
        """Load an array, which is not changed."""
        raw = self.objects.read(self._path(shard, name))
        return np.frombuffer(raw, raw[:_TYPE_BYTES].decode().strip(), offset=_TYPE_BYTES)

    def columns(self, shard: int, names: Sequence[str]) -> list[NDArray[Any]]:
        """Load several arrays of a shard."""
        return [self.load(shard, name) for name in names]

    def _path(self, shard: int, name: str) -> str:
        return f"{self.folder}/{name}/{shard:08d}"
