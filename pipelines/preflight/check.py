"""What a check is, what it can need, and how all checks that need the same are made."""

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib import import_module
from itertools import groupby
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.ingest.planning.stage import SourcePlan
from winnow.pipelines.mix.plans import WHOLE
from winnow.pipelines.preflight import checks
from winnow.pipelines.preflight.sampler import Sampler
from winnow.pipelines.rules.summary import RulesSummary
from winnow.schemas.problems import Problem, recipe_error

Stage: TypeAlias = Literal["ingest", "annotate", "dedupe", "score", "mix", "export"]
Finding: TypeAlias = Problem | str
"""Why the command is refused, or a note for the user. A check of files raises a WinnowError of its own instead."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What a command is about to do, as far as some checks need to know it."""

    recipe: BoundRecipe
    last: Stage = "export"
    """The last stage that is to run: what only later ones need is not checked."""
    is_plan: bool = False  # nothing is to run: what a run would replace is only noted, and remarks are made


class WholeRecipe(About):
    """The recipe and its files; nothing of the store or the sources is read."""


@dataclass(frozen=True, kw_only=True)
class AskedOperators(About):
    """Operators that are about to run, and those of them that have not run for this store."""

    operators: Sequence[BoundOperator]
    untried: Sequence[BoundOperator]


@dataclass(frozen=True, kw_only=True)
class AskedScores(About):
    """Scores that are about to be computed."""

    scores: Sequence[BoundScore]


@dataclass(frozen=True, kw_only=True)
class NewInput(About):
    """Sources whose new files are about to be read. It concerns each later stage, so all checks of it are made."""

    context: IngestContext
    plans: Sequence[SourcePlan]

    @cached_property
    def is_first(self) -> bool:
        """Whether nothing is ingested yet; else what the store holds is known better."""
        return self.context.store.latest_record() is None

    @cached_property
    def sampler(self) -> Sampler:
        """Reads the first records of their files."""
        return Sampler()


@dataclass(frozen=True, kw_only=True)
class ExportFolders(About):
    """The folders that are about to be written."""

    replace: bool = False
    sample: Fraction | None = WHOLE
    growing: bool = False  # there is new input, so the latest plan is not the next one


@dataclass(frozen=True, kw_only=True)
class DecidedRules(About):
    """What the rules decide on all samples, which are measured."""

    rules: RulesSummary


Needed = TypeVar("Needed", bound=About)


@dataclass(frozen=True)
class Check(Generic[Needed]):
    """One check. It is made by `winnow plan` and by each command that is about to use what it needs."""

    name: str
    needs: type[Needed]
    find: Callable[[Needed], Iterable[Finding]]
    stage: Stage = "ingest"  # the first stage that would fail
    order: int = 5  # lower ones first; those of one number are reported together, and later ones may rely on them
    of_plan: bool = False  # a remark that a run does not repeat


@cache
def every_check() -> tuple[Check[Any], ...]:
    """The checks of each module in `checks/`, in the order in which they are made."""
    modules = [import_module(f"{checks.__name__}.{one.name}") for one in pkgutil.iter_modules(checks.__path__)]
    return tuple(sorted((one for module in modules for one in module.CHECKS), key=lambda one: one.order))


def findings(about: About) -> Iterator[tuple[str, Finding]]:
    """What the checks find that need this, each with the name of its check, up to the first that refuse it."""
    stages = get_args(Stage)
    due = (
        one
        for one in every_check()
        if one.needs is type(about)
        and stages.index(one.stage) <= stages.index(about.last)
        and (about.is_plan or not one.of_plan)
    )
    for _, together in groupby(due, key=lambda one: one.order):
        found = [(check.name, finding) for check in together for finding in check.find(about)]
        yield from found
        if any(isinstance(finding, Problem) for _, finding in found):
            return


def preflight(about: About) -> list[str]:
    """Make every check that needs this, and return their notes.

    Raises:
        RecipeError: Something would fail, or match nothing, with one line for each problem.
        WinnowError: Files are not as the recipe says.
    """
    found = [finding for _, finding in findings(about)]
    if problems := [one for one in found if isinstance(one, Problem)]:
        raise recipe_error(dict.fromkeys(problems))
    return [one for one in found if isinstance(one, str)]
