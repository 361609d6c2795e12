"""Sampling shares of families: proportional, by temperature, UniMax, or by the family law, behind one interface.

Each method takes an `Inventory` and returns a `Mixture`: shares, tokens, epochs, and the tokens' effective number
considering repeats. `max_epochs` limits every method: what a family cannot take goes to the others in the method's
own proportions. `compare` compares mixtures by the losses that a law predicts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import WinnowError
from winnow.schemas.law import ScalingLaw
from winnow.schemas.problems import shown, suggestion
from winnow.scoring.scaling_law.mixing import RatioObjective, Weights, family_ratios, with_fallback
from winnow.scoring.scaling_law.predicting import exponents, require_size, scales
from winnow.scoring.scaling_law.repeats import R_STAR, effective_tokens

Floats = NDArray[np.float64]

TEMPERATURE: Final = 3.3
"""The usual temperature of multilingual mixtures since XLM-R's exponent of 0.3."""
MAX_FAMILIES: Final = 100_000

Fallback: TypeAlias = Literal["proportional", "temperature", "unimax"]


@dataclass(frozen=True, slots=True)
class Inventory:
    """The available tokens and the budget."""

    tokens: Mapping[str, float]  # unique tokens of each family
    budget: float  # tokens to train on
    max_epochs: float | None = None  # how often a token may be seen at most; None for the method's own limit
    r_star: float = R_STAR  # how fast repeats lose value

    def __post_init__(self) -> None:
        if not 0 < len(self.tokens) <= MAX_FAMILIES:
            raise WinnowError(f"{len(self.tokens)} families: expected 1 to {MAX_FAMILIES}")
        require_size("budget", self.budget)
        for name, tokens in self.tokens.items():
            require_size(f"tokens of {shown(name)}", tokens)
        if self.max_epochs is not None and not 0 < self.max_epochs < float("inf"):
            raise WinnowError(f"max_epochs {self.max_epochs}: expected a number above zero")
        if not 0 < self.r_star < float("inf"):
            raise WinnowError(f"r_star {self.r_star}: expected a number above zero")
        if self.max_epochs is not None and self.max_epochs * sum(self.tokens.values()) < self.budget * (1 - 1e-9):
            most = self.max_epochs * sum(self.tokens.values())
            raise WinnowError(
                f"the budget of {self.budget:g} tokens is more than {self.max_epochs:g} epochs of everything "
                f"({most:g}): lower it, or raise max_epochs"
            )

    @property
    def families(self) -> tuple[str, ...]:
        """The sorted families, so that results do not depend on the order of a mapping."""
        return tuple(sorted(self.tokens))

    @property
    def sizes(self) -> Floats:
        """Unique tokens in the families' order."""
        return np.array([self.tokens[name] for name in self.families])

    @property
    def caps(self) -> Floats | None:
        """The largest share of each family."""
        return None if self.max_epochs is None else self.sizes * self.max_epochs / self.budget


@dataclass(frozen=True, slots=True)
class Mixture:
    """The result of a method, with families in the inventory's order."""

    method: str
    families: tuple[str, ...]
    shares: tuple[float, ...]
    tokens: tuple[float, ...]
    epochs: tuple[float, ...]
    effective: tuple[float, ...]  # the equivalent number of new tokens
    notes: tuple[str, ...] = ()  # fallbacks, extrapolation


@dataclass(frozen=True, slots=True)
class ComparedMixture:
    """One mixture in a comparison. Losses are for the families that the law knows, in its order."""

    mixture: Mixture
    losses: tuple[float, ...]
    losses_with_repeats: tuple[float, ...]  # for shares by effective tokens
    normalised: float  # sum of losses over each family's loss at p = 1, with known families scaled to one room
    normalised_with_repeats: float


def proportional(inventory: Inventory) -> Mixture:
    """Shares in proportion to the available tokens."""
    return _mixture("proportional", inventory, inventory.sizes)


def temperature(inventory: Inventory, tau: float = TEMPERATURE) -> Mixture:
    """Sizes to the power of 1/tau: 1 is proportional, a large one uniform."""
    if not tau > 0 or tau == float("inf"):
        raise WinnowError(f"temperature {tau}: expected a number above zero")
    logs = np.log(inventory.sizes)
    return _mixture(f"temperature {tau:g}", inventory, np.exp(np.maximum((logs - logs.max()) / tau, -700.0)))


def unimax(inventory: Inventory, max_epochs: float | None = None) -> Mixture:
    """As uniform as `max_epochs` of each family allow (Chung et al. 2023, arXiv 2304.09151).

    Args:
        inventory: The available tokens; its `max_epochs` is the default.
        max_epochs: The method's cap on repeats.
    """
    held = inventory if max_epochs is None else replace(inventory, max_epochs=max_epochs)
    if held.max_epochs is None:
        raise WinnowError("unimax: needs max_epochs, how often a token may be seen at most")
    return _mixture(f"unimax {held.max_epochs:g}", held, np.ones(len(held.families)))


def by_law(
    inventory: Inventory,
    law: ScalingLaw,
    weights: Weights = "normalised",
    n: float | None = None,
    *,
    repeats: bool = False,
    unfitted: Fallback = "unimax",
) -> Mixture:
    """The law's optimum, with the method `unfitted` for families that the law lacks.

    Args:
        inventory: The available tokens.
        law: The family scaling law.
        weights: The weights of its losses.
        n: The model's size, if the weights need one.
        repeats: Whether repeated tokens count with reduced value.
        unfitted: The method for families without an exponent.
    """
    if unfitted not in _FALLBACKS:
        raise WinnowError(f"unknown fallback {shown(unfitted)}{suggestion(unfitted, _FALLBACKS)}")
    families = inventory.families
    known = [name for name in families if name in law.names]
    if not known:
        raise WinnowError(f"the law knows none of {', '.join(families[:6])}{suggestion(families[0], law.names)}")
    narrowed = replace(law, families=tuple(law.family(name) for name in known))
    if not isinstance(weights, str):
        weights = {name: weight for name, weight in weights.items() if name in known or name not in law.names}
    fallback = _FALLBACKS[unfitted](inventory) if len(known) < len(families) else None
    given = {} if fallback is None else dict(zip(families, fallback.shares, strict=True))
    rest = sum(given[name] for name in known) if given else 1.0
    budget, epochs = inventory.budget, inventory.max_epochs
    question = RatioObjective(
        weights,
        n,
        budget,
        rest,
        None if epochs is None else {name: epochs * inventory.tokens[name] / budget for name in known},
        {name: inventory.tokens[name] / budget for name in known} if repeats else None,
        inventory.r_star,
    )
    found = family_ratios(narrowed, question)
    shares = {name: share / rest for name, share in zip(found.families, found.shares, strict=True)}
    notes = found.warnings
    if fallback is not None:
        shares = with_fallback(shares, given)
        named = ", ".join(name for name in families if name not in known)
        notes = (f"no fitted exponent, shares by {fallback.method} instead: {named}", *notes)
    name = f"law, {weights if isinstance(weights, str) else 'given'} weights{', repeats' if repeats else ''}"
    return replace(_finished(name, inventory, np.array([shares[family] for family in families])), notes=notes)


def known_share(mixture: Mixture, law: ScalingLaw) -> float:
    """The share of a mixture for families that the law knows."""
    if set(mixture.families) <= set(law.names):
        return 1.0
    return sum(share for name, share in zip(mixture.families, mixture.shares, strict=True) if name in law.names)


def compare(
    mixtures: Sequence[Mixture],
    inventory: Inventory,
    law: ScalingLaw,
    n: float | None = None,
    room: float | None = None,
) -> tuple[ComparedMixture, ...]:
    """Compare mixtures by the losses that the law predicts for the families that it knows.

    Without `n`, losses are in units of each family's loss at p = 1. Totals cover only known families, which would
    favour
    mixtures that give little to others: so they are of shares scaled to the same room.

    Args:
        mixtures: Each of the inventory's families.
        inventory: The available tokens.
        law: The family scaling law.
        n: The model's size.
        room: What known families share in the totals; None: what the first mixture gives them.
    """
    families = inventory.families
    known = [name for name in law.names if name in families]
    if not known:
        raise WinnowError("the law knows none of the families")
    narrowed = replace(law, families=tuple(law.family(name) for name in known))
    gammas = exponents(narrowed)
    scale = np.ones(len(known)) if n is None else scales(narrowed, n, inventory.budget)
    place = [families.index(name) for name in known]
    for mixture in mixtures:
        if mixture.families != families:
            raise WinnowError(f"{mixture.method}: the mixture's families differ from the inventory's")
    if room is None:
        room = known_share(mixtures[0], law) if mixtures else 1.0
    if not 0 < room <= 1 + 1e-9:
        raise WinnowError(f"room {room}: expected a share above 0 and up to 1")
    found = []
    for mixture in mixtures:
        shares = np.array(mixture.shares)[place]
        plain = shares**-gammas
        worth = (np.array(mixture.effective)[place] / inventory.budget) ** -gammas
        alike = shares if len(known) == len(families) else _in_room(shares, room, inventory, place)
        effective = effective_tokens(alike * inventory.budget, inventory.sizes[place], inventory.r_star)
        found.append(
            ComparedMixture(
                mixture,
                tuple((scale * plain).tolist()),
                tuple((scale * worth).tolist()),
                float((alike**-gammas).sum()),
                float(((effective / inventory.budget) ** -gammas).sum()),
            )
        )
    return tuple(found)


def _in_room(shares: Floats, room: float, inventory: Inventory, place: Sequence[int]) -> Floats:
    """Shares scaled to the room, within the inventory's caps."""
    caps = inventory.caps
    found: Floats = room * filled(shares, None if caps is None else caps[place] / room)
    return found


def filled(raw: Floats, caps: Floats | None) -> Floats:
    """Shares in proportion to `raw` within caps; the excess goes to the others in proportion.

    With equal `raw` this is UniMax's allocation, smallest family first.
    """
    shares: Floats = raw / raw.sum()
    if caps is None or (shares <= caps).all():
        return shares
    # In order of cap over proportion families reach their caps as the level rises: one pass finds the level.
    order = np.argsort(caps / raw, kind="stable")
    left, weight = 1.0, float(raw.sum())
    found: Floats = caps.astype(np.float64)
    for number, place in enumerate(order):
        if raw[place] * left <= caps[place] * weight:
            rest = order[number:]
            found[rest] = raw[rest] * (left / raw[rest].sum())
            break
        left -= float(caps[place])
        weight -= float(raw[place])
    found /= found.sum()
    return found


def _mixture(method: str, inventory: Inventory, raw: Floats) -> Mixture:
    return _finished(method, inventory, filled(raw, inventory.caps))


def _finished(method: str, inventory: Inventory, shares: Floats) -> Mixture:
    tokens = shares * inventory.budget
    sizes = inventory.sizes
    worth = effective_tokens(tokens, sizes, inventory.r_star)
    columns = (shares, tokens, tokens / sizes, worth)
    return Mixture(method, inventory.families, *(tuple(column.tolist()) for column in columns))


_UNIMAX_EPOCHS: Final = 4.0
"""Default epochs of a fallback: up to 4 epochs are nearly as good as new tokens (arXiv 2305.16264)."""


def _unimax_fallback(inventory: Inventory) -> Mixture:
    least = inventory.budget / sum(inventory.tokens.values())  # so that the budget always fits
    return unimax(inventory, inventory.max_epochs or max(_UNIMAX_EPOCHS, least))


_FALLBACKS: Final[Mapping[Fallback, Callable[[Inventory], Mixture]]] = {
    "proportional": proportional,
    "temperature": temperature,
    "unimax": _unimax_fallback,
}
