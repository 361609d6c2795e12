"""`winnow export --verify`: whether every export of a recipe stands as it was written. Nothing is written."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.places.existing import damages, first_few, foreign_files
from winnow.pipelines.export.places.manifest import Manifest
from winnow.pipelines.export.places.opening import existing_manifest, is_being_written
from winnow.pipelines.export.stage import bind_export
from winnow.pipelines.mix.plans import find_plan, request_of
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.stages.mixing import WHOLE, read_laws
from winnow.runners.terminal.quantities import byte_size, grouped
from winnow.schemas.errors import ExportError, WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.problems import Problems


@dataclass(frozen=True)
class _Asked:
    """The plan that a recipe asks for, or why it has none."""

    name: str | None
    why: str = ""


@dataclass
class Verified:
    """What was found in the folder of one export."""

    path: str
    manifest: Manifest | None = None
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """Of all its files, as they were written."""
        return sum(file.bytes for file in self.manifest.files) if self.manifest is not None else 0

    def to_json(self) -> dict[str, Json]:
        """For programs."""
        return {
            "path": self.path,
            "plan": None if self.manifest is None else self.manifest.plan,
            "verified": not self.wrong,
            "files": 0 if self.manifest is None else len(self.manifest.files),
            "bytes": self.bytes,
            "problems": list(self.wrong),
            "notes": list(self.notes),
        }


def verify_exports(recipe: BoundRecipe, sample: Fraction = WHOLE) -> list[Verified]:
    """Read every export of a recipe, and compare its files with the hashes of its own record.

    Whether it is what the recipe asks for by now is a note, as far as that can be told: a file that the recipe names
    may be gone.
    """
    plan = _plan(recipe, sample)
    return [_verified(recipe, number, plan) for number in range(len(recipe.config.export))]


def print_verified(found: list[Verified], console: Console) -> bool:
    """What was found, and a last line; whether all is as it was written."""
    for one in found:
        if not one.wrong and one.manifest is not None:
            _say(console, "ok", f"{one.path}: {_counted([one])} are as they were written; plan {one.manifest.plan}")
        for line in one.wrong:
            _say(console, "WRONG", f"{one.path}: {line}")
        for line in one.notes:
            _say(console, "note", f"{one.path}: {line}")
    good = [one for one in found if not one.wrong]
    of = "" if len(good) == len(found) else f"{len(good)} of "
    _say(console, "verified", f"{of}{len(found)} exports: {_counted(good)}")
    return len(good) == len(found)


def _say(console: Console, word: str, line: str) -> None:
    console.print(f"{word:<10}{line}", markup=False, soft_wrap=True)


def _counted(found: list[Verified]) -> str:
    files = sum(len(one.manifest.files) for one in found if one.manifest is not None)
    return f"{grouped(files)} files, {byte_size(sum(one.bytes for one in found))}"


def _plan(recipe: BoundRecipe, sample: Fraction) -> _Asked:
    """The plan that the recipe asks for, as far as that can be told."""
    try:
        store = open_store(open_location(recipe.place))
        record = find_plan(store, request_of(recipe, store, store.require_latest(), read_laws(recipe), sample))
    except (WinnowError, OSError) as error:
        return _Asked(None, f"whether the recipe still asks for that cannot be told: {str(error).splitlines()[0]}")
    if record is None:
        return _Asked(None, "the recipe or its store has changed since, and what it asks for now is not planned yet")
    return _Asked(record.plan.name)


def _verified(recipe: BoundRecipe, number: int, plan: _Asked) -> Verified:
    path = recipe.config.located(recipe.config.export[number].path)
    found = Verified(path)
    try:
        found.manifest = existing_manifest(path)
        if found.manifest is None:
            what = "is not finished" if is_being_written(path) else "is not written yet"
            found.wrong.append(f"{what}; run: winnow export {recipe.file}")
            return found
        there = open_location(path)
        broken = list(damages(there, found.manifest, hashes=True))
        if broken:
            found.wrong.append(
                f"{first_few(broken)}; write the export again with --replace: winnow export {recipe.file} --replace"
            )
        if others := foreign_files(there, found.manifest):
            found.notes.append(f"holds files that winnow did not write: {first_few(others)}")
        if lacking := sum(line.samples for line in found.manifest.left_out):
            found.notes.append(
                f"{grouped(lacking)} samples were left out, as their media were gone; where those are back, --replace "
                "writes it with them"
            )
        found.notes += _differences(recipe, number, plan, found.manifest)
    except ExportError as error:
        found.wrong.append(str(error).removeprefix(f"{path}: "))
    except OSError as error:
        found.wrong.append(f"cannot be read: {error.strerror or error}")
    return found


def _differences(recipe: BoundRecipe, number: int, plan: _Asked, manifest: Manifest) -> Iterator[str]:
    """How the recipe asks for another export by now than the one that stands."""
    if plan.name is None:
        yield f"is of plan {manifest.plan}; {plan.why}"
    problems = Problems()
    try:
        bound = bind_export(recipe.config, number, problems)
        if bound is None:
            problems.stop_if_any()
        else:
            outline = bound.outline(plan.name or manifest.plan)
            if outline.identity != manifest.identity:
                yield manifest.unlike(outline)
    except (WinnowError, OSError) as error:
        yield f"whether the recipe still asks for these options cannot be told: {str(error).splitlines()[0]}"
        if plan.name not in (None, manifest.plan):
            yield f"is of plan {manifest.plan}, and the recipe's is plan {plan.name}"
