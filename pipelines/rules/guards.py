"""Alarms for heavy losses to duplicates and guarded rules, and for huge clusters: a plan stops until they are accepted.

A faulty search, for example over pages of one template, removes a whole source and looks like any other result. So a
loss above a bound raises an alarm until the recipe accepts such a loss.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.rules.deciding import UNKNOWN
from winnow.pipelines.rules.decisions import DecisionCounts
from winnow.pipelines.rules.representatives.candidates import LargeCluster
from winnow.pipelines.rules.representatives.replaced import NONE_COMPARED, UnequalTexts
from winnow.schemas.counts import count_of
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Problem, recipe_error
from winnow.schemas.recipe import DedupeConfig, GuardConfig
from winnow.schemas.recipe.dedupe import AcceptedLoss
from winnow.schemas.rows.duplicates import Kind

LEAST_ADDRESSES = 20
"""Samples dropped for an equal address that are enough for an alarm: half of so many are no chance."""

GUARDED_LOSS = 0.5
"""The share of a source that a guarded rule may drop, or a guarded edit cut, without an alarm."""

LossOf: TypeAlias = Literal["source", "language", "cluster", "clusters", "addresses", "rule", "edit"]


@dataclass(frozen=True, slots=True)
class Loss:
    """How many of the eligible rows are lost as duplicates."""

    eligible: int
    lost: int

    def __add__(self, other: "Loss") -> "Loss":
        return Loss(self.eligible + other.eligible, self.lost + other.lost)

    @property
    def share(self) -> float:
        """The lost share of eligible rows."""
        return self.lost / self.eligible if self.eligible else 0.0


@dataclass(frozen=True, slots=True)
class Alarm:
    """A loss or cluster that the recipe has not accepted."""

    of: LossOf
    name: str
    message: str
    bound: float  # the smallest bound that accepts it: a share, or a number of texts


def find_alarms(
    config: DedupeConfig,
    max_cluster: Mapping[Kind, int],
    sources: Mapping[str, Loss],
    languages: Mapping[str, Loss],
    large: Sequence[LargeCluster] = (),
    large_count: int = 0,
    addresses: UnequalTexts = NONE_COMPARED,
) -> tuple[Alarm, ...]:
    """Find every loss and every cluster above its bound.

    `max_cluster`: the bound of each kind; `sources` and `languages`: their losses; `large`: the largest unaccepted
    clusters above the bound, of `large_count`; `addresses`: what samples with equal addresses hold.
    """
    guard = config.guard
    alarms = _losses(config, "source", sources, guard.sources)
    alarms += _losses(config, "language", languages, guard.languages)
    kinds = [find_kind(kind) for kind in max_cluster]
    members = {kind.distinct: kind.members for kind in kinds}
    for cluster in large:
        of_what = members.get(cluster.of, "rows")
        message = f"the cluster {cluster.id} has {cluster.texts:,} different {cluster.of} in {cluster.rows:,} {of_what}"
        alarms.append(Alarm("cluster", cluster.id, message, cluster.texts))
    if more := large_count - len(large):
        bounds = " or ".join(f"{max_cluster[kind.name]:,} different {kind.distinct}" for kind in kinds)
        message = f"{count_of(more, 'more cluster has', 'more clusters have')} more than {bounds} each"
        alarms += [
            Alarm("clusters", kind, message, large[-1].texts if large else most) for kind, most in max_cluster.items()
        ]
    if addresses.compared >= min(guard.min_rows, LEAST_ADDRESSES) and addresses.share > guard.max_unequal:
        message = (
            f"{addresses.unequal:,} of {addresses.compared:,} samples ({100 * addresses.share:.1f} %) that are dropped "
            "for an equal address hold another text than the one that stays; if they are other pages, switch off the "
            "rule of url: {canonical: …} that makes their addresses equal"
        )
        alarms.append(Alarm("addresses", "", message, _rounded_up(addresses.unequal, addresses.compared)))
    return tuple(alarms)


def find_rule_alarms(
    rules: Sequence[ProgramRule], guarded: Collection[str], counts: DecisionCounts, min_rows: int
) -> tuple[Alarm, ...]:
    """Find every source of which a guarded rule drops more than half, as where an evaluation set is the corpus."""
    watched = {number: one.rule.reason for number, one in enumerate(rules) if one.rule.reason in guarded}
    losses: dict[tuple[str, int], Loss] = {}
    for outcome, tally in counts if watched else ():
        if not outcome.fired >> len(rules):  # not forgotten
            for number in watched:
                lost = tally.rows if outcome.fired >> number & 1 else 0
                losses[outcome.source, number] = losses.get((outcome.source, number), Loss(0, 0)) + Loss(
                    tally.rows, lost
                )
    return tuple(
        Alarm(
            "rule",
            watched[number],
            f"{watched[number]} drops {loss.lost:,} of {loss.eligible:,} samples of the source {source} "
            f"({100 * loss.share:.1f} %); if its evaluation sets are not the corpus itself, accept it with "
            f"loss_alarms: {{expected: [{watched[number]}]}}",
            _rounded_up(loss.lost, loss.eligible),
        )
        for (source, number), loss in sorted(losses.items())
        if loss.eligible >= min_rows and loss.share > GUARDED_LOSS
    )


def find_edit_alarms(layers: Sequence[str], counts: DecisionCounts, min_rows: int) -> tuple[Alarm, ...]:
    """Find every source and language of which guarded edits cut more than half the words that rules keep.

    `layers`: those of the edits' spans.
    """
    losses: dict[tuple[str, str], tuple[int, Loss]] = {}
    for outcome in counts.table.to_pylist() if layers else ():
        if not int.from_bytes(outcome["fired"], "big"):
            for group in (("source", outcome["source"]), ("language", outcome["language"])):
                rows, loss = losses.get(group, (0, Loss(0, 0)))
                losses[group] = rows + outcome["rows"], loss + Loss(outcome["words"], outcome["cut"])
    losses.pop(("language", UNKNOWN), None)  # not a language
    return tuple(
        Alarm(
            "edit",
            name,
            f"edits by {' and '.join(layers)} cut {loss.lost:,} of {loss.eligible:,} words that the rules keep of the "
            f"{of} {name} ({100 * loss.share:.1f} %); if its evaluation sets are not the corpus itself, accept it with "
            f"loss_alarms: {{expected: [{', '.join(layers)}]}}",
            _rounded_up(loss.lost, loss.eligible),
        )
        for (of, name), (rows, loss) in sorted(losses.items(), key=lambda one: (one[0][0] != "source", one[0]))
        if rows >= min_rows and loss.share > GUARDED_LOSS
    )


def settings_to_accept(config: DedupeConfig, alarms: Iterable[Alarm]) -> str:
    """Return the settings under `dedupe` that accept all alarms, including the recipe's current settings."""
    guard, plain = config.guard, GuardConfig()
    bounds: dict[str, dict[str, str]] = {
        "sources": {source.name: f"{{max_loss: {source.max_loss:g}}}" for source in guard.sources},
        "languages": {language.name: f"{{max_loss: {language.max_loss:g}}}" for language in guard.languages},
        "clusters": {cluster.name: f"{{max_cluster: {cluster.max_cluster}}}" for cluster in guard.clusters},
    }
    parts, unequal = [], guard.max_unequal
    for alarm in alarms:
        if alarm.of == "cluster":
            bounds["clusters"][alarm.name] = f"{{max_cluster: {alarm.bound}}}"
        elif alarm.of == "clusters":
            parts.append(f"{alarm.name}: {{max_cluster: {alarm.bound}}}")
        elif alarm.of == "addresses":
            unequal = alarm.bound
        else:
            bounds[f"{alarm.of}s"][alarm.name] = f"{{max_loss: {alarm.bound:g}}}"
    written = [f"max_loss: {guard.max_loss:g}"] if guard.max_loss != plain.max_loss else []
    written += [f"max_unequal: {unequal:g}"] if unequal != plain.max_unequal else []
    written += [f"min_rows: {guard.min_rows}"] if guard.min_rows != plain.min_rows else []
    written += [
        f"{key}: {{{', '.join(f'{name}: {bound}' for name, bound in named.items())}}}"
        for key, named in bounds.items()
        if named
    ]
    return " and ".join([f"guard: {{{', '.join(written)}}}", *parts] if written else parts)


def require_accepted(config: DedupeConfig, alarms: Sequence[Alarm], recipe: str) -> None:
    """Raise RecipeError if there are alarms: a line for each, and one with the settings that would accept all of
    them."""
    if alarms:
        listed = recipe_error(Problem(config.place, "dedupe", alarm.message) for alarm in alarms)
        raise RecipeError(
            f"{listed}\n{config.place}: dedupe: to see them, run: winnow duplicates {recipe}; to accept them, write "
            f"under 'dedupe': {settings_to_accept(config, alarms)}"
        )


def _losses(
    config: DedupeConfig, of: LossOf, losses: Mapping[str, Loss], accepted: Iterable[AcceptedLoss]
) -> list[Alarm]:
    bounds = {one.name: one.max_loss for one in accepted}
    alarms = []
    for name, loss in sorted(losses.items()):
        if loss.eligible >= config.guard.min_rows and loss.share > bounds.get(name, config.guard.max_loss):
            message = (
                f"the {of} {name} loses {loss.lost:,} of {loss.eligible:,} eligible samples "
                f"({100 * loss.share:.1f} %) as duplicates"
            )
            alarms.append(Alarm(of, name, message, _rounded_up(loss.lost, loss.eligible)))
    return alarms


def _rounded_up(part: int, whole: int) -> float:
    return -(-part * 1000 // whole) / 1000
