"""The definition of a kind of duplicates: one object with all its functions and settings.

winnow's own kinds are the modules of `winnow.filters.duplicates.kinds`; other packages add kinds by entry points of the
group `winnow.duplicate_kinds`. A recipe names kinds under `dedupe`.
"""

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates import kinds
from winnow.filters.duplicates.searches import Search
from winnow.filters.entry_points import entry_points
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.problems import suggestion
from winnow.schemas.rows.duplicates import (
    CLUSTER,
    ID_BYTES,
    ITEM_CLUSTER,
    LOW_QUALITY,
    NO_PICTURE,
    NO_VIDEO,
    NOT_HASHED,
    NOT_MEASURED,
    OK,
    layer_of_kind,
)
from winnow.schemas.rows.samples import NOT_AN_IMAGE

ENTRY_POINTS: Final = "winnow.duplicate_kinds"


@dataclass(frozen=True, slots=True)
class Unit:
    """What a kind compares: its clusters consist of these."""

    name: str  # in the plural
    of_items: bool = False  # a row has several, and the layer's columns are lists
    of_media: bool = False  # the items are the row's media
    empty: str = ""  # the status of a row without any
    absent: tuple[str, ...] = ("no_input",)  # the statuses of signature layers that mean the same
    reasons: tuple[str, ...] = ()  # why an item is not compared, beside the statuses of its signature
    most: int = 16  # that a row is taken to have on average, for dividing the work: samples have texts beside items


ROWS: Final = Unit("rows")
PICTURES: Final = Unit("pictures", True, True, NO_PICTURE, reasons=(LOW_QUALITY, NOT_AN_IMAGE, NOT_HASHED))
VIDEOS: Final = Unit("videos", True, True, NO_VIDEO, reasons=(LOW_QUALITY,))


def digests(_: Any, leaves: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
    """The values of kinds whose signature is a digest; rows without one are not compared."""
    (found,) = leaves
    return pc.if_else(found.is_valid(), OK, NOT_MEASURED), found.cast(pa.binary(ID_BYTES))


def _none(_: Any) -> dict[str, object]:
    return {}


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kind compares: a measurement, and the values made of it."""

    layer: str  # of the operator of this name; or `samples`, for what ingest writes of each medium
    leaves: tuple[str, ...] = ("digest",)  # the columns that values are computed from
    values: Callable[[Any, Sequence[pa.Array]], tuple[pa.StringArray, pa.Array]] = digests
    """Of the settings and these columns: the status of each node, `ok` if it is compared, and its value. Values of 16
    bytes are digests: nodes with equal ones are equal. Of others, digests are made."""
    options: Callable[[Any], Mapping[str, object]] = _none  # of the operator, given the recipe's settings
    as_measured: bool = False  # a recipe may measure it with settings of its own
    searched: str | None = None  # the column that a search compares, if values are digests; of kinds of rows


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results of a search for nodes that have duplicates; null for the others."""

    similarity: pa.Array  # to the matched node
    back: pa.Array  # from the matched node to this one
    by: pa.Array  # its basis: equal, estimate or exact


@dataclass(frozen=True, slots=True)
class Measure:
    """A column that only layers of this kind have."""

    name: str
    type: pa.DataType
    of: Callable[[SearchResults], pa.Array]


def _nothing_said(_: Mapping[str, pa.Array]) -> tuple[None, None]:
    return None, None


def _as_written(settings: Any, _: Any) -> Any:
    return settings


def _no_remarks(_settings: Any, _counted: Mapping[str, int]) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class DuplicateKind:
    """A kind of duplicates. Picklable, by its name.

    Nodes, which are rows or items of rows, are merged first if their digests are equal. A kind with a `search` finds
    similar ones too. Clusters, guards, growth, and the choice of a representative are the same for all kinds.
    """

    name: str  # in the recipe, and of the layer `dedupe.NAME`
    version: int  # of all that decides the layer's values, apart from the signatures
    summary: str  # the contents of its clusters, in reports
    unit: Unit
    settings: type[Any]  # a frozen dataclass: the settings under `dedupe: {NAME: …}`
    signature: Signature
    search: Search | None = None  # how similar nodes are found; None if only equal ones are
    distinct: str | None = None
    """The column that counts what is different in a cluster; required of kinds with a search. Their settings have
    `max_cluster`: with more, a cluster raises an alarm."""
    members: str = "rows"  # the contents of a cluster, in an alarm
    measures: tuple[Measure, ...] = ()  # the layer's other columns
    said: Callable[[Mapping[str, pa.Array]], tuple[pa.Array | None, pa.Array | None]] = _nothing_said
    """Of the layer's columns: the similarity of each node to its match, and how it was determined, for people."""
    example: str = "{}"  # example settings, for a message that shows how to request the kind
    listed: int = 1000  # the order in which kinds are listed
    chosen: int | None = 1000
    """Representatives are chosen in this order, so that a row dropped by one kind is none of a later one's. None: by
    this kind none is, and no row is dropped."""
    split: int | None = 1000
    """Rows in clusters of several kinds go to the side of a split that the first of these says. None: clusters may be
    divided."""
    of_address: bool = False
    """It compares what leads to a row, not what it holds; so the texts of dropped rows are compared, for an alarm."""
    of_meaning: bool = False  # its clusters hold texts of any wording, so they are no sign that two texts are equal
    sent_in_pieces: bool = False  # what is sent of a node grows with its size, as do its signatures
    undecided: tuple[str, ...] = ("max_bucket", "max_cluster")  # settings that change no value of the layer
    bind: Callable[[Any, Any], Any] = _as_written
    """The settings with everything filled in, given the recipe's and the configuration of the signature's operator."""
    described: Callable[[Any], str] | None = None
    """What was searched for, in a card, given the bound settings; the summary, for a kind that says no more."""
    remarks: Callable[[Any, Mapping[str, int]], tuple[str, ...]] = _no_remarks
    """What to say after a search, given the bound settings and the sums of what its steps have counted."""

    def __reduce__(self) -> tuple[Callable[[str], "DuplicateKind"], tuple[str]]:
        return find_kind, (self.name,)

    @property
    def layer(self) -> str:
        """The name of its layer."""
        return layer_of_kind(self.name)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of its layer."""
        own = [] if self.distinct is None else [pa.field(self.distinct, pa.int64())]
        own += [pa.field(one.name, one.type) for one in self.measures]
        if not self.unit.of_items:
            return pa.schema([*CLUSTER, *own])
        return pa.schema([*ITEM_CLUSTER, *(pa.field(one.name, pa.list_(one.type)) for one in own)])

    @property
    def of_wording(self) -> bool:
        """Whether rows of a cluster have texts that are equal, or similar word for word."""
        return not (self.unit.of_items or self.of_address or self.of_meaning)

    @property
    def counted(self) -> str:
        """What is counted as different in a cluster; texts, for kinds that only find equal nodes."""
        return self.distinct or "texts"


@dataclass(frozen=True)
class AskedKind:
    """A kind with the requested settings. Picklable."""

    kind: DuplicateKind
    settings: Any

    @property
    def layer(self) -> str:
        """The layer of its signatures."""
        return self.kind.signature.layer

    @property
    def search(self) -> Search | None:
        """Finds similar nodes; None if only equal ones are found."""
        return self.kind.search

    @property
    def described(self) -> str:
        """What is searched for, in a card."""
        return self.kind.described(self.settings) if self.kind.described else self.kind.summary

    @property
    def deciding(self) -> dict[str, Json]:
        """The settings that affect the layer's values."""
        return {name: one for name, one in asdict(self.settings).items() if name not in self.kind.undecided}


def kind_names() -> tuple[str, ...]:
    """The names of all kinds."""
    return tuple(sorted({*own_names(), *(point.name for point in entry_points(ENTRY_POINTS))}))


@lru_cache(maxsize=1)
def own_names() -> tuple[str, ...]:
    """The names of winnow's own kinds."""
    return tuple(module.name for module in pkgutil.iter_modules(kinds.__path__))


def find_kind(name: str) -> DuplicateKind:
    """The kind with this name; the error for an unknown name suggests the nearest."""
    if name not in kind_names():
        raise RecipeError(f"unknown kind of duplicates {name!r}{suggestion(name, kind_names())}")
    point = next((point for point in entry_points(ENTRY_POINTS) if point.name == name), None)
    try:
        found = point.load() if point else import_module(f"winnow.filters.duplicates.kinds.{name}").KIND
    except (ImportError, AttributeError) as error:  # in another package, or in one that it needs
        raise RecipeError(f"kind of duplicates {name!r} cannot be loaded: {error}") from error
    if not isinstance(found, DuplicateKind) or found.name != name or not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise RecipeError(f"{name!r} is registered as a kind of duplicates but is none; correct its entry point")
    return found


def kinds_in_order(names: Iterable[str]) -> tuple[DuplicateKind, ...]:
    """Kinds by their names, in the order in which they are listed."""
    return tuple(sorted(map(find_kind, names), key=lambda kind: (kind.listed, kind.name)))


def kinds_chosen_in(names: Iterable[str]) -> tuple[DuplicateKind, ...]:
    """The kinds that choose representatives, in their order."""
    found = [(kind.chosen, kind.name, kind) for kind in map(find_kind, names) if kind.chosen is not None]
    return tuple(kind for *_, kind in sorted(found, key=lambda one: one[:2]))


def kinds_split_by(names: Iterable[str]) -> tuple[DuplicateKind, ...]:
    """The kinds whose clusters are kept on one side of a split, the widest first."""
    found = [(kind.split, kind.name, kind) for kind in map(find_kind, names) if kind.split is not None]
    return tuple(kind for *_, kind in sorted(found, key=lambda one: one[:2]))


def all_kinds() -> tuple[DuplicateKind, ...]:
    """All kinds, in the order in which they are listed."""
    return kinds_in_order(kind_names())
