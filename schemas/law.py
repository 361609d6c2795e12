"""The law file: the result of a fit of the family scaling law, as JSON.

L_i(N, D, p_i) = (E_i + A_i N^-alpha_i + B_i D^-beta_i) p_i^-gamma_i, for each language family i (arXiv 2410.12883).
N is the size of the model, D the tokens of the whole mixture, p_i the family's share of them. A law of mode `gamma`
has the bracket only as one number for each trained (N, D), which is enough for ratios of normalised losses.

Numbers are written with 8 significant digits, so that equal fits give equal bytes.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, TypeAlias

import orjson

from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json
from winnow.schemas.problems import shown, suggestion
from winnow.schemas.typed_json import read_value

SCHEMA: Final = 1
MAX_LAW_BYTES: Final = 64 << 20
Mode: TypeAlias = Literal["full", "gamma"]

MOST_EXPONENT: Final = 10.0
MOST_LOGARITHM: Final = 690.0
"""Limits far beyond those of a fit, within which results stay finite."""

METHODS: Final = ("joint", "two_stage")
DRAWN_WIDTHS: Final = 10.0
DRAWN_SLACK: Final = 0.02
"""How far gamma may lie outside the range of its draws; a fitted gamma lies within or near it."""

FULL_DRAW: Final = ("log_e", "log_a", "alpha", "log_b", "beta", "gamma")
"""The columns of a draw of a full law; a draw of a `gamma` law is gamma, then the log scale of each cell."""


@dataclass(frozen=True, slots=True)
class Units:
    """The units of N, D and loss."""

    n: str = "parameters without embeddings (assumed)"
    d: str = "training tokens of the whole mixture (assumed)"
    loss: str = "nats a token (assumed)"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval at the law's confidence."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bracket:
    """The factor of p^-gamma: E + A N^-alpha + B D^-beta."""

    e: Estimate
    a: Estimate
    alpha: Estimate
    b: Estimate
    beta: Estimate


@dataclass(frozen=True, slots=True)
class Cell:
    """One trained (N, D), with the loss at p = 1."""

    n: float
    d: float
    scale: Estimate


@dataclass(frozen=True, slots=True)
class FittedRange:
    """The range of the runs that a family's law was fitted to; beyond it the law extrapolates."""

    runs: int
    seeds: int
    n_min: float
    n_max: float
    d_min: float
    d_max: float
    p_min: float
    p_max: float


@dataclass(frozen=True, slots=True)
class Quality:
    """The prediction errors of a family's law: absolute, in the unit of loss; None if not measurable."""

    r2: float
    mae: float
    held_out_mae: float | None  # each (N, D, p) predicted by a fit of all others
    largest_n_mae: float | None  # the runs of the largest N, predicted by a fit of smaller ones
    largest_d_mae: float | None
    seed_spread: float | None  # standard deviation among runs that differ only in their seed


@dataclass(frozen=True, slots=True)
class FamilyLaw:
    """The law of one family."""

    family: str
    gamma: Estimate
    bracket: Bracket | None  # of mode `full`
    cells: tuple[Cell, ...]  # of mode `gamma`
    fitted: FittedRange
    quality: Quality
    at_bounds: tuple[str, ...]  # parameters at a bound of the fit
    draws: tuple[tuple[float, ...], ...]  # bootstrap estimates; the same row of every family is one draw


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a law."""

    source: str  # the table's name
    digest: str  # of the table's values
    rows: int
    method: str  # `joint` or `two_stage`
    huber_delta: float
    resamples: int
    confidence: float
    seed: int
    fingerprint: str = ""  # of the environment that fitted it
    note: str = ""


@dataclass(frozen=True, slots=True)
class ScalingLaw:
    """The content of a law file. Families are sorted by name."""

    schema: int
    mode: Mode
    units: Units
    families: tuple[FamilyLaw, ...]
    provenance: Provenance

    @property
    def names(self) -> tuple[str, ...]:
        """The families that have an exponent."""
        return tuple(family.family for family in self.families)

    def family(self, name: str) -> FamilyLaw:
        """The law of one family.

        Raises:
            SourceError: The law has no such family; the message suggests the nearest name.
        """
        found = next((family for family in self.families if family.family == name), None)
        if found is None:
            raise SourceError(f"the law has no family {shown(name)}{suggestion(name, self.names)}")
        return found


def rounded(value: float) -> float:
    """The number rounded as in a law file."""
    return float(f"{value:.8g}")


def law_to_json(law: ScalingLaw) -> bytes:
    """The file's bytes: equal laws give equal bytes."""
    value = _quantised(asdict(law))
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def law_from_json(raw: bytes, where: str = "law") -> ScalingLaw:
    """A law from its file's bytes.

    Raises:
        SourceError: The file is invalid; the message names the field and the problem.
    """
    if len(raw) > MAX_LAW_BYTES:
        raise SourceError(f"{where}: {len(raw)} bytes; a law file has at most {MAX_LAW_BYTES}")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise SourceError(f"{where}: not JSON ({error}); expected what `winnow law fit` writes") from None
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA or isinstance(schema, bool):
        raise SourceError(
            f"{where}: not a law of schema {SCHEMA} (found {shown(repr(schema))}); fit it again with this version"
        )
    try:
        law = read_value(ScalingLaw, value, complete=True)
        _check(law)
    except ValueError as error:
        raise SourceError(f"{where}: {error}") from None
    return law


def _quantised(value: Json) -> Json:
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, dict):
        return {name: _quantised(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_quantised(item) for item in value]
    return value


def _check(law: ScalingLaw) -> None:
    _check_provenance(law.provenance)
    names = law.names
    if not names:
        raise ValueError("families: expected at least one")
    if list(names) != sorted(set(names)):
        raise ValueError("families: expected each once, sorted by name")
    draws = len(law.families[0].draws)
    for family in law.families:
        width = _check_family(family, law.mode)
        if len(family.draws) != draws or any(len(draw) != width for draw in family.draws):
            raise ValueError(f"{family.family}: expected {draws} draws of {width} numbers")
        _check_gamma(family, -1 if law.mode == "full" else 0)


def _check_provenance(of: Provenance) -> None:
    if not 0 < of.confidence < 1:
        raise ValueError(f"provenance.confidence: {of.confidence:g}; expected a number above 0 and below 1")
    if of.method not in METHODS:
        raise ValueError(f"provenance.method: {shown(of.method)}; expected one of {', '.join(METHODS)}")
    if not of.huber_delta > 0:
        raise ValueError("provenance.huber_delta: expected a number above 0")
    for name, count in (("rows", of.rows), ("resamples", of.resamples)):
        if count < 0:
            raise ValueError(f"provenance.{name}: {count}; expected a count of 0 or more")


def _check_family(family: FamilyLaw, mode: Mode) -> int:
    """Check a family; returns the number of values per draw."""
    if not family.family.strip():
        raise ValueError("families: one has no name")
    positive: list[tuple[str, Estimate]] = [("gamma", family.gamma)]
    if mode == "full":
        if family.bracket is None or family.cells:
            raise ValueError(f"{family.family}: a full law has a bracket and no cells")
        positive += [(name, getattr(family.bracket, name)) for name in ("e", "a", "alpha", "b", "beta")]
    else:
        if family.bracket is not None or not family.cells:
            raise ValueError(f"{family.family}: a law of mode gamma has cells and no bracket")
        positive += [("scale", cell.scale) for cell in family.cells]
        _check_positive(family.family, [number for cell in family.cells for number in (cell.n, cell.d)])
    for name, estimate in positive:
        if min(estimate.value, estimate.low) <= 0 or estimate.low > estimate.high:
            raise ValueError(f"{family.family}: {name}: expected a positive value, and low not above high")
        most = MOST_EXPONENT if name in ("gamma", "alpha", "beta") else math.exp(MOST_LOGARITHM)
        if max(estimate.value, estimate.high) > most:
            raise ValueError(f"{family.family}: {name}: expected {most:.3g} at most")
    for number, draw in enumerate(family.draws):
        _check_draw(f"{family.family}: draws[{number}]", draw, FULL_DRAW if mode == "full" else ("gamma",))
    fitted = family.fitted
    _check_positive(family.family, [fitted.n_min, fitted.d_min, fitted.p_min])
    if fitted.n_min > fitted.n_max or fitted.d_min > fitted.d_max or not fitted.p_min <= fitted.p_max <= 1:
        raise ValueError(f"{family.family}: fitted: expected each minimum at or below its maximum, and p up to 1")
    if min(fitted.runs, fitted.seeds) < 0:
        raise ValueError(f"{family.family}: fitted: expected counts of 0 or more")
    return len(FULL_DRAW) if mode == "full" else 1 + len(family.cells)


def _check_gamma(family: FamilyLaw, place: int) -> None:
    """Raise if gamma does not fit its draws, such as after a manual edit."""
    if not family.draws:
        return
    drawn = [draw[place] for draw in family.draws]
    low, high, value = min(drawn), max(drawn), family.gamma.value
    slack = DRAWN_WIDTHS * (high - low) + DRAWN_SLACK
    if not low - slack <= value <= high + slack:
        raise ValueError(
            f"{family.family}: gamma: value and draws disagree: {value:.4g}, drawn {low:.4g} to {high:.4g}; fit again"
        )


def _check_draw(where: str, draw: Sequence[float], names: Sequence[str]) -> None:
    """Check a draw: exponents first, then logarithms of losses."""
    for place, value in enumerate(draw):
        exponent = place < len(names) and not names[place].startswith("log")
        if not (0 < value <= MOST_EXPONENT if exponent else abs(value) <= MOST_LOGARITHM):
            kind = f"an exponent above 0 and up to {MOST_EXPONENT:g}" if exponent else "a logarithm of a loss"
            raise ValueError(f"{where}[{place}]: expected {kind}")


def _check_positive(family: str, numbers: Sequence[float]) -> None:
    if min(numbers) <= 0:
        raise ValueError(f"{family}: expected N, D and p above zero")
