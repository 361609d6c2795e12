"""A mixture's plan: the available, requested and drawn amount of each stratum, and the cut of its draw.

A plan contains no times, paths or machine names, so the same store and recipe give the same plan. Its `name` is a hash
of its content and is recorded in everything made from it. The hash includes the recipe's settings as a fingerprint,
`request`; the settings themselves are only for display.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.recipe.mix import Unit

SCHEMA = 1
VALIDATION = "validation"

OF_LAW = "law: "
"""What notes on the scaling law begin with; there may be one for each family."""

MIXTURES = "mix."
"""The prefix of layers that are measured for a mixture."""


@dataclass(frozen=True, slots=True, order=True)
class Stratum:
    """A group of samples that are drawn together."""

    source_class: str
    source: str
    family: str
    language: str
    band: str = ""  # empty if the recipe has no bands

    def __str__(self) -> str:
        return " / ".join(
            part for part in (self.source_class, self.source, self.family, self.language, self.band) if part
        )


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of samples, and their size in the mixture's unit."""

    samples: int = 0
    units: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.samples + other.samples, self.units + other.units)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.samples - other.samples, self.units - other.units)


@dataclass(frozen=True, slots=True)
class PlannedStratum:
    """One stratum of one output.

    A row that earlier stages used `e` times offers its copies `e`, `e + 1`, …. Copies are drawn by number, then by
    hash: all copies with a number below `level`, and of number `level` those whose hash is at most `cut`.
    """

    stratum: Stratum
    available: Amount  # each sample once
    exposed: int  # units used by earlier stages
    asked: int  # units requested by the recipe's shares
    target: int  # units after redistributing what other strata lack
    given: Amount  # including repeats
    unique: Amount  # of these, each sample counted once
    level: int
    cut: int  # -1 for no copies of number `level`

    @property
    def repeated(self) -> Amount:
        """The drawn amount beyond the first copy of each sample."""
        return self.given - self.unique


@dataclass(frozen=True, slots=True)
class PlannedOutput:
    """A stage or the validation split."""

    name: str
    budget: int  # in the plan's unit
    strata: tuple[PlannedStratum, ...]  # in order
    notes: tuple[str, ...] = ()

    @property
    def given(self) -> Amount:
        """The total drawn amount."""
        return sum((one.given for one in self.strata), Amount())

    @property
    def repeated(self) -> Amount:
        """What of it is drawn again."""
        return sum((one.repeated for one in self.strata), Amount())


def plan_name(plan: Mapping[str, Json]) -> str:
    """The name of a plan, given its plain values: a hash of what decides the draw, so not of notes."""
    outputs = plan["outputs"]
    assert isinstance(outputs, list | tuple)
    return fingerprint_of({**_without_notes(plan), "outputs": [_without_notes(one) for one in outputs]})


def _without_notes(value: Json) -> dict[str, Json]:
    assert isinstance(value, Mapping)
    return {key: one for key, one in value.items() if key != "notes"}


@dataclass(frozen=True, slots=True)
class MixturePlan:
    """The whole plan."""

    store: str
    seed: int
    tree_hash: str  # of the planned generation
    unit: Unit
    tokenizer: str | None  # its digest
    max_epochs: float
    sample: str  # the drawn share: "1" for all, "1/100"
    request: str  # fingerprint of the recipe's rules, edits and mixture
    kept: Amount  # kept by the rules, before the split
    left_out: Mapping[str, Amount]  # kept but not available to any output, by reason
    outputs: tuple[PlannedOutput, ...]
    schema: int = SCHEMA
    notes: tuple[str, ...] = field(default=())
    asked: Mapping[str, str] = field(default_factory=dict)  # the recipe's settings, such as `mix.budget`; not hashed

    @property
    def name(self) -> str:
        """The plan's hash."""
        return plan_name(self.to_json())

    def output(self, name: str) -> PlannedOutput:
        """The output of that name; KeyError if there is none."""
        for one in self.outputs:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_json(self) -> dict[str, Json]:
        """Plain values of everything but what the recipe asked for."""
        plain: dict[str, Json] = msgspec.to_builtins(self)  # a plan can have a million strata
        del plain["asked"]
        return plain
