"""`winnow export --verify`: checks that all exports of a recipe are unchanged. Nothing is written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.formats.protocol import FileRecord
from winnow.pipelines.export.places.existing import damages, first_few, foreign_files
from winnow.pipelines.export.places.manifest import Manifest
from winnow.pipelines.export.places.opening import existing_manifest, is_being_written
from winnow.pipelines.export.stage import bind_export
from winnow.pipelines.mix.laws import read_laws
from winnow.pipelines.mix.plans import drawn_plan
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.tables.quantities import byte_size
from winnow.runners.tables.table import Column, table
from winnow.runners.tables.units import BYTES, COUNT, NAME, REASON, WORDS, Unit
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.counts import count_of
from winnow.schemas.errors import ExportError, WinnowError
from winnow.schemas.problems import Problems


@dataclass(frozen=True)
class _RequestedPlan:
    """The plan for the current recipe, or why it is unknown."""

    name: str | None
    why: str = ""


@dataclass
class Verified:
    """The result for one export."""

    path: str
    manifest: Manifest | None = None
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def files(self) -> Sequence[FileRecord]:
        """All its files, according to its manifest."""
        return () if self.manifest is None else self.manifest.files


VERIFIED: tuple[Column[Verified], ...] = (
    Column("place", REASON, lambda one: one.path, "path"),
    Column("plan", NAME, lambda one: None if one.manifest is None else one.manifest.plan),
    Column("state", Unit(lambda one: "ok" if one else "WRONG", number=False), lambda one: not one.wrong, "verified"),
    Column("files", COUNT, lambda one: len(one.files)),
    Column("size", BYTES, lambda one: sum(file.bytes for file in one.files), "bytes"),
    Column("problems", WORDS, lambda one: one.wrong),
    Column("notes", WORDS, lambda one: one.notes),
)


def verify_exports(recipe: BoundRecipe, sample: Fraction | None = None) -> list[Verified]:
    """Read all exports of a recipe, and compare their files with the hashes in their manifests.

    Whether an export still matches the recipe is a note, if it can be determined.
    """
    plan = _plan(recipe, sample)
    return [_verified(recipe, number, plan) for number in range(len(recipe.config.export))]


def print_verified(found: list[Verified], console: Console) -> bool:
    """Print the results and a last line; returns whether all exports are unchanged."""
    print_tables(console, table("Exports", VERIFIED, found).without("problems", "notes"))
    for one in found:
        for line in one.wrong:
            _print(console, "WRONG", f"{one.path}: {line}")
        for line in one.notes:
            _print(console, "note", f"{one.path}: {line}")
    good = [one for one in found if not one.wrong]
    of = "" if len(good) == len(found) else f"{len(good)} of "
    files = [file for one in good for file in one.files]
    size = byte_size(sum(file.bytes for file in files))
    _print(console, "verified", f"{of}{count_of(len(found), 'export')}: {count_of(len(files), 'file')}, {size}")
    return len(good) == len(found)


def _print(console: Console, word: str, line: str) -> None:
    console.print(f"{word:<10}{line}")


def _plan(recipe: BoundRecipe, sample: Fraction | None) -> _RequestedPlan:
    """The plan for the current recipe, if it can be determined."""
    try:
        store = open_store(open_location(recipe.store_address))
        record = drawn_plan(recipe, store, require_latest_for(recipe, store), read_laws(recipe), sample)
    except (WinnowError, OSError) as error:
        return _RequestedPlan(None, f"cannot determine whether the recipe has changed: {str(error).splitlines()[0]}")
    if record is None:
        return _RequestedPlan(None, "the recipe or its store has changed since, and the new mixture is not planned yet")
    return _RequestedPlan(record.plan.name)


def _verified(recipe: BoundRecipe, number: int, plan: _RequestedPlan) -> Verified:
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
        if skipped := sum(line.samples for line in found.manifest.left_out):
            found.notes.append(
                f"{count_of(skipped, 'sample was', 'samples were')} left out because media were missing; if these are "
                f"available again, --replace includes them"
            )
        found.notes += _differences(recipe, number, plan, found.manifest)
    except ExportError as error:
        found.wrong.append(str(error).removeprefix(f"{path}: "))
    except OSError as error:
        found.wrong.append(f"cannot be read: {error.strerror or error}")
    return found


def _differences(recipe: BoundRecipe, number: int, plan: _RequestedPlan, manifest: Manifest) -> Iterator[str]:
    """How the existing export differs from the current recipe."""
    if plan.name is None:
        yield f"belongs to plan {manifest.plan}; {plan.why}"
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
        yield f"cannot determine whether the options have changed: {str(error).splitlines()[0]}"
        if plan.name not in (None, manifest.plan):
            yield f"belongs to plan {manifest.plan}; the recipe now has plan {plan.name}"
