"""Adapters: for each preset, the peer's code that it follows, and which of our columns is which of its values.

One file a family, each defining `ADAPTERS`. What differs on purpose is listed there too, each with its reason: a
difference that no `Explained` covers makes `python -m benchmarks.parity` fail.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Literal, TypeAlias

from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.problems import nearest

__all__ = ["Adapter", "Check", "Difference", "Explained", "Kind", "adapter_names", "find_adapter"]

Kind: TypeAlias = Literal["verdict", "reason", "rule", "value", "text", "error"]


@dataclass(frozen=True, slots=True)
class Check:
    """One value that the peer exposes, beside ours."""

    peer: str  # as the peer's script names it
    ours: str  # SQL over our columns, such as `text.gopher.words`
    rule: str | None = None  # the reason of our rule that compares it as the peer does
    digits: int | None = None  # the peer rounds what it exposes


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same for one document."""

    id: str
    kind: Kind
    name: str  # of the value or rule; for a verdict and a reason, "ours / theirs"
    ours: str
    theirs: str
    document: str  # the text
    reasons: tuple[str | None, str | None] = (None, None)  # why we drop the document and why the peer does


@dataclass(frozen=True, slots=True)
class Explained:
    """A difference that is meant: where our definition is better or the peer's cannot be followed."""

    name: str
    because: str
    covers: Callable[[Difference], bool]


@dataclass(frozen=True, slots=True)
class Adapter:
    """How a preset is compared with the code that it follows."""

    preset: str
    peer: str  # an environment: datatrove, dolma, tfds
    module: str  # what runs in it, of benchmarks.parity.peers
    settings: Callable[[], Mapping[str, Json]]
    checks: tuple[Check, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)  # the peer's name of a reason, where ours is another
    text: str | None = None  # our column of deleted spans, where the peer changes texts
    code_of: Callable[[str], str | None] | None = None  # for peers that judge by language: their name of a declared one
    where: str | None = None  # SQL over our columns: which documents both sides can judge
    explained: tuple[Explained, ...] = ()
    notes: tuple[str, ...] = ()  # what a reader of the result must know


@lru_cache(maxsize=1)
def _adapters() -> dict[str, Adapter]:
    families = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    found = [adapter for family in families for adapter in family.ADAPTERS]
    return {adapter.preset: adapter for adapter in sorted(found, key=lambda adapter: adapter.preset)}


def adapter_names() -> tuple[str, ...]:
    """The presets that can be compared."""
    return tuple(_adapters())


def find_adapter(preset: str) -> Adapter:
    """How the preset of this name is compared."""
    found = _adapters().get(preset)
    if found is None:
        near = nearest(preset, _adapters())
        hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(_adapters())}"
        raise WinnowError(f"no peer to compare the preset {preset!r} with ({hint})")
    return found
