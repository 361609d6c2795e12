"""Trains the network over a page's blocks, in PyTorch: cross-entropy of blocks, and the F1 of pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch  # type: ignore[import-not-found, unused-ignore]
from torch import nn  # type: ignore[import-not-found, unused-ignore]
from torch.nn import functional  # type: ignore[import-not-found, unused-ignore]

from tools.main_content.pages import LabelledPage
from tools.main_content.training import MADE_WEIGHT, weights_of
from winnow.filters.extraction.main_content.network import DILATIONS, NUMBERS, TAG_COLUMNS, Network, Table, inputs

WIDTH = 64
TAGS = 20  # of each column of tags, the most frequent
EPOCHS = 6
PAGES_AT_ONCE = 8
RATE = 2e-3
DECAY = 0.02
INPUT_DROPOUT, DROPOUT = 0.25, 0.3


@dataclass(frozen=True, slots=True)
class Batch:
    """Some pages, one behind the other."""

    values: torch.Tensor
    places: torch.Tensor  # of each block, with room between pages
    room: int
    groups: torch.Tensor
    sections: torch.Tensor
    pages: torch.Tensor
    shares: torch.Tensor
    weights: torch.Tensor
    sizes: torch.Tensor
    references: torch.Tensor
    parts: torch.Tensor  # how much each page counts


def _means(values: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
    count = int(segments.max()) + 1
    sums = values.new_zeros(count, values.shape[1]).index_add_(0, segments, values)
    sizes = values.new_zeros(count).index_add_(0, segments, values.new_ones(len(segments)))
    return (sums / sizes.clamp_(min=1)[:, None])[segments]


class _Layer(nn.Module):  # type: ignore[misc, unused-ignore]
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.near = nn.Conv1d(WIDTH, WIDTH, 3, padding=dilation, dilation=dilation)
        self.join = nn.Linear(4 * WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, values: torch.Tensor, batch: Batch) -> torch.Tensor:
        spread = values.new_zeros(batch.room, WIDTH).index_copy(0, batch.places, values)
        near = self.near(spread.t()[None])[0].t()[batch.places]
        means = [_means(values, segments) for segments in (batch.groups, batch.sections, batch.pages)]
        step = functional.relu(self.join(torch.cat([near, *means], 1)))
        found: torch.Tensor = self.norm(values + self.drop(step))
        return found


class _Net(nn.Module):  # type: ignore[misc, unused-ignore]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.drop = nn.Dropout(INPUT_DROPOUT)
        self.enter = nn.Linear(width, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList([_Layer(dilation) for dilation in DILATIONS])
        self.leave = nn.Linear(WIDTH, 1)

    def forward(self, batch: Batch) -> torch.Tensor:
        values = self.norm(functional.relu(self.enter(self.drop(batch.values))))
        for layer in self.layers:
            values = layer(values, batch)
        found: torch.Tensor = self.leave(values)[:, 0]
        return found


def _batch(pages: Sequence[tuple[LabelledPage, Table]], mean_weight: float) -> Batch:
    """Pages as one batch; groups and headings are numbered through."""
    places, groups, sections, owners = [], [], [], []
    at, group, section = max(DILATIONS), 0, 0
    for number, (page, values) in enumerate(pages):
        _, own_groups = np.unique(page.blocks.layout.group[:, 0], return_inverse=True)
        _, own_sections = np.unique(page.blocks.layout.heading, return_inverse=True)
        places.append(np.arange(len(values)) + at)
        groups.append(own_groups + group)
        sections.append(own_sections + section)
        owners.append(np.full(len(values), number))
        at, group, section = at + len(values) + max(DILATIONS), groups[-1].max() + 1, sections[-1].max() + 1
    numbers = [torch.from_numpy(np.concatenate(some).astype(np.int64)) for some in (places, groups, sections, owners)]

    def floats(some: list[npt.NDArray[Any]]) -> torch.Tensor:
        return torch.from_numpy(np.concatenate(some).astype(np.float32))

    return Batch(
        torch.from_numpy(np.concatenate([values for _, values in pages])),
        numbers[0], at, numbers[1], numbers[2], numbers[3],
        floats([page.shares for page, _ in pages]),
        floats([weights_of(page) / mean_weight for page, _ in pages]),
        floats([page.sizes for page, _ in pages]),
        torch.tensor([float(page.reference.total()) for page, _ in pages]),
        torch.tensor([MADE_WEIGHT if page.language else 1.0 for page, _ in pages]),
    )  # fmt: skip


def _loss(net: _Net, batch: Batch) -> torch.Tensor:
    found = net(batch)
    blocks = functional.binary_cross_entropy_with_logits(found, batch.shares, reduction="none") * batch.weights
    kept = torch.sigmoid(found) * batch.sizes
    count = len(batch.references)
    hit = kept.new_zeros(count).index_add_(0, batch.pages, kept * batch.shares)
    size = kept.new_zeros(count).index_add_(0, batch.pages, kept)
    pages = 1 - 2 * hit / (size + batch.references + 1)
    return blocks.mean() + (pages * batch.parts).mean()


def fit_network(pages: list[LabelledPage], rows: list[Table], foreign: list[Table], seed: int) -> Network:
    """The network over pages, a third of which it sees as if they were in an unknown language."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    every = np.concatenate(rows)
    numbers = every[:, NUMBERS]
    mean, scale = numbers.mean(0), numbers.std(0) + 1e-4
    tags = np.stack(
        [
            np.argsort(-np.bincount(every[:, column].astype(int), minlength=256), kind="stable")[:TAGS]
            for column in TAG_COLUMNS
        ]
    ).astype(np.int32)
    some = [place for place, page in enumerate(pages) if len(page.blocks)]
    values = {place: inputs(rows[place], mean, scale, tags) for place in some}
    strange = {place: inputs(foreign[place], mean, scale, tags) for place in some}
    weight = float(np.concatenate([weights_of(pages[place]) for place in some]).mean())
    net = _Net(len(NUMBERS) + tags.size)
    optimiser = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=DECAY)
    steps = EPOCHS * -(-len(some) // PAGES_AT_ONCE)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.15)
    random = np.random.RandomState(seed)
    net.train()
    for epoch in range(EPOCHS):
        order = random.permutation(some)
        for first in range(0, len(order), PAGES_AT_ONCE):
            drawn = order[first : first + PAGES_AT_ONCE]
            chosen = [(pages[place], (strange if (place + epoch) % 4 == 0 else values)[place]) for place in drawn]
            loss = _loss(net, _batch(chosen, weight))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            rates.step()
    return _weights(net, mean, scale, tags)


def _weights(net: _Net, mean: Table, scale: Table, tags: npt.NDArray[np.int32]) -> Network:
    def of(*tensors: torch.Tensor) -> Table:
        return np.stack([tensor.detach().numpy() for tensor in tensors]).astype(np.float32)

    layers = [layer for layer in net.layers if isinstance(layer, _Layer)]
    joins = [layer.join.weight.t().double().reshape(4, WIDTH, WIDTH) for layer in layers]
    # Nothing stands between the convolution and what joins it to the means: they are one product.
    pairs = list(zip(layers, joins, strict=True))
    near = of(*(layer.near.weight.permute(2, 1, 0).double() @ join[0] for layer, join in pairs))
    bias = of(*(_bias(layer.near).double() @ join[0] + layer.join.bias.double() for layer, join in pairs))
    group, section, page = (of(*(join[which] for join in joins)) for which in (1, 2, 3))
    return Network(
        mean, scale, tags, of(net.enter.weight)[0].T.copy(), of(net.enter.bias)[0], of(net.norm.weight, net.norm.bias),
        near, group, section, page, bias, np.stack([of(layer.norm.weight, layer.norm.bias) for layer in layers]),
        of(net.leave.weight)[0, 0], of(net.leave.bias)[0],
    )  # fmt: skip


def _bias(convolution: nn.Conv1d) -> torch.Tensor:
    assert convolution.bias is not None
    return convolution.bias
