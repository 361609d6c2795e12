"""What a recipe's rules decide on its store: read from the record that is kept, or decided in tasks and then kept."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.query.recipe_rules import pinned_if_measured, pinned_rules
from winnow.pipelines.rules.coverage import SafetyCoverage, coverage_of, detectors_of
from winnow.pipelines.rules.deciding import DROPPED_SAMPLES
from winnow.pipelines.rules.decision_tasks import decision_tasks
from winnow.pipelines.rules.kept_decisions import DecisionRequest, KeptDecisions, find_decisions, keep_decisions
from winnow.pipelines.rules.listed_samples import ListedSample
from winnow.pipelines.rules.near_thresholds import NearThreshold, SampleFilter, counted_thresholds, near_thresholds
from winnow.pipelines.rules.pinning import PinnedProgram, pin_no_rules
from winnow.pipelines.rules.representatives.replaced import Duplicates
from winnow.pipelines.rules.score_overlaps import ScoreOverlap
from winnow.pipelines.rules.summary import RulesSummary, summarise_rules
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.store.generations import Store
from winnow.runners.facts.sites import SiteLine, site_lines
from winnow.runners.stages.lists.whole_file import require_writable, whole_parquet
from winnow.runners.stages.running.command_jobs import command_jobs
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.problems import suggestion
from winnow.schemas.records import Generation

if TYPE_CHECKING:
    from winnow.runners.engines.engine import Engine


@dataclass(frozen=True, slots=True)
class DuplicateDrops:
    """Which of some rows the plan drops as duplicates."""

    reasons: Mapping[str, str] | None  # by id of each dropped row; None if that cannot be decided
    undecided: str | None = None  # why it cannot be decided
    stays: Mapping[str, str] = field(default_factory=dict)  # the row kept instead, by id of the dropped row


@dataclass(frozen=True)
class RuleDecisions:
    """What rules decide on a generation."""

    asked: DecisionRequest
    kept: KeptDecisions
    rules: bool = True  # False if only scores are compared, as there are no rules or they cannot run

    @property
    def summary_if_decided(self) -> RulesSummary | None:
        """What each rule drops; None if there are no rules, or if one cannot be decided for a row."""
        return self.summary if self.rules and self.kept.undecided is None else None

    @property
    def undecided(self) -> str | None:
        """Why a rule cannot be decided for a row, in a line; None if all are."""
        if not self.rules or self.kept.undecided is None:
            return None
        return str(self.kept.undecided.error(self.asked.pinned.program)).splitlines()[0]

    @property
    def summary(self) -> RulesSummary:
        """What each rule drops; UndecidedError if a rule cannot be decided for a row."""
        if self.kept.undecided is not None:
            raise self.kept.undecided.error(self.asked.pinned.program)
        large = Duplicates(large=self.kept.large, large_count=self.kept.large_count, addresses=self.kept.addresses)
        counts, items = self.kept.outcomes.counts, self.kept.items.counts
        number = self.asked.generation.number
        return summarise_rules(self.asked.pinned, counts, number, large, items, self.kept.sites)

    @property
    def coverage(self) -> SafetyCoverage | None:
        """Detector coverage of the kept samples; None if the recipe has no detectors of harm."""
        detectors = self.asked.detectors
        return None if detectors is None else coverage_of(detectors, self.kept.coverage)

    @property
    def sites(self) -> tuple[SiteLine, ...]:
        """What is kept of large sites."""
        return site_lines(self.kept.sites, self.asked.pinned.program.reasons)

    @property
    def overlaps(self) -> tuple[ScoreOverlap, ...]:
        """How the drops of scores overlap with those of rules and of other scores."""
        return self.kept.overlaps

    @property
    def counted_thresholds(self) -> list[NearThreshold]:
        """The thresholds of the rules, without samples."""
        return counted_thresholds(self.asked.pinned, self.kept.thresholds)

    def thresholds(self, text: tuple[str, ...], reason: str = "") -> list[NearThreshold]:
        """The thresholds of the rules, or of those with one reason, with the samples nearest to them."""
        return near_thresholds(self.asked.pinned, self.asked.generation, text, self.kept.thresholds, reason)


def rule_decisions(
    recipe: BoundRecipe,
    generation: Generation,
    pinned: PinnedProgram,
    engine: "Engine | None" = None,
    console: Console | None = None,
    jobs: Jobs | None = None,
) -> RuleDecisions:
    """What a recipe's rules decide: as kept in the store, else decided and kept.

    `pinned`: the recipe's rules, pinned to the generation; `engine`: where the rows of a large store are decided;
    `console`: the error output if not given; `jobs`: where they are decided instead.
    """
    asked = _asked(recipe, generation, pinned)
    kept = find_decisions(asked)
    if kept is None:
        jobs = jobs or command_jobs(pinned.store, "rules", engine, console)
        with jobs.folder("rules") as steps:
            kept = decision_tasks(asked, steps).decided(asked, jobs)
        keep_decisions(asked, kept)
    return RuleDecisions(asked, kept)


def decisions_if_kept(recipe: BoundRecipe | None, store: Store, generation: Generation) -> RuleDecisions | None:
    """What the rules decide, if the store keeps it already."""
    pinned = pinned_if_measured(recipe, store, generation)
    if recipe is None or pinned is None:
        return None
    asked = _asked(recipe, generation, pinned)
    kept = find_decisions(asked)
    return None if kept is None else RuleDecisions(asked, kept)


def thresholds_among(
    decided: RuleDecisions, text: tuple[str, ...], among: SampleFilter, reason: str = ""
) -> list[NearThreshold]:
    """The thresholds of the rules, with the samples nearest to them among some; the result is not kept."""
    require_among(decided, among)
    asked = decided.asked
    jobs = command_jobs(asked.pinned.store, "rules")
    with jobs.folder("rules") as steps:
        sides = replace(decision_tasks(asked, steps), among=among).thresholds(jobs)
    return near_thresholds(asked.pinned, asked.generation, text, sides, reason)


def require_among(decided: RuleDecisions, among: SampleFilter) -> None:
    """Check that the store has the source or language, and the rules the reason, that a choice of samples names;
    else WinnowError."""
    outcomes, pinned = decided.kept.outcomes, decided.asked.pinned
    sources = {shard.source for shard in pinned.shards}
    languages = set(outcomes.language) if outcomes.rows else {among.language}
    for flag, name, known in (
        ("--source", among.source, sources),
        ("--language", among.language, languages),
        ("--reason", among.reason, {*pinned.program.reasons}),
    ):
        if name and name not in known:
            raise WinnowError(f"{flag} {name}: there is none{suggestion(name, known)}")


def listed_samples(
    decided: RuleDecisions, among: SampleFilter, most: int, console: Console | None = None
) -> tuple[ListedSample, ...]:
    """Some samples of a reason, a language and a source."""
    jobs = command_jobs(decided.asked.pinned.store, "rules", None, console)
    with jobs.folder("rules") as steps:
        return replace(decision_tasks(decided.asked, steps), among=among, most=most).listed(jobs)


def write_dropped(
    decided: RuleDecisions, file: Path, engine: "Engine | None" = None, console: Console | None = None
) -> None:
    """Write one row per dropped sample to a Parquet file, atomically; tasks decide the rows of a large store.

    UndecidedError if a rule cannot be decided for a row.
    """
    require_writable("--decisions", file)
    _ = decided.summary  # raises if a rule cannot be decided
    jobs = command_jobs(decided.asked.pinned.store, "rules", engine, console)
    with jobs.folder("rules") as steps, whole_parquet(file, DROPPED_SAMPLES) as writer:
        for rows in decision_tasks(decided.asked, steps).dropped(jobs):
            writer.write_batch(rows)


def decisions_if_any(
    recipe: BoundRecipe | None,
    store: Store,
    generation: Generation,
    engine: "Engine | None" = None,
    console: Console | None = None,
) -> RuleDecisions | None:
    """What the rules decide, and how scores compare; None if there is nothing of both, or it is not measured yet."""
    if recipe is None:
        return None
    pinned = pinned_if_measured(recipe, store, generation)
    if pinned is not None:
        return rule_decisions(recipe, generation, pinned, engine, console)
    if sum(entry.layer in generation.layers for entry in recipe.config.score) < 2:
        return None
    pinned = pin_no_rules(store, generation)
    return replace(rule_decisions(recipe, generation, pinned, engine, console), rules=False)


def representatives(pinned: PinnedProgram, generation: Generation, shards: Iterable[str]) -> Duplicates:
    """Choose the representatives of duplicates, and return which rows of some shards they replace; tasks read the rows
    of a large store.

    UndecidedError if a rule of `eligible` cannot be decided for a row.
    """
    jobs = command_jobs(pinned.store, "rules")
    with jobs.folder("rules") as steps:
        tasks = decision_tasks(DecisionRequest(pinned, generation, None, ()), steps)
        _, why = tasks.prepare(jobs)
        if why is not None:
            raise why.error(pinned.program)
        return tasks.replaced_in(shards)


def duplicate_drops(
    recipe: BoundRecipe | None, store: Store, generation: Generation, places: Iterable[Place]
) -> DuplicateDrops:
    """Which rows the plan drops as duplicates; other rules may drop more of them."""
    if recipe is None:
        return DuplicateDrops(None, "that needs the recipe; give it instead of the store")
    try:
        pinned = pinned_rules(recipe, store, generation)
        if pinned is None or pinned.program.choice is None:
            return DuplicateDrops({})
        listed = list(places)
        duplicates = representatives(pinned, generation, [place.shard.shard for place in listed])
    except RecipeError as error:
        return DuplicateDrops(None, first_of(error))
    return drops_of(pinned, duplicates, listed)


def first_of(error: RecipeError) -> str:
    """The first line of an error that may have many."""
    first, *others = str(error).splitlines()
    return f"{first} (and {len(others)} more; see winnow plan)" if others else first


def drops_of(pinned: PinnedProgram, duplicates: Duplicates, places: Iterable[Place]) -> DuplicateDrops:
    """Which rows are dropped as duplicates, where representatives are chosen already."""
    reasons = {rule.rule.drop: rule.rule.reason for rule in pinned.program.rules if rule.phase == "dedupe"}
    found: dict[str, str] = {}
    stays: dict[str, str] = {}
    for place in places:
        marks = duplicates.of(place.shard.shard, place.shard.rows)
        lost = next((name for name, rows in marks.items() if rows[place.row]), None)
        if lost is not None:
            found[place.id] = reasons[lost]
            stays[place.id] = duplicates.replacement_ids(place.shard.shard, place.shard.rows)[place.row].as_py().hex()
    return DuplicateDrops(found, stays=stays)


def _asked(recipe: BoundRecipe, generation: Generation, pinned: PinnedProgram) -> DecisionRequest:
    detectors = detectors_of(recipe.operators) if recipe.config.annotate else ()
    there = tuple(detector for detector in detectors if detector.column.layer in generation.layers)
    scores = tuple(entry.layer for entry in recipe.config.score if entry.layer in generation.layers)
    return DecisionRequest(pinned, generation, there if detectors else None, scores)
