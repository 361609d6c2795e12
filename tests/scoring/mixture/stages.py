"""Stages from the text of a recipe, and cells from a line each."""

from collections.abc import Mapping

from winnow.schemas.mixture import Amount, Stratum
from winnow.schemas.problems import Problems
from winnow.schemas.recipe import MixConfig, StageConfig, build_config
from winnow.schemas.recipe.nodes import parse_yaml
from winnow.scoring.mixture.allocation import Cell


def stage(text: str = "{}", number: int = 0) -> StageConfig:
    """The stage that a mixture of this text has."""
    problems = Problems()
    node = parse_yaml(text, "recipe.yaml", problems)
    problems.stop_if_any()
    return build_config(MixConfig, node, "mix").outputs[number]


def cell(path: str, units: int, exposed: int = 0, score: float | None = None, repeats: int | None = None) -> Cell:
    """A cell of `class/source/family/language/band`; what is not written is the same for all."""
    names = [*path.split("/"), "", "", "", "", ""]
    defaults = ("web", "crawl", "Germanic", "deu", "")
    stratum = Stratum(*(name or default for name, default in zip(names, defaults, strict=False)))
    return Cell(stratum, Amount(units // 2 or min(units, 1), units), exposed, score, repeats)


def sources(units: Mapping[str, int]) -> list[Cell]:
    """A cell for each source."""
    return [cell(f"/{name}", count) for name, count in units.items()]


def languages(units: Mapping[str, int]) -> list[Cell]:
    """A cell for each language of one family."""
    return [cell(f"///{name}", count) for name, count in units.items()]


def families(units: Mapping[str, int]) -> list[Cell]:
    """A cell for each family, which has one language."""
    return [cell(f"//{name}/{name}", count) for name, count in units.items()]
