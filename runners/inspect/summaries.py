"""The summaries of a store, of what its rules decide, and of the mixture drawn from it: read once for all views."""

from dataclasses import dataclass

from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.running.job_tasks import HERE
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.stages.opening import open_console
from winnow.runners.stages.reports.summarise import summarise
from winnow.runners.stages.reports.writing import mixture_if_drawn
from winnow.runners.stages.rule_decisions import rule_decisions
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.summary import StoreSummary

_BYTES = 1 << 20


@dataclass(frozen=True)
class _Summary:
    summary: StoreSummary
    nbytes: int = _BYTES


@dataclass(frozen=True)
class _Rules:
    rules: RulesSummary | None
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


def rules_summary(opened: Opened) -> RulesSummary | None:
    """What each rule drops, as `winnow plan` says it; None if that is not decided."""

    def made() -> _Rules:
        frame = frame_of(opened)
        if opened.recipe is None or frame.why_no_rules is not None:
            return _Rules(None)
        found = rule_decisions(opened.recipe, opened.generation, frame.pinned, jobs=HERE)
        return _Rules(found.summary_if_decided)

    return opened.kept.get("rules summary", made).rules
