"""The input windows of a model, whatever runs it."""

from collections.abc import Mapping
from dataclasses import dataclass

OPERATOR = "text.safety_model"
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
"""The inputs that texts provide, with transformers' names."""


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that a model reads at once."""

    ids: list[int]
    types: list[int]

    def inputs(self, length: int = 0, pad: int = 0) -> Mapping[str, list[int]]:
        """The value of each of `INPUTS`, padded to a length."""
        rest = max(length - len(self.ids), 0)
        values = (
            self.ids + [pad] * rest,
            [1] * len(self.ids) + [0] * rest,
            self.types + [0] * rest,
            list(range(len(self.ids) + rest)),
        )
        return dict(zip(INPUTS, values, strict=True))
