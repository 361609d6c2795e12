"""What the rules decide on a store that is shown: pinned once, with the representatives of duplicates chosen once.

A store whose rules cannot be decided, or that is opened without a recipe, is shown all the same, without decisions.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from winnow.pipelines.binding.rules import MEASURED_LANGUAGES, RuleProgram
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.rules.deciding import choose_representatives
from winnow.pipelines.rules.pinning import PinnedProgram, pin
from winnow.pipelines.rules.representatives.replaced import NO_DUPLICATES, Duplicates
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.running.job_tasks import HERE
from winnow.pipelines.store import layout
from winnow.runners.inspect.opened import Opened
from winnow.runners.stages.rule_decisions import first_of, rule_decisions
from winnow.schemas.errors import RecipeError

NO_RECIPE = "what the rules keep is not known without a recipe; run: winnow inspect RECIPE"

_LANGUAGES = tuple(Column(*name.rsplit(".", 1)) for name in MEASURED_LANGUAGES)
_SIZE = Column("text.length", "bytes")


@dataclass(frozen=True)
class DecidedStore:
    """Every shard of the generation, with the rules that decide it."""

    pinned: PinnedProgram
    duplicates: Duplicates = NO_DUPLICATES
    undecided: str | None = None  # why there are no rules; all rows pass

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of the rules by number."""
        return self.pinned.program.reasons

    @property
    def nbytes(self) -> int:
        """The bytes of the rows that representatives replace."""
        found, of_items = self.duplicates, self.duplicates.lost_items.values()
        pairs = (*found.replacements.values(), *of_items)
        return sum(one.nbytes for one in (*found.lost.values(), *(words for pair in pairs for words in pair)))


def decided_store(opened: Opened) -> DecidedStore:
    """The rules and the representatives, found once."""
    return opened.kept.get("decided store", partial(_decided, opened))


def _decided(opened: Opened) -> DecidedStore:
    if opened.recipe is None:
        return _unruled(opened, NO_RECIPE)
    try:
        pinned = pinned_rules(opened.recipe, opened.store, opened.generation, (layout.SAMPLES,))
        assert pinned is not None  # as more than nothing is asked for
        return DecidedStore(pinned, choose_representatives(pinned))
    except RecipeError as error:  # a layer is not there yet, or a rule is null for a row: `winnow plan` says all of it
        return _unruled(opened, first_of(error))


def rules_summary(opened: Opened) -> RulesSummary | None:
    """What each rule drops, as `winnow plan` says it; None if that is not decided."""
    return opened.kept.get("rules summary", partial(_summary, opened)).summary


@dataclass(frozen=True)
class _Summary:
    summary: RulesSummary | None
    nbytes: int = 1 << 20


def _summary(opened: Opened) -> _Summary:
    decided = decided_store(opened)
    if opened.recipe is None or decided.undecided is not None:
        return _Summary(None)
    found = rule_decisions(opened.recipe, opened.generation, decided.pinned, jobs=HERE)
    return _Summary(found.summary_if_decided)


def _unruled(opened: Opened, why: str) -> DecidedStore:
    program = RuleProgram((), (), (), languages=_LANGUAGES, size=_SIZE)
    with suppress(RecipeError):  # of a recipe that names what does not exist, which is why nothing is decided
        if opened.recipe is not None:
            program = replace(program, languages=opened.recipe.rules.languages, size=opened.recipe.rules.size)
    there = [layer for layer in opened.generation.layers if layer not in opened.generation.partial]
    known = tuple(column for column in program.languages if column.layer in there)
    size = program.size if program.size is not None and program.size.layer in there else None
    return DecidedStore(
        pin(opened.store, opened.generation, replace(program, languages=known, size=size)), undecided=why
    )
