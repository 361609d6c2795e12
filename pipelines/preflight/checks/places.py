"""Folders that cannot be written, or that hold something else: files of somebody else's, or exports of other plans.

It is told before any work: the run that would have to replace them is long.
"""

import os
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.export.places.manifest import Manifest
from winnow.pipelines.export.places.opening import require_place
from winnow.pipelines.export.stage import BoundExport, bind_exports
from winnow.pipelines.mix.laws import read_laws
from winnow.pipelines.mix.plans import drawn_plan
from winnow.pipelines.preflight.check import Check, ExportFolders, WholeRecipe
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.integrity.damage import DamagedError
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import ExportError, StoreError, WinnowError
from winnow.schemas.problems import Place, Problem

_OF_STORES = frozenset(
    {value.partition("/")[0] for name, value in vars(layout).items() if name.isupper() and isinstance(value, str)}
)
"""What a store's folder holds, also before there is a store."""
_NAMED = 3  # files in a message
_REMEDY = "write to another folder, or replace it with --replace"


def _folders(about: WholeRecipe) -> Iterator[Problem]:
    recipe = about.recipe.config
    store = recipe.located(recipe.store.path)
    if why := _unwritable(store) or _no_store(store):
        yield Problem(recipe.store.place, "store.path", why)
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        yield Problem(
            Place(recipe.file, 1), "", "no folder for temporary files can be written; set TMPDIR to one that can"
        )


def _export_folders(about: WholeRecipe) -> Iterator[Problem]:
    recipe = about.recipe.config
    store = recipe.located(recipe.store.path)
    for number, entry in enumerate(recipe.export):
        path = recipe.located(entry.path)
        where = f"export[{number}].{entry.name}.path"
        if why := _unwritable(path):
            yield Problem(entry.place, where, why)
        elif "://" not in path and "://" not in store and _is_inside(path, store):
            yield Problem(entry.place, where, f"{entry.path} is inside the store; give exports a folder of their own")


def _no_store(path: str) -> str:
    """Why a local folder that exists is no place for a store; empty if it is, or if it is an address."""
    if "://" in path or not (folder := Path(path)).is_dir() or (folder / layout.STORE_RECORD).exists():
        return ""
    names = sorted(one.name for one in folder.iterdir() if one.name not in _OF_STORES and one.name[0] != ".")
    if not names or (folder / layout.GENERATIONS).exists():
        return ""
    listed = ", ".join([*names[:_NAMED], *(["…"] if names[_NAMED:] else [])])
    return f"{path}: contains files that are no store's ({listed}); choose an empty or new folder"


def _unwritable(path: str) -> str:
    """Why a folder cannot be made or written, or an address not be asked for an object; empty if it can."""
    if "://" in path:
        try:
            next(open_location(path).list(), None)
        except StoreError as error:
            return str(error)
        return ""
    at = Path(path).absolute()
    if at.exists() and not at.is_dir():
        return f"{path} is a file; give the path of a folder"
    while not at.exists():
        at = at.parent
    if not at.is_dir():
        return f"{at} is a file, so the folder {path} cannot be made"
    if not os.access(at, os.W_OK | os.X_OK):
        return f"{at} cannot be written; choose another folder, or change its permissions"
    if os.geteuid() == 0 and (why := _refused_to_root(at)):
        return f"{at} cannot be written: {why}; choose another folder"
    return ""


def _refused_to_root(folder: Path) -> str:
    """Why a folder takes no file from root, whom no permission tells; empty if it takes one."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _is_inside(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _existing(about: ExportFolders) -> Iterator[str]:
    """Notes exports of other plans where the recipe's are to be written.

    Raises:
        ExportError: An export can certainly not be written: files of somebody else's are in the way or, unless this is
            a plan, an export with other options; one line for each.
    """
    recipe, store = about.recipe, _store(about.recipe)
    name = store_record(recipe.config).name if store is None else store.record.name
    found: list[tuple[str | None, str]] = []  # the plan of an export, unless its options differ, and what to say of it
    wrong: list[str] = []
    for one in recipe.part(bind_exports):
        try:
            manifest = require_place(one.path, replace=about.replace)
        except (ExportError, StoreError) as error:
            wrong.append(f"{one.place}: {one.where}.path: {error}")
            continue
        if manifest is not None and not about.replace:
            there = f"{one.path}: contains an export of plan {manifest.plan}"
            if unlike := ", ".join(_differences(recipe, one, manifest, name)):
                found.append((None, f"{there}, but with other options: {unlike}; {_REMEDY}"))
            else:
                found.append((manifest.plan, f"{there}; if the new plan is another, {_REMEDY}"))
    if not wrong and not about.is_plan:
        wrong = [said for plan, said in found if plan is None]
    if wrong:
        raise ExportError("\n".join(wrong))
    latest = _latest_plan(recipe, store, about.sample) if found and not about.growing else None
    yield from (said for plan, said in found if plan is None or plan != latest)


def _latest_plan(recipe: BoundRecipe, store: Store | None, sample: Fraction | None) -> str | None:
    """The name of the plan that the recipe has for what its store holds now; None if it is not made."""
    if store is None:
        return None
    try:
        generation = require_latest_for(recipe, store)
        record = drawn_plan(recipe, store, generation, read_laws(recipe), sample)
    except DamagedError:
        raise
    except (WinnowError, OSError):  # what is wrong with a store is said by what reads it
        return None
    return None if record is None else record.plan.name


def _store(recipe: BoundRecipe) -> Store | None:
    try:
        return open_store(open_location(recipe.store_address))
    except (WinnowError, OSError):  # there is none yet, or what reads it says what is wrong
        return None


def _differences(recipe: BoundRecipe, export: BoundExport, manifest: Manifest, store: str) -> Iterator[str]:
    """What makes it another export, whatever its plan is."""
    wanted = export.outline(manifest.plan)
    found = list(manifest.other_options(wanted))
    if manifest.store != store:
        found.append(f"store ({manifest.store} there, {store} in the recipe)")
    if recipe.config.mix is not None and manifest.unit != recipe.config.mix.unit:
        found.append(f"unit ({manifest.unit} there, {recipe.config.mix.unit} in the recipe)")
    if not found and manifest.identity != wanted.identity:
        found.append(f"winnow {manifest.winnow_version} writes it differently")
    yield from found


CHECKS = (
    Check("places", WholeRecipe, _folders, order=2),
    Check("export-places", WholeRecipe, _export_folders, "export", order=2),
    Check("existing-exports", ExportFolders, _existing, "export"),
)
