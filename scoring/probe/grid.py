"""The grid of a probe (models and mixtures to train), read from a small YAML file.

A run is one model size N, one length D, one mixture and one seed, trained from nothing with a schedule of its own
length: the loss half-way through a longer run is not that of a run of half the length (arXiv 2203.15556, §3), so no run
serves two values of D.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Final, cast

from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json, digest, fingerprint_of
from winnow.schemas.problems import Place, Problems, shown, suggestion
from winnow.schemas.recipe.build import build
from winnow.schemas.recipe.checks import Between, Matching, NotEmpty
from winnow.schemas.recipe.nodes import MapNode, Scalar, parse_yaml
from winnow.scoring.scaling_law.runs import MAX_FAMILIES, MAX_ROWS

VERSION: Final = 1
"""The version of a run's computation: raised when losses change, so that old and new runs are not mixed."""
SUM_TOLERANCE: Final = 1e-6
HIGH, LOW = 0.55, 0.4
"""Shares in the default mixtures: one family's large share, and its small one times the number of families."""

Shares = tuple[tuple[str, float], ...]
"""A mixture: families by name, each with its share."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One model size."""

    layers: Annotated[int, Between(1, 200)] = 2
    width: Annotated[int, Between(8, 16_384)] = 64
    heads: Annotated[int, Between(1, 256)] = 2
    learning_rate: Annotated[float, Between(1e-6, 1)] = 0.003  # the highest; AdamW's usual range for small models

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")

    @property
    def parameters(self) -> int:
        """N, without embeddings as in the paper: attention 4 and MLP 8 squares of the width, and scales of norms."""
        return self.layers * (12 * self.width**2 + 2 * self.width) + self.width


@dataclass(frozen=True, slots=True)
class Schedule:
    """How every run is trained."""

    context: Annotated[int, Between(8, 65_536)] = 64  # tokens that a model sees at once
    batch: Annotated[int, Between(1, 65_536)] = 8  # sequences per step
    warmup_share: Annotated[float, Between(0, 0.9)] = 0.05  # of the steps, with linearly rising rate
    final_share: Annotated[float, Between(0, 1)] = 0.1  # of the highest rate, where the cosine ends (Chinchilla: 0.1)
    weight_decay: Annotated[float, Between(0, 10)] = 0.1  # of matrices, as in GPT-3
    clip: Annotated[float, Between(1e-3, 1e6)] = 1.0  # norm of the gradient, as in GPT-3

    @property
    def step_tokens(self) -> int:
        """Tokens per step."""
        return self.context * self.batch


@dataclass(frozen=True, slots=True)
class _Mixture:
    """A mixture in the file: a mapping of families to shares."""

    place: Place
    shares: MapNode


_NAME = Matching(r"[^\0-\x1f#]{1,100}", "the name of a family, in one line")


@dataclass(frozen=True, slots=True)
class _GridFile:
    """The content of the file."""

    version: Annotated[int, Between(1, 1)]
    families: tuple[Annotated[str, _NAME], ...] = ()
    grouping: str = "group"
    models: Annotated[tuple[Shape, ...], NotEmpty()] = (Shape(),)
    tokens: Annotated[tuple[Annotated[int, Between(1, 10**15)], ...], NotEmpty()] = (1_500_000,)
    mixtures: tuple[_Mixture, ...] = ()
    seeds: Annotated[tuple[Annotated[int, Between(0, 2**31 - 1)], ...], NotEmpty()] = (0, 1, 2)
    schedule: Schedule = field(default_factory=Schedule)
    held_out_share: Annotated[float, Between(0.001, 0.5)] = 0.05
    held_out_tokens: Annotated[int, Between(1, 10**9)] = 65_536
    max_family_bytes: Annotated[int, Between(1, 1 << 50)] = 1 << 30
    tokenizer: Annotated[str, Matching(r"[^\0-\x1f]{1,1000}", "the name of a file")] | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One model to train."""

    shape: Shape
    tokens: int  # the requested D
    shares: Shares
    seed: int
    schedule: Schedule
    held_out_tokens: int

    @property
    def steps(self) -> int:
        """Whole steps: at least one."""
        return max(1, round(self.tokens / self.schedule.step_tokens))

    @property
    def d(self) -> int:
        """D: the tokens of all steps."""
        return self.steps * self.schedule.step_tokens

    def name(self, streams: str) -> str:
        """The run's name: readable, and different for other data, models or schedules."""
        value: dict[str, Json] = {
            "version": VERSION,
            "streams": streams,
            "shape": {item.name: getattr(self.shape, item.name) for item in fields(self.shape)},
            "schedule": {item.name: getattr(self.schedule, item.name) for item in fields(self.schedule)},
            "shares": dict(self.shares),
            "numbers": [self.steps, self.seed, self.held_out_tokens],
        }
        return f"{self.shape.layers}x{self.shape.width}-d{self.d}-s{self.seed}-{fingerprint_of(value)}"


@dataclass(frozen=True, slots=True)
class Grid:
    """All runs of a probe, and how their data are prepared."""

    families: tuple[str, ...]  # empty for all
    grouping: str
    models: tuple[Shape, ...]
    tokens: tuple[int, ...]
    mixtures: tuple[Shares, ...]  # empty: `designed`
    seeds: tuple[int, ...]
    schedule: Schedule
    held_out_share: float
    held_out_tokens: int
    max_family_bytes: int
    tokenizer: str | None  # a file, as named in the grid; None for bytes

    def among(self, known: Mapping[str, int]) -> tuple[str, ...]:
        """The sorted families to train on, among the available ones (with their bytes).

        Raises:
            SourceError: A requested family is missing, or there are too few or too many.
        """
        for name in self.families:
            if name not in known:
                have = ", ".join(sorted(known)[:12]) or "none"
                raise SourceError(f"unknown family {shown(name)}{suggestion(name, known)}; available: {have}")
        found = tuple(sorted(self.families or known))
        if len(found) < 2:
            raise SourceError(f"a mixture needs two families, found {', '.join(found) or 'none'}")
        if len(found) > MAX_FAMILIES:
            raise SourceError(f"{len(found)} families; name at most {MAX_FAMILIES} under `families`")
        return found

    def runs(self, families: tuple[str, ...]) -> tuple[Run, ...]:
        """All runs, grouped by seed, so that a grid cut short has all mixtures."""
        mixtures = self.mixtures or designed(families)
        found = tuple(
            Run(shape, tokens, shares, seed, self.schedule, self.held_out_tokens)
            for seed in self.seeds
            for shape in self.models
            for tokens in self.tokens
            for shares in mixtures
        )
        rows = sum(len(run.shares) for run in found)
        if rows > MAX_ROWS:
            raise SourceError(f"{len(found)} runs give {rows} rows; a table of runs has at most {MAX_ROWS}")
        return found


def grid_from_yaml(text: str, file: str) -> Grid:
    """Read a grid from its file's text.

    Raises:
        RecipeError: One line per problem, with the line of the file.
    """
    problems = Problems()
    built = build(_GridFile, parse_yaml(text, file, problems), "", problems)
    problems.stop_if_any()
    return _grid(cast(_GridFile, built), file)


def default_grid() -> Grid:
    """The default grid, of one small model."""
    return _grid(_GridFile(VERSION), "grid")


def designed(families: tuple[str, ...]) -> tuple[Shares, ...]:
    """Mixtures that determine every family's exponent: all equal, and each family alone, with a large and a small
    share.

    At each share of a family, different others dominate the rest, so that independence can be tested.
    """
    count = len(families)
    levels = [1 / count, *(level for level in (1.0, HIGH, LOW / count) for _ in families)]
    leaders = ["", *(family for _ in range(3) for family in families)]
    found: dict[Shares, None] = {}
    for level, leader in zip(levels, leaders, strict=True):
        rest = (1 - level) / (count - 1)
        shares = [(family, level if family == leader or not leader else rest) for family in families]
        found[tuple((family, round(share, 12)) for family, share in shares if share > 0)] = None
    return tuple(found)


def _grid(said: _GridFile, file: str) -> Grid:
    problems = Problems()
    for key in ("families", "tokens", "seeds", "models"):
        values = getattr(said, key)
        if len(set(values)) < len(values):
            problems.add(Place(file, 1), key, "the same value twice; each is trained once")
    mixtures = tuple(
        _shares(mixture, f"mixtures[{number}]", said, problems) for number, mixture in enumerate(said.mixtures)
    )
    seen: dict[Shares, Place] = {}
    for number, (shares, mixture) in enumerate(zip(mixtures, said.mixtures, strict=True)):
        first = seen.setdefault(shares, mixture.place)
        if first is not mixture.place and shares:
            problems.add(mixture.place, f"mixtures[{number}]", f"repeats the mixture of line {first.line}")
    problems.stop_if_any()
    asked = dict.fromkeys(family for shares in mixtures for family, _ in shares)
    return Grid(
        said.families or tuple(asked),
        said.grouping,
        said.models,
        said.tokens,
        mixtures,
        said.seeds,
        said.schedule,
        said.held_out_share,
        said.held_out_tokens,
        said.max_family_bytes,
        said.tokenizer,
    )


def _shares(mixture: _Mixture, where: str, said: _GridFile, problems: Problems) -> Shares:
    """The shares of one mixture, sorted by family; problems are recorded."""
    found: dict[str, float] = {}
    sound = True
    for entry in mixture.shares.entries:
        value = entry.node.value if isinstance(entry.node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            hint = "; leave the family out of the mixture" if value == 0 and value is not False else ""
            problems.add(entry.place, f"{where}.{entry.key}", f"expected a share above 0 and up to 1{hint}")
            sound = False
        elif said.families and entry.key not in said.families:
            hint = suggestion(entry.key, said.families)
            problems.add(entry.place, where, f"unknown family {shown(entry.key)}{hint}")
            sound = False
        elif _NAME.complaint(entry.key):
            problems.add(entry.place, where, f"{shown(entry.key)} is not {_NAME.expects}")
            sound = False
        else:
            found[entry.key] = float(value)
    total = math.fsum(found.values())
    if sound and abs(total - 1) > SUM_TOLERANCE:
        problems.add(mixture.place, where, f"the shares sum to {total:.6g}, not to 1")
    return tuple(sorted(found.items()))


def grid_digest(grid: Grid) -> str:
    """A digest of the settings that determine a grid's data, independent of the tokenizer."""
    return digest(*grid.families, grid.grouping, repr(grid.held_out_share), grid.max_family_bytes).hex()
