"""Select the cells that a stage may use, and check the names in its shares.

A cell gets nothing if a level with shares does not name it, or names it with 0, if its band has weight 0, or if it is
empty. Omissions that the recipe does not mention are noted. A share that cannot be given is an error: a misspelt name,
or samples that the levels below exclude.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from winnow.schemas.errors import RecipeError
from winnow.schemas.mixture import Amount
from winnow.schemas.problems import MAX_REPORTED, Problems, listed, shown, suggestion
from winnow.schemas.recipe.mix import Shares, StageConfig, Unit
from winnow.scoring.mixture.bands import NULL, takes
from winnow.scoring.mixture.cells import NOT_SAID, Absent, Cell, Key, counted


@dataclass(frozen=True)
class _Written:
    """A level with shares."""

    setting: str
    what: str
    shares: Shares
    key: Key
    within: Key | None = None  # omitted names are left out only if this has a named one


def narrowed(
    cells: Sequence[Cell], stage: StageConfig, unit: Unit, absent: Absent = NOT_SAID
) -> tuple[list[int], list[str]]:
    """The numbers of the usable cells, and notes on omissions.

    Raises:
        RecipeError: A share names something that does not exist or can get nothing; or no cell is left.
    """
    if not cells:
        raise refused(stage, "mix", "no sample may be taken: the rules, 'where' and the split leave none")
    left, notes, problems = list(range(len(cells))), [], Problems()
    named: list[tuple[_Written, list[int]]] = []
    for level in _written(stage):
        _check_names(level, cells, stage, absent, problems)
        left, unnamed = _split(level, cells, left)
        named.append((level, left))
        if unnamed:
            notes.append(_left_out(level, cells, unnamed, unit))
        if without := _without_names(level, cells, left):
            notes.append(f"{level.setting}: no language of {listed(without)} has a share: shared in proportion")
    problems.stop_if_any()
    left, of_bands = _banded(cells, left, stage, unit)
    notes += of_bands
    if not left:
        raise refused(stage, "mix", _nothing_left(cells, stage, unit))
    for level, before in named:
        _check_given(level, cells, before, left, stage, problems)
    problems.stop_if_any()
    return left, notes


def refused(stage: StageConfig, setting: str, message: str) -> RecipeError:
    """The error for a setting of the stage."""
    return RecipeError(f"{stage.place}: {setting}: {of_stage(stage)}{message}")


def of_stage(stage: StageConfig) -> str:
    """The stage's name for messages, if there may be several; a level may be set for all of them."""
    return "" if stage.name == "train" else f"stage {stage.name}: "


def _written(stage: StageConfig) -> list[_Written]:
    families = stage.families.weights if stage.families is not None else None
    languages = stage.languages.weights if stage.languages is not None else None
    levels = (
        ("mix.classes", "class", stage.classes, lambda of: of.source_class, None),
        ("mix.sources", "source", stage.sources, lambda of: of.source, None),
        ("mix.families.weights", "family", families, lambda of: of.family, None),
        ("mix.languages.weights", "language", languages, lambda of: of.language, lambda of: of.family),
    )
    return [_Written(name, what, shares, key, within) for name, what, shares, key, within in levels if shares]


def _check_names(
    level: _Written, cells: Sequence[Cell], stage: StageConfig, absent: Absent, problems: Problems
) -> None:
    known = {level.key(cell.stratum) for cell in cells}
    shares = level.shares.by_name
    for entry in level.shares.shares.entries:
        if len(problems) > MAX_REPORTED:  # no more are shown, and searching for the nearest name takes long
            return
        if shares[entry.key] > 0 and entry.key not in known:
            message = absent.get((level.what, entry.key)) or (
                f"there is no sample of {level.what} {shown(entry.key)}{suggestion(entry.key, known)}"
            )
            problems.add(entry.place, level.setting, of_stage(stage) + message)


def _split(level: _Written, cells: Sequence[Cell], left: Sequence[int]) -> tuple[list[int], list[int]]:
    """The cells with a share, and those that the level does not name."""
    shares = level.shares.by_name
    having = None
    if level.within is not None:
        having = {level.within(cell.stratum) for cell in cells if level.key(cell.stratum) in shares}
    kept, unnamed = [], []
    for number in left:
        stratum = cells[number].stratum
        share = shares.get(level.key(stratum))
        if share is None and having is not None and level.within is not None and level.within(stratum) not in having:
            kept.append(number)
        elif share is None:
            unnamed.append(number)
        elif share > 0:
            kept.append(number)
    return kept, unnamed


def _without_names(level: _Written, cells: Sequence[Cell], left: Sequence[int]) -> list[str]:
    """Families without a named language."""
    if level.within is None:
        return []
    shares, strata = level.shares.by_name, [cells[number].stratum for number in left]
    return sorted({level.within(stratum) for stratum in strata if level.key(stratum) not in shares})


def _left_out(level: _Written, cells: Sequence[Cell], numbers: Sequence[int], unit: Unit) -> str:
    names = sorted({level.key(cells[number].stratum) for number in numbers})
    verb = "has no share and gets" if len(names) == 1 else "have no share and get"
    return f"{level.setting}: {listed(names)} {verb} nothing: {_whole(cells, numbers, unit)} left out"


def _banded(cells: Sequence[Cell], left: Sequence[int], stage: StageConfig, unit: Unit) -> tuple[list[int], list[str]]:
    """The non-empty cells in bands that are used."""
    bands = stage.bands
    kept = [number for number in left if cells[number].available.units > 0 and takes(bands, cells[number])]
    if bands is None:
        return kept, []
    notes = []
    if bands.nulls == "drop":
        without = [number for number in left if cells[number].stratum.band == NULL]
        if without:
            notes.append(f"mix.bands: without a value of {bands.by}: {_whole(cells, without, unit)} left out")
    if bands.softmax is not None:
        for number in kept:
            score = cells[number].score
            if cells[number].stratum.band != NULL and (score is None or not math.isfinite(score)):
                message = f"the mean of {bands.by} in {cells[number].stratum} is {score}; a softmax needs finite values"
                raise refused(stage, "mix.bands.softmax", message)
    return kept, notes


def _check_given(
    level: _Written,
    cells: Sequence[Cell],
    before: Sequence[int],
    left: Sequence[int],
    stage: StageConfig,
    problems: Problems,
) -> None:
    """Report shares for which the levels below leave no samples."""
    given = {level.key(cells[number].stratum) for number in left}
    lost: dict[str, int] = {}
    for number in before:
        if (name := level.key(cells[number].stratum)) not in given:
            lost[name] = lost.get(name, 0) + cells[number].available.samples
    shares = level.shares.by_name
    for entry in level.shares.shares.entries:
        if entry.key in lost:
            message = (
                f"{level.what} {shown(entry.key)} has a share of {shares[entry.key]:g}, but the levels below it leave "
                f"out all of its {lost[entry.key]:,} samples: change them, or set the share to 0"
            )
            problems.add(entry.place, level.setting, of_stage(stage) + message)


def _nothing_left(cells: Sequence[Cell], stage: StageConfig, unit: Unit) -> str:
    whole = _whole(cells, range(len(cells)), unit)
    bands = f", and the bands of {stage.bands.by}" if stage.bands is not None else ""
    return f"no sample may be taken: nothing of {whole} has a share; compare the shares of all levels{bands}"


def _whole(cells: Sequence[Cell], numbers: Sequence[int], unit: Unit) -> str:
    return counted(sum((cells[number].available for number in numbers), Amount()), unit)
