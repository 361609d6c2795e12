"""A mixture's plan: what was asked of each stratum, what there is, what is given, and where each draw is cut.

The plan is a value: no clock, no path and no machine is in it, so the same store and recipe give the same plan, and its
`name`, a hash of all it says, stands in everything that is made from it. What was asked for is in that hash by its
fingerprint, `request`; the settings themselves stand beside it for people.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.recipe.mix import Unit

SCHEMA = 1
VALIDATION = "validation"

MIXTURES = "mix."
"""How the names of layers begin that are measured for a mixture."""


@dataclass(frozen=True, slots=True, order=True)
class Stratum:
    """Samples that are drawn alike."""

    source_class: str
    source: str
    family: str
    language: str
    band: str = ""  # empty where the recipe has no bands

    def __str__(self) -> str:
        return " / ".join(
            part for part in (self.source_class, self.source, self.family, self.language, self.band) if part
        )


@dataclass(frozen=True, slots=True)
class Amount:
    """So many samples, and so much in the mixture's unit."""

    samples: int = 0
    units: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.samples + other.samples, self.units + other.units)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.samples - other.samples, self.units - other.units)


@dataclass(frozen=True, slots=True)
class PlannedStratum:
    """One stratum of one output.

    A row of the stratum that earlier stages gave `e` times offers its copies `e`, `e + 1`, … in this order: copies of a
    lower number first, within a number by hash. Given are all copies below `level`, and of that number those whose hash
    is at most `cut`.
    """

    stratum: Stratum
    available: Amount  # each sample once
    exposed: int  # units that earlier stages gave of them
    asked: int  # units, by the recipe's shares alone
    target: int  # units, once what a stratum cannot give went to the others
    given: Amount  # repeats counted
    unique: Amount  # of these, each sample once
    level: int
    cut: int  # -1: of the copies of number `level` none

    @property
    def repeated(self) -> Amount:
        """What is given beyond the first copy of each sample."""
        return self.given - self.unique


@dataclass(frozen=True, slots=True)
class PlannedOutput:
    """One stage, or the validation split."""

    name: str
    budget: int  # in the plan's unit
    strata: tuple[PlannedStratum, ...]  # in order
    notes: tuple[str, ...] = ()

    @property
    def given(self) -> Amount:
        """All that it gives."""
        return sum((one.given for one in self.strata), Amount())


@dataclass(frozen=True, slots=True)
class MixturePlan:
    """The whole plan."""

    store: str
    seed: int
    tree_hash: str  # of the generation that it was made from
    unit: Unit
    tokenizer: str | None  # its digest
    max_epochs: float
    sample: str  # the share of it that is drawn: "1" for all, "1/100"
    request: str  # fingerprint of what was asked for: the recipe's rules, edits and mixture
    kept: Amount  # by the rules, before the split
    left_out: Mapping[str, Amount]  # of these, what no output may take, by reason
    outputs: tuple[PlannedOutput, ...]
    schema: int = SCHEMA
    notes: tuple[str, ...] = field(default=())
    asked: Mapping[str, str] = field(default_factory=dict)  # the recipe's settings, such as `mix.budget`; not hashed

    @property
    def name(self) -> str:
        """The plan's hash."""
        return fingerprint_of(self.to_json())

    def output(self, name: str) -> PlannedOutput:
        """The output of that name; KeyError where there is none."""
        for one in self.outputs:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_json(self) -> dict[str, Json]:
        """Plain values of all that its name is a hash of."""
        return {key: value for key, value in asdict(self).items() if key != "asked"}
