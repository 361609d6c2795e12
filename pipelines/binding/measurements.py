"""What a recipe measures: what it lists itself, and what its search for duplicates reads."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from winnow.filters.duplicates.presets import near_preset
from winnow.schemas.duplicates import KINDS, Kind
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Place, Problem, recipe_error
from winnow.schemas.recipe import MapNode, NearConfig, OperatorEntry, Recipe
from winnow.schemas.recipe.nodes import Entry, ListNode, Node, Scalar

SIGNED: Mapping[Kind, str] = {"exact": "text.digest", "url": "url.canonical", "near": "text.minhash"}
"""The layer that each kind of duplicates is found by."""


@dataclass(frozen=True, slots=True)
class NearSettings:
    """How near duplicates are found, with nothing left to a preset."""

    shingle: Literal["words", "characters"]
    size: int
    bands: int
    rows: int
    seed: int
    min_similarity: float
    max_bucket: int

    @property
    def hashes(self) -> int:
        """The length of a signature."""
        return self.bands * self.rows


def near_settings(config: NearConfig) -> NearSettings:
    """A preset's settings under those that the recipe gives itself."""
    preset = near_preset(config.preset)
    return NearSettings(
        shingle=config.shingle or preset.shingle,
        size=config.size or preset.size,
        bands=config.bands or preset.bands,
        rows=config.rows or preset.rows,
        seed=preset.seed if config.seed is None else config.seed,
        min_similarity=config.min_similarity,
        max_bucket=config.max_bucket,
    )


def measurements(recipe: Recipe) -> tuple[tuple[OperatorEntry, str], ...]:
    """Every measurement, each with where the recipe asks for it.

    Raises:
        RecipeError: A preset that does not exist, or a layer that the recipe and its search for duplicates both write.
    """
    listed = [(entry, f"annotate[{number}].{entry.name}") for number, entry in enumerate(recipe.annotate)]
    implied = signing_entries(recipe)
    taken = {entry.layer: (entry, where) for entry, where in listed}
    for entry, where in implied:
        if entry.layer in taken:
            other, path = taken[entry.layer]
            said = f"{where} makes the layer {entry.layer}; write its settings there, or name this one with 'as'"
            raise recipe_error([Problem(other.place, path, said)])
    return (*listed, *implied)


def signing_entries(recipe: Recipe) -> tuple[tuple[OperatorEntry, str], ...]:
    """The measurements that duplicates are found by."""
    config = recipe.dedupe
    if config is None:
        return ()
    wanted: list[tuple[Kind, Mapping[str, object]]] = []
    if config.exact is not None:
        wanted.append(("exact", {"form": config.exact.form}))
    if config.url is not None:
        settings = asdict(config.url)
        wanted.append(("url", {name: value for name, value in settings.items() if value is not None}))
    if config.near is not None:
        try:
            near = near_settings(config.near)
        except RecipeError as error:
            raise recipe_error([Problem(config.place, "dedupe.near", str(error))]) from None
        options = {"shingle": near.shingle, "size": near.size, "hashes": near.hashes, "seed": near.seed}
        wanted.append(("near", options))
    return tuple(
        (OperatorEntry(SIGNED[kind], located(options, config.place)), f"dedupe.{kind}") for kind, options in wanted
    )


def wanted_kinds(recipe: Recipe) -> tuple[Kind, ...]:
    """The kinds of duplicates that a recipe looks for."""
    config = recipe.dedupe
    return () if config is None else tuple(kind for kind in KINDS if getattr(config, kind) is not None)


def located(options: Mapping[str, object], place: Place) -> MapNode:
    """Plain values as if the recipe had them in one place."""
    return MapNode(tuple(Entry(key, place, _node(value, place)) for key, value in options.items()), place)


def _node(value: object, place: Place) -> Node:
    if isinstance(value, Mapping):
        return located({str(key): item for key, item in value.items()}, place)
    if isinstance(value, list | tuple):
        return ListNode(tuple(_node(item, place) for item in value), place)
    assert value is None or isinstance(value, bool | int | float | str)
    return Scalar(value, place, str(value))
