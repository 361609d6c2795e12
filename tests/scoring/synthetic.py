"""Runs that obey the law but for noise, from known parameters."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from winnow.scoring.scaling_law.runs import RunTable, runs_from_columns


@dataclass(frozen=True)
class Truth:
    """One family's parameters."""

    e: float
    a: float
    alpha: float
    b: float
    beta: float
    gamma: float

    def loss(self, n: float, d: float, p: float) -> float:
        return float((self.e + self.a * n**-self.alpha + self.b * d**-self.beta) * p**-self.gamma)


TRUTHS = {
    "germanic": Truth(1.2, 300, 0.32, 900, 0.33, 0.08),
    "indic": Truth(1.4, 380, 0.36, 1100, 0.35, 0.15),
    "slavic": Truth(1.6, 460, 0.40, 1300, 0.37, 0.11),
}
NS = (8.5e7, 3.97e8, 8.1e8, 1.2e9)
DS = (5e9, 1.5e10, 5e10)
PS = (0.1, 0.3, 0.6, 1.0)


def runs(
    truths: Mapping[str, Truth],
    noise: float,
    draw: int = 0,
    ns: Sequence[float] = NS,
    ds: Sequence[float] = DS,
    ps: Sequence[float] = PS,
    seeds: int = 1,
) -> RunTable:
    """One run at each N, D, p and seed for each family; with one seed each, two alternate from run to run."""
    rng = np.random.default_rng(draw)
    columns: dict[str, list[object]] = {name: [] for name in ("family", "N", "D", "p", "loss", "seed")}
    for family, truth in truths.items():
        for number, (n, d, p, seed) in enumerate(itertools.product(ns, ds, ps, range(seeds))):
            loss = truth.loss(n, d, p) * float(np.exp(noise * rng.standard_normal()))
            row = (family, n, d, p, loss, seed if seeds > 1 else number % 2)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return runs_from_columns(columns)
