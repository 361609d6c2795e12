"""The scaling laws that a recipe's mixture names, read and compared with its families. Imports no Beam."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.mixture import UNCLASSIFIED, BoundStage
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import content_name
from winnow.schemas.languages import grouping
from winnow.schemas.law import MAX_LAW_BYTES, ScalingLaw, law_from_json, law_to_json
from winnow.schemas.problems import Problem, listed, recipe_error, shown
from winnow.schemas.recipe.mix import FamiliesBy

STDIN: Final = "-"


@dataclass(frozen=True)
class Laws:
    """The scaling laws that a recipe's stages name, and their digests."""

    laws: Mapping[str, ScalingLaw]
    digests: Mapping[str, str]


def read_laws(recipe: BoundRecipe) -> Laws:
    """Read the scaling laws that a recipe's mixture names.

    Raises:
        RecipeError: A law cannot be read; the message names the setting.
    """
    bound = recipe.mixture
    laws, digests, problems = {}, {}, []
    for stage in bound.stages:
        name = stage.config.families.law if stage.config.families is not None else None
        if name is None:
            continue
        try:
            if name not in laws:
                laws[name] = read_law(recipe.config.located(name))
                digests[name] = content_name(law_to_json(laws[name]))
            problems += _misspelt_families(stage, laws[name]) or _foreign_families(stage, laws[name])
        except OSError as error:
            message = f"{shown(name, 200)} cannot be read: {error.strerror}; make it with winnow law fit"
            problems.append(Problem(stage.config.place, f"{stage.path}.families.law", message))
        except WinnowError as error:
            problems.append(Problem(stage.config.place, f"{stage.path}.families.law", str(error)))
    if problems:
        raise recipe_error(problems)
    return Laws(laws, digests)


def _misspelt_families(stage: BoundStage, law: ScalingLaw) -> list[Problem]:
    """Report family names that differ only in case: they would be treated as unfitted."""
    families = stage.config.families
    assert families is not None
    called = {name.casefold(): name for name in grouping(families.by).groups()}
    wrong = [name for name in law.names if called.get(name.casefold(), name) != name]
    if not wrong:
        return []
    right = ", ".join(f"{shown(name)} for {shown(called[name.casefold()])}" for name in wrong[:4])
    message = f"{shown(families.law or '', 200)} writes {right}; correct the names in the table of runs, and fit again"
    return [Problem(stage.config.place, f"{stage.path}.families.law", message)]


def _foreign_families(stage: BoundStage, law: ScalingLaw) -> list[Problem]:
    """Report a law that shares no family with the stage's grouping."""
    families = stage.config.families
    assert families is not None
    named = set(law.names)
    if named & {*grouping(families.by).groups(), UNCLASSIFIED}:
        return []
    shared = {way: len(named & set(grouping(way).groups())) for way in get_args(FamiliesBy)}
    ways = " or ".join(f"by: {way}" for way, count in shared.items() if count and count == max(shared.values()))
    right = f"write {ways} under families" if ways else "fit a law of these families"
    law_name = shown(families.law or "", 200)
    message = f"{law_name} covers {listed(law.names)}, none of which is a family with by: {families.by}; {right}"
    return [Problem(stage.config.place, f"{stage.path}.families.law", message)]


def read_law(name: str) -> ScalingLaw:
    """Read a law file."""
    return law_from_json(read_limited(name, MAX_LAW_BYTES), name)


def display_name(name: str) -> str:
    """The name of a file in messages."""
    return "stdin" if name == STDIN else name


def read_limited(name: str, most: int) -> bytes:
    """The content of a file, or of the standard input, of at most so many bytes."""
    if name == STDIN:
        raw = sys.stdin.buffer.read(most + 1)
    else:
        file = Path(name)
        if file.exists() and not file.is_file():
            raise WinnowError(f"{name}: is not a regular file; give a file name")
        with open(file, "rb") as stream:
            raw = stream.read(most + 1)
    if len(raw) > most:
        raise WinnowError(f"{display_name(name)}: more than {most >> 20} MiB; too large for a table or a law file")
    return raw
