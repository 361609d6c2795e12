"""Which statuses the layers of a recipe may have, so that a condition that asks for another one is found at once.

A layer's `status` is of the row; the list `items` says the status of each medium or caption, in layers that have one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from winnow.filters.duplicates.kind import Unit
from winnow.filters.image.decode.stills import REASONS as OF_DECODING
from winnow.filters.operators import PictureOperator
from winnow.filters.video.decode.opening import REASONS as OF_WATCHING
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.stills.frames_operator import NO_FRAMES
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.duplicates import asked_kinds
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.decoding.isolation import CRASHED
from winnow.schemas.problems import nearest, shown
from winnow.schemas.rows.duplicates import NOT_MEASURED, OK, UNMATCHED
from winnow.schemas.rows.extraction import EXTRACTED, Status
from winnow.schemas.rows.measured import STATUSES
from winnow.schemas.rows.samples import NOT_A_VIDEO, NOT_AN_IMAGE, UNAVAILABLE
from winnow.schemas.rows.scores import SCORES
from winnow.schemas.tombstones import FORGOTTEN
from winnow.scoring.protocol import IMAGE
from winnow.scoring.protocol import REASONS as OF_SCORES

_PICTURE: Final = (NOT_AN_IMAGE, UNAVAILABLE, CRASHED, *OF_DECODING)
_VIDEO: Final = (NOT_A_VIDEO, UNAVAILABLE, CRASHED, *OF_WATCHING)
_OF_TEXTS: Final = ("no_text", "too_large")
_MOST_LISTED: Final = 24


@dataclass(frozen=True, slots=True)
class Statuses:
    """The statuses that a column may have, and those of the items that belong to it."""

    own: Sequence[str]
    of_items: Sequence[str] = ()

    def why_never(self, column: str, value: str) -> str:
        """Why a column never has this status, and what to write instead; empty if it may have it."""
        if value in self.own:
            return ""
        never = f"{column} is never {shown(value)}"
        if value in self.of_items:
            layer = column.removesuffix(".status")
            return f"{never}, a status of single items: write list_contains({layer}.items, {shown(value)})"
        if (near := nearest(value, self.own)) is not None:
            return f"{never} (did you mean {near!r}?)"
        more = " …" if len(self.own) > _MOST_LISTED else ""
        return f"{never}; it is one of {', '.join(self.own[:_MOST_LISTED])}{more}"


def status_columns(recipe: BoundRecipe) -> Mapping[str, Statuses]:
    """The columns `status` and `items` of a recipe's layers, in lower case, with the statuses that they may have."""
    found: dict[str, Statuses] = {}

    def add(layer: str, rows: Sequence[str], items: Sequence[str] = ()) -> None:
        rows, items = tuple(dict.fromkeys(rows)), tuple(dict.fromkeys(items))
        found[f"{layer}.status".lower()] = Statuses(rows, items)
        if items:
            found[f"{layer}.items".lower()] = Statuses(items)

    for extractor in recipe.config.extract:
        add(f"{EXTRACTED}{extractor.name}", get_args(Status))
    operators = {bound.layer: bound for bound in recipe.operators}
    for layer, bound in operators.items():
        add(layer, *_of_operator(bound))
    for asked in asked_kinds(recipe.config):
        add(asked.kind.layer, *_of_duplicates(asked.kind.unit, operators.get(asked.layer)))
    for score in recipe.scores:
        add(f"{SCORES}{score.entry.name}", _of_score(score))
    return found


def _of_operator(bound: BoundOperator) -> tuple[Sequence[str], Sequence[str]]:
    """The statuses of an operator's rows, and of its items."""
    own = bound.operator.reasons
    if isinstance(bound.operator, VideoOperator):
        return _without(*_OF_TEXTS), (OK, *own, *_VIDEO)
    if isinstance(bound.operator, PictureOperator):
        return _without(*_OF_TEXTS), (OK, *own, *_PICTURE)
    return (*STATUSES, *own), ()


def _of_duplicates(unit: Unit, signature: BoundOperator | None) -> tuple[Sequence[str], Sequence[str]]:
    """The statuses of a kind's rows, and of its items: where a row has no duplicate it has that of its first item."""
    rows, items = (STATUSES, ()) if signature is None else _of_operator(signature)
    if not unit.of_items:
        return (OK, UNMATCHED, *rows), ()
    items = (OK, UNMATCHED, NOT_MEASURED, *unit.reasons, *items)
    return (*items, unit.empty, *_without(*_OF_TEXTS, "no_input")), items


def _of_score(score: BoundScore) -> Sequence[str]:
    own = (OK, "not_selected", "too_large", "left_out", FORGOTTEN, *OF_SCORES)
    if IMAGE not in score.kind.reads(score.config):
        return own
    return (*own, *_PICTURE, *_VIDEO, *(() if score.entry.frames is None else (NO_FRAMES,)))


def _without(*absent: str) -> tuple[str, ...]:
    """The stage's statuses but for these."""
    return tuple(one for one in STATUSES if one not in absent)
