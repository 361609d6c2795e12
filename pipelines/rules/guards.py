"""What a person must have looked at before a plan goes on: sources and languages that duplicates empty, huge clusters.

A search that goes wrong, say over pages of one template, takes a whole source with it and looks like any other result.
So a loss above a bound is an alarm, and it stays one until the recipe says that so much is meant.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from winnow.pipelines.rules.representatives import LargeCluster
from winnow.schemas.places import Problem, recipe_error
from winnow.schemas.recipe import DedupeConfig
from winnow.schemas.recipe.dedupe import AcceptedLoss

What: TypeAlias = Literal["source", "language", "cluster"]


@dataclass(frozen=True, slots=True)
class Loss:
    """How many of the rows that might stay go as duplicates."""

    eligible: int
    lost: int

    def __add__(self, other: "Loss") -> "Loss":
        return Loss(self.eligible + other.eligible, self.lost + other.lost)

    @property
    def share(self) -> float:
        """Of those that might stay."""
        return self.lost / self.eligible if self.eligible else 0.0


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that the recipe has not accepted."""

    of: What
    name: str
    said: str
    accept: str  # what the recipe would say to accept it


def find_alarms(
    config: DedupeConfig,
    sources: Mapping[str, Loss],
    languages: Mapping[str, Loss],
    large: Sequence[LargeCluster] = (),
    larger: int = 0,
) -> tuple[Alarm, ...]:
    """Every loss and every cluster above its bound.

    Args:
        config: The bounds, and what is accepted.
        sources: What each source loses.
        languages: What each language loses.
        large: The largest clusters above the cap that are not accepted.
        larger: How many of these there are in all.
    """
    guard = config.guard
    alarms = _losses(config, "source", "sources", sources, guard.sources)
    alarms += _losses(config, "language", "languages", languages, guard.languages)
    for cluster in large:
        said = f"the cluster {cluster.id} has {cluster.texts:,} different texts in {cluster.rows:,} rows"
        accept = f"dedupe.guard.clusters: {{{cluster.id}: {{max_cluster: {cluster.texts}}}}}"
        alarms.append(Alarm("cluster", cluster.id, said, accept))
    if more := larger - len(large):
        said = f"{more:,} more clusters have up to {large[-1].texts:,} different texts each"
        alarms.append(Alarm("cluster", "", said, f"dedupe.near.max_cluster: {large[-1].texts}"))
    return tuple(alarms)


def require_accepted(config: DedupeConfig, alarms: Sequence[Alarm], recipe: str) -> None:
    """Refuse to go on from a plan whose alarms the recipe, a file, does not accept.

    Raises:
        RecipeError: One line an alarm, with what would accept it.
    """
    if alarms:
        raise recipe_error(
            Problem(
                config.place,
                "dedupe",
                f"{alarm.said}; look at: winnow duplicates {recipe}; to accept it write {alarm.accept}",
            )
            for alarm in alarms
        )


def _losses(
    config: DedupeConfig, of: What, key: str, losses: Mapping[str, Loss], accepted: Iterable[AcceptedLoss]
) -> list[Alarm]:
    bounds = {one.name: one.max_loss for one in accepted}
    alarms = []
    for name, loss in sorted(losses.items()):
        if loss.eligible >= config.guard.min_rows and loss.share > bounds.get(name, config.guard.max_loss):
            said = (
                f"the {of} {name} loses {loss.lost:,} of {loss.eligible:,} eligible samples ({loss.share:.1%}) as "
                "duplicates"
            )
            bound = -(-loss.lost * 1000 // loss.eligible) / 1000
            alarms.append(Alarm(of, name, said, f"dedupe.guard.{key}: {{{name}: {{max_loss: {bound:g}}}}}"))
    return alarms
