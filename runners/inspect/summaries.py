"""The summary of a store and the mixture that is drawn from it, read once for all views."""

from dataclasses import dataclass

from winnow.runners.inspect.opened import Opened
from winnow.runners.stages.opening import open_console
from winnow.runners.stages.reports.summarise import summarise
from winnow.runners.stages.reports.writing import mixture_if_drawn
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.summary import StoreSummary

_BYTES = 1 << 20


@dataclass(frozen=True)
class _Summary:
    summary: StoreSummary
    nbytes: int = _BYTES


@dataclass(frozen=True)
class _Plan:
    plan: MixturePlan | None
    nbytes: int = _BYTES


def store_summary(opened: Opened) -> StoreSummary:
    """What `winnow stats` says of the generation."""

    def made() -> _Summary:
        return _Summary(summarise(opened.store, opened.generation, opened.recipe, console=open_console(quiet=True)))

    return opened.kept.get("store summary", made).summary


def drawn_mixture(opened: Opened) -> MixturePlan | None:
    """The mixture that the recipe asks for, if it is drawn."""

    def made() -> _Plan:
        return _Plan(mixture_if_drawn(opened.store, opened.generation, opened.recipe))

    return opened.kept.get("mixture", made).plan
