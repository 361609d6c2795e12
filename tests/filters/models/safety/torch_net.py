"""The small model of `models`, as a module of PyTorch."""

from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]

from tests.filters.models.safety.models import WORDS


class Mean(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """The masked mean of the words' values."""

    def __init__(self) -> None:
        super().__init__()
        self.values = torch.nn.Embedding(len(WORDS), 2)

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        """One row a text."""
        mask = attention_mask[:, :, None].float()
        return (self.values(input_ids) * mask).sum(1) / mask.sum(1)


class Pixels(Mean):
    """A module that wants what a text does not give."""

    def forward(self, pixels: Any) -> Any:  # type: ignore[override, unused-ignore]
        """Of no use."""
        return pixels


def mean() -> Mean:
    """What a recipe names as `architecture`."""
    return Mean()


def pixels() -> Pixels:
    """Another one."""
    return Pixels()


def nothing() -> None:
    """No module."""
