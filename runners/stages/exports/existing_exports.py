"""What exports that exist mean for a recipe, told before any work: the run that would have to replace them is long."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.export.places.manifest import Manifest
from winnow.pipelines.export.places.opening import require_place
from winnow.pipelines.export.stage import BoundExport, bind_exports
from winnow.pipelines.mix.laws import read_laws
from winnow.pipelines.mix.plans import WHOLE, drawn_plan
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.integrity.damage import DamagedError
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import ExportError, StoreError, WinnowError

REMEDY = "write to another folder, or replace it with --replace"


@dataclass(frozen=True, slots=True)
class ExistingExport:
    """An export that a recipe found where it is to write its own."""

    path: str
    plan: str
    unlike: str = ""  # options that differ whatever is planned; empty if the plan alone decides

    @property
    def refusal(self) -> str:
        """Why the recipe's export cannot be written there."""
        return f"{self.path}: contains an export of plan {self.plan}, but with other options: {self.unlike}; {REMEDY}"

    @property
    def warning(self) -> str:
        """What is known before the recipe's mixture is planned."""
        if self.unlike:
            return self.refusal
        return f"{self.path}: contains an export of plan {self.plan}; if the new plan is another, {REMEDY}"


def existing_exports(recipe: BoundRecipe, *, replace: bool = False) -> tuple[ExistingExport, ...]:
    """The existing exports that a run of the recipe may not replace.

    Raises:
        ExportError: Files of somebody else's are in the way; one line for each such place.
    """
    found: list[ExistingExport] = []
    wrong: list[str] = []
    store = _store(recipe)
    name = store_record(recipe.config).name if store is None else store.record.name
    for one in recipe.part(bind_exports) if recipe.config.export else ():
        try:
            manifest = require_place(one.path, replace=replace)
        except (ExportError, StoreError) as error:
            wrong.append(f"{one.place}: {one.where}.path: {error}")
            continue
        if manifest is not None and not replace:
            unlike = ", ".join(_differences(recipe, one, manifest, name))
            found.append(ExistingExport(one.path, manifest.plan, unlike))
    if wrong:
        raise ExportError("\n".join(wrong))
    return tuple(found)


def require_replaceable(recipe: BoundRecipe, *, replace: bool, sample: Fraction | None = WHOLE) -> tuple[str, ...]:
    """What to note on existing exports at the start of a run.

    Raises:
        ExportError: An export can certainly not be written; one line for each.
    """
    found = existing_exports(recipe, replace=replace)
    if refused := [one.refusal for one in found if one.unlike]:
        raise ExportError("\n".join(refused))
    return _of_other_plans(recipe, found, sample)


def existing_export_notes(recipe: BoundRecipe, *, growing: bool) -> tuple[str, ...]:
    """The same without refusing, for a plan; `growing`: there is new input, so the latest plan is not the next one."""
    found = existing_exports(recipe)
    return tuple(one.warning for one in found) if growing else _of_other_plans(recipe, found, WHOLE)


def _of_other_plans(recipe: BoundRecipe, found: tuple[ExistingExport, ...], sample: Fraction | None) -> tuple[str, ...]:
    latest = _latest_plan(recipe, sample) if found else None
    return tuple(one.warning for one in found if one.unlike or one.plan != latest)


def _latest_plan(recipe: BoundRecipe, sample: Fraction | None) -> str | None:
    """The name of the plan that the recipe has for what its store holds now; None if it is not made."""
    store = _store(recipe)
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
