"""Machines with nothing but winnow: what a recipe needs there goes into the store, from which their workers take it."""

import os
from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console

from winnow.filters.language.tokenizers import BYTES
from winnow.pipelines.assets.node_files import Node, put_files
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.stage import bind_exports
from winnow.pipelines.store.generations import Store
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.running.node_checks import check_nodes
from winnow.schemas.assets import AnyAsset
from winnow.schemas.errors import WinnowError


def ready_nodes(engine: Engine, store: Store, recipe: BoundRecipe | None, console: Console) -> Engine:
    """The engine, whose workers on other machines are told where to find what they lack. The caller holds the lease.

    StageError with a line for each thing that would fail on one of them.
    """
    if not engine.uses_nodes:
        return engine
    files = put_files(store.objects, () if recipe is None else recipe_files(recipe))
    root = store.objects.root
    told = replace(engine, node=Node(root if "://" in root else os.path.abspath(root), files).to_option())
    if recipe is not None and engine.name != "dataflow":  # where starting a job takes minutes
        check_nodes(told, store, recipe.config, console)
    return told


def recipe_files(recipe: BoundRecipe) -> Iterator[AnyAsset | str]:
    """The assets that a recipe needs, and the files that it names, as far as workers open them.

    Keys of pseudonyms are left out, as whoever reads a store could read them there. So is what belongs to a part that
    cannot be bound: the stage that needs it says what is wrong.
    """
    for part in (_of_ingest, _of_operators, _of_scores, _of_mixture, _of_exports):
        try:
            yield from part(recipe)
        except WinnowError:
            continue


def _of_ingest(recipe: BoundRecipe) -> Iterator[str]:
    harm = recipe.sources.known_harm
    yield from () if harm is None else (one.file for one in harm.lists)


def _of_operators(recipe: BoundRecipe) -> Iterator[AnyAsset | str]:
    yield from (asset.file for bound in recipe.operators for asset in bound.assets.assets)


def _of_scores(recipe: BoundRecipe) -> Iterator[AnyAsset | str]:
    yield from (asset.file for bound in recipe.scores for asset in bound.assets.assets)


def _of_mixture(recipe: BoundRecipe) -> Iterator[str]:
    tokens = recipe.tokens
    yield from () if tokens is None else _tokenizers(tokens.bound.tokenizer)


def _of_exports(recipe: BoundRecipe) -> Iterator[str]:
    for export in recipe.part(bind_exports):
        yield from _tokenizers(getattr(export.config, "tokenizer", None))


def _tokenizers(named: str | None) -> Iterator[str]:
    if named and named != BYTES:
        yield named
