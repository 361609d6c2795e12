"""The recipe's `dedupe` section: kinds of duplicates, which row is kept, and alarms.

What it says of a kind is checked where it is bound, as a kind brings its own settings."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from winnow.schemas.problems import Place, shown, suggestion
from winnow.schemas.recipe.checks import NOT_WRITTEN, Between, ByName, Matching
from winnow.schemas.recipe.nodes import MapNode

SOURCE = Matching(r"[a-z0-9_-]{1,40}", "a source's name")
LANGUAGE = Matching(r"[A-Za-z0-9_-]{1,40}", "a language as plans name it, such as deu_Latn")
CLUSTER = Matching(r"[0-9a-f]{32}", "the id of a cluster, 32 hexadecimal digits")

Order: TypeAlias = Literal["source", "longest", "shortest", "newest", "oldest", "highest", "lowest", "id"]

_WORDS: tuple[Order, ...] = ("source", "longest", "shortest", "newest", "oldest", "id")
_COLUMN = re.compile(r"(highest|lowest)\s+([A-Za-z_][\w.-]{0,200})")


@dataclass(frozen=True, slots=True)
class Preference:
    """One criterion for choosing the representative of duplicates."""

    order: Order
    column: str | None = None  # the column to compare

    def __str__(self) -> str:
        return self.order if self.column is None else f"{self.order} {self.column}"


@dataclass(frozen=True)
class PreferenceText:
    """`longest`, or `highest text.edu.score`."""

    expects: str = f"{', '.join(_WORDS)}, highest COLUMN or lowest COLUMN"

    def parse(self, text: str) -> Preference:
        """The preference."""
        written = text.strip()
        for word in _WORDS:
            if written == word:
                return Preference(word)
        found = _COLUMN.fullmatch(written)
        if found is None:
            hint = suggestion(written, _WORDS)
            raise ValueError(f"{shown(written)} is not a preference{hint}; expected {self.expects}")
        return Preference("highest" if found[1] == "highest" else "lowest", found[2])

    def render(self, value: object) -> str:
        """The text that parses to the value."""
        return str(value)


@dataclass(frozen=True)
class AcceptedLoss:
    """A source or language that may lose more than the general limit."""

    name: str = field(metadata=NOT_WRITTEN)
    max_loss: Annotated[float, Between(0, 1)]


@dataclass(frozen=True)
class AcceptedCluster:
    """A cluster that may exceed the general limit."""

    name: str = field(metadata=NOT_WRITTEN)  # its id
    max_cluster: Annotated[int, Between(2, 1 << 40)]


@dataclass(frozen=True)
class GuardConfig:
    """The limits above which a loss is an alarm, and accepted exceptions."""

    max_loss: Annotated[float, Between(0, 1)] = 0.75
    max_unequal: Annotated[float, Between(0, 1)] = 0.5
    min_rows: Annotated[int, Between(1, 1 << 40)] = 100
    sources: Annotated[tuple[AcceptedLoss, ...], ByName(SOURCE)] = ()
    languages: Annotated[tuple[AcceptedLoss, ...], ByName(LANGUAGE)] = ()
    clusters: Annotated[tuple[AcceptedCluster, ...], ByName(CLUSTER)] = ()


@dataclass(frozen=True)
class DedupeConfig:
    """The kinds of duplicates to find, each a separate layer, and which row of a cluster is kept."""

    place: Place = field(compare=False)
    kinds: MapNode  # the settings of each, by its name
    representative: tuple[Annotated[Preference, PreferenceText()], ...] = (Preference("source"), Preference("longest"))
    guard: GuardConfig = GuardConfig()

    def __post_init__(self) -> None:
        listed = [str(one) for one in self.representative]
        for number, one in enumerate(listed):
            if one in listed[:number]:
                raise ValueError(f"representative: {one} occurs twice")
            if "id" in listed[:number]:
                raise ValueError(f"representative: {one} has no effect, as ids are unique")
