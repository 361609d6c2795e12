"""The requirement of some formats that every sample has exactly one medium of certain types."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class OneMedium:
    """Returned by a format's `one_medium(config)`, which may be None: the requirement, checked before data is moved."""

    kind: str  # as in the recipe's `media`
    mimes: tuple[str, ...]  # one that ends in a slash stands for all types with that prefix

    def misfits(self, media: pa.ListArray) -> NDArray[np.int64]:
        """The rows whose media, each with a `mime`, do not meet the requirement."""
        counts = np.asarray(pc.list_value_length(media), np.int64)
        fits = counts == 1
        mimes = pc.struct_field(media.flatten(), "mime")
        known = np.zeros(len(mimes), np.bool_)
        for one in self.mimes:
            same = pc.starts_with(mimes, one) if one.endswith("/") else pc.equal(mimes, one)
            known |= np.asarray(pc.fill_null(same, False))
        ends = np.cumsum(counts)
        fits[fits] = known[ends[fits] - 1]
        return np.flatnonzero(~fits)

    def has(self, media: pa.ListScalar) -> str:
        """What a row has instead."""
        held = media.as_py()
        return f"a medium of type {held[0]['mime']}" if len(held) == 1 else f"{len(held)} media"

    @property
    def expected(self) -> str:
        """The requirement, for a message."""
        types = " or ".join(f"{one}*" if one.endswith("/") else one for one in self.mimes)
        return f"media: {self.kind} expects exactly one {types} per sample"

    @property
    def remedy(self) -> str:
        """What to do, for a message."""
        return "choose such samples with the mixture's `where`, or write media: none"
