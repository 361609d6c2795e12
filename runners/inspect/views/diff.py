"""What another recipe, an earlier generation or another store keeps instead: by language and reason, with samples."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.query.generation import read_as, require_latest_for
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.rules.comparing import KEPT, ChangedSample, Comparison, ComparisonTasks
from winnow.pipelines.rules.decision_tasks import pinned_tasks
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.running.job_tasks import HERE
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.location import open_store_at
from winnow.runners.inspect.asking import number_of, text_of
from winnow.runners.inspect.clusters_shown import excerpts_of
from winnow.runners.inspect.finding import place_of
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, AskedError, UnavailableError, View
from winnow.runners.stages.duplicates.clusters import beginning
from winnow.runners.stages.opening import bound_recipe, store_of
from winnow.runners.stages.reports.recipe_difference import difference_json
from winnow.runners.stages.rule_decisions import first_of, rule_decisions
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.problems import shown
from winnow.schemas.records import Generation

SAMPLES: Final = 20
MOST_SAMPLES: Final = 200
MOST_CHOICES: Final = 200


def answer(opened: Opened, asked: Asked) -> Answer:
    """The difference from what is shown (`old`) to the other (`new`).

    Asked: `other`, the name of a recipe file or of a store in the folder of the recipe, or the number of a generation;
    `samples` on each side. Without `other`, what there is to choose from. No other file is named by
    it; what is opened besides is the store that the other recipe names, wherever it is.
    """
    recipe = opened.recipe
    if recipe is None:
        raise UnavailableError("what two recipes keep is compared for a recipe; run: winnow inspect RECIPE")
    if "other" not in asked:
        return {"choices": _choices(opened, recipe)}
    frame = frame_of(opened)
    if frame.why_no_rules is not None:
        raise UnavailableError(frame.why_no_rules)
    other = text_of(asked, "other")
    most = number_of(asked, "samples", SAMPLES, 0, MOST_SAMPLES)
    try:
        pinned, generation = _other(opened, recipe, other)
    except RecipeError as error:
        raise UnavailableError(first_of(error)) from None
    sides = ((frame.pinned, opened.generation), (pinned, generation))
    tokens = all(TOKENS_LAYER in one.layers and TOKENS_LAYER not in one.partial for _, one in sides)
    more = [layout.SAMPLES, *([TOKENS_LAYER] if tokens else [])]
    old, new = (one.with_layers(its, more) for one, its in sides)
    with HERE.folder("diff") as first, HERE.folder("diff") as second:
        tasks = [pinned_tasks(one, one.layers, steps) for one, steps in ((old, first), (new, second))]
        found = ComparisonTasks(tasks[0], tasks[1], tokens, most).run(HERE)
    if found.misfit is not None:
        raise UnavailableError(f"shard {found.misfit} holds other samples in {other}, so rows cannot be compared")
    if not found.cells:
        raise UnavailableError(f"{other} has no shard in common with this store, so no row can be compared")
    return {
        **difference_json(recipe.file, other, found, tokens=tokens),
        "dropped_by": _by_reason(found, lost=True),
        "kept_again": _by_reason(found, lost=False),
        "lost": _samples(opened, found.lost),
        "gained": _samples(opened, found.gained),
    }


def _other(opened: Opened, recipe: BoundRecipe, other: str) -> tuple[PinnedProgram, Generation]:
    """The rules that are compared with, pinned to what they read; every one of them can be decided."""
    if other.isascii() and other.isdigit() and len(other) < 10:
        if int(other) not in opened.store.generation_numbers():
            raise AskedError(f"other: {opened.store.root} has no generation {other}")
        record = opened.store.generation_record(int(other))
        return _pinned(recipe, opened.store, read_as(recipe, opened.store, record))
    path = _within(recipe, other)
    if path.is_dir():
        store = open_store_at(path)
        return _pinned(recipe, store, require_latest_for(recipe, store))
    second = bound_recipe(path)
    store = store_of(second)
    return _pinned(second, store, require_latest_for(second, store))


def _pinned(recipe: BoundRecipe, store: Store, generation: Generation) -> tuple[PinnedProgram, Generation]:
    pinned = pinned_rules(recipe, store, generation, (layout.SAMPLES,))
    assert pinned is not None  # as more than nothing is asked for
    _ = rule_decisions(recipe, generation, pinned, jobs=HERE).summary  # raises if a rule cannot be decided
    return pinned, generation


def _folder(recipe: BoundRecipe) -> Path:
    return Path(recipe.file).resolve().parent


def _within(recipe: BoundRecipe, name: str) -> Path:
    """A file or folder in the recipe's folder; AskedError for any other, whether it exists or not."""
    folder = _folder(recipe)
    try:
        path = (folder / name).resolve()
        inside = path != folder and path.is_relative_to(folder) and path.exists()
    except (OSError, ValueError):  # a name that no file can have
        inside = False
    if not inside:
        raise AskedError(f"other: {shown(name)} is no generation, and no recipe or store in the folder of the recipe")
    return path


def _choices(opened: Opened, recipe: BoundRecipe) -> Mapping[str, Sequence[object]]:
    """What may be compared with: generations, the recipes beside this one, and the stores there."""
    folder = _folder(recipe)
    files = sorted(path.name for path in folder.glob("*.y*ml") if path.is_file())
    stores = sorted(path.name for path in folder.iterdir() if _is_store(path))
    own = Path(recipe.file).name
    return {
        "generations": opened.store.generation_numbers()[::-1][:MOST_CHOICES],
        "recipes": [name for name in files if name != own][:MOST_CHOICES],
        "stores": stores[:MOST_CHOICES],
    }


def _is_store(path: Path) -> bool:
    try:
        if not path.is_dir():
            return False
        open_store_at(path)
    except (WinnowError, OSError):  # such as a folder that may not be read
        return False
    return True


def _by_reason(found: Comparison, *, lost: bool) -> list[dict[str, Any]]:
    """The samples that are lost or gained, by the reason on the side that drops them and by language."""
    counts: list[dict[str, Any]] = [
        {"reason": move.new if lost else move.old, "language": move.language, "rows": move.rows}
        for move in found.moves
        if (move.old if lost else move.new) == KEPT != (move.new if lost else move.old)
    ]
    return sorted(counts, key=lambda one: (-one["rows"], one["reason"], one["language"]))


def _samples(opened: Opened, samples: Sequence[ChangedSample]) -> list[dict[str, Any]]:
    """Some samples, with the beginnings of their texts; without those that are forgotten here."""
    excerpts, frame = excerpts_of(opened), frame_of(opened)
    listed = []
    for one in samples:
        try:
            place = place_of(opened, frame, one.id)
        except AskedError:
            continue
        listed.append(asdict(one) | {"preview": beginning(excerpts.shown(place))})
    return listed


VIEW = View(answer, seconds=600)
