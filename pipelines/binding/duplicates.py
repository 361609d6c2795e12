"""A recipe's search for duplicates: the kinds that it names, with their settings, and the measurements they compare."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Final

from winnow.filters.duplicates.kind import ROWS, AskedKind, all_kinds, find_kind, kind_names, kinds_in_order
from winnow.pipelines.store import layout
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Problem, Problems, recipe_error, shown, suggestion
from winnow.schemas.recipe import DedupeConfig, OperatorEntry, Recipe
from winnow.schemas.recipe.build import build_value, settings
from winnow.schemas.recipe.nodes import Scalar, located

DIGEST: Final = "text.digest"
"""The layer by which texts are compared where no kind compares them."""

_ALWAYS_SAID: Final = frozenset(
    {"exact", "url", "near", "image_bytes", "pdq", "embedding", "vpdq", "video_embedding", "captions"}
)
"""The kinds of which a recipe in full says `null` if it does not search for them, so that names of plans stay."""


def asked_kinds(recipe: Recipe) -> tuple[AskedKind, ...]:
    """Return the kinds that a recipe searches for, with its settings, in the order of the list of kinds. RecipeError if
    it names no kind, an unknown one, or a wrong setting."""
    config = recipe.dedupe
    if config is None:
        return ()
    problems, known = Problems(), kind_names()
    written = {}
    for entry in config.kinds.entries:
        if entry.key not in known:
            meant = suggestion(entry.key, (*known, *(setting.key for setting in settings(DedupeConfig))))
            problems.add(entry.place, "dedupe", f"unknown key {shown(entry.key)}{meant}")
        elif not (isinstance(entry.node, Scalar) and entry.node.value is None):
            built = build_value(find_kind(entry.key).settings, entry.node, f"dedupe.{entry.key}", problems)
            written[entry.key] = built
    problems.stop_if_any()
    if not written:
        raise recipe_error([Problem(config.place, "dedupe", f"names no kind of duplicates; write {_examples()}")])
    return tuple(AskedKind(kind, written[kind.name]) for kind in kinds_in_order(written))


def _examples() -> str:
    """How a recipe asks for each kind, grouped by what the kinds compare."""
    of_units: dict[str, list[str]] = {}
    for kind in all_kinds():
        of_units.setdefault("" if kind.unit == ROWS else f"for {kind.unit.name} ", []).append(
            f"{kind.name}: {kind.example}"
        )
    return "; ".join(
        f"{unit}{', '.join(written[:-1])}{' or ' if len(written) > 1 else ''}{written[-1]}"
        for unit, written in of_units.items()
    )


def duplicate_kinds(recipe: Recipe) -> tuple[str, ...]:
    """Return the names of the kinds that a recipe searches for."""
    return tuple(asked.kind.name for asked in asked_kinds(recipe))


def max_clusters(kinds: Iterable[AskedKind]) -> dict[str, int]:
    """The alarm threshold of each kind whose clusters can grow by chains: its largest accepted number of distinct
    members."""
    return {kind.kind.name: kind.settings.max_cluster for kind in kinds if kind.kind.distinct is not None}


def compares_digests(recipe: Recipe) -> bool:
    """Whether the guard needs digests of texts: equal addresses are searched for, and no kind compares texts' words."""
    kinds = [asked.kind for asked in asked_kinds(recipe)]
    return any(kind.of_address for kind in kinds) and not any(kind.of_wording for kind in kinds)


def signature_entries(recipe: Recipe) -> tuple[tuple[OperatorEntry, str], ...]:
    """Return the measurements that the search for duplicates needs."""
    config = recipe.dedupe
    if config is None:
        return ()
    measured = {entry.layer for entry in recipe.annotate}
    wanted: list[tuple[str, str, Mapping[str, object]]] = []
    for asked in asked_kinds(recipe):
        signature, where = asked.kind.signature, f"dedupe.{asked.kind.name}"
        if asked.layer == layout.SAMPLES or (signature.as_measured and asked.layer in measured):
            continue
        try:
            wanted.append((asked.layer, where, signature.options(asked.settings)))
        except RecipeError as error:
            raise recipe_error([Problem(config.place, where, str(error))]) from None
        digested = any(entry.name == entry.layer == DIGEST for entry in recipe.annotate)
        if asked.kind.of_address and compares_digests(recipe) and not digested:
            wanted.append((DIGEST, where, {}))
    return tuple((OperatorEntry(layer, located(options, config.place)), where) for layer, where, options in wanted)


def spelt_out(recipe: Recipe) -> Recipe:
    """Return a recipe with every setting of its kinds of duplicates, for showing and hashing."""
    config = recipe.dedupe
    if config is None:
        return recipe
    place, asked = config.place, {one.kind.name: asdict(one.settings) for one in asked_kinds(recipe)}
    said = {kind.name: asked.get(kind.name) for kind in kinds_in_order(_ALWAYS_SAID | asked.keys())}
    return replace(recipe, dedupe=replace(config, kinds=located(said, place)))
