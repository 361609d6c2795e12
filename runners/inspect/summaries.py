"""The summaries of a store, of what its rules decide, and of the mixture drawn from it: read once for all views."""

from dataclasses import dataclass
from typing import Final

from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.running.job_tasks import HERE
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.stages.reports.summarise import ingested_total
from winnow.runners.stages.reports.writing import mixture_if_drawn
from winnow.runners.stages.rule_decisions import decisions_if_kept, rule_decisions
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.summary import SourceSummary

MOST_DECIDED: Final = 4_096
"""Shards that are decided again for a summary of their rules."""

_BYTES = 1 << 20


@dataclass(frozen=True)
class _Ingested:
    total: SourceSummary
    nbytes: int = _BYTES


@dataclass(frozen=True)
class _Rules:
    rules: RulesSummary | None
    nbytes: int = _BYTES


@dataclass(frozen=True)
class _Plan:
    plan: MixturePlan | None
    nbytes: int = _BYTES


def ingested(opened: Opened) -> SourceSummary:
    """What became of the records of all sources at ingest."""
    return opened.kept.get("ingested", lambda: _Ingested(ingested_total(opened.store, opened.generation))).total


def drawn_mixture(opened: Opened) -> MixturePlan | None:
    """The mixture that the recipe asks for, if it is drawn."""

    def made() -> _Plan:
        return _Plan(mixture_if_drawn(opened.store, opened.generation, opened.recipe))

    return opened.kept.get("mixture", made).plan


def rules_summary(opened: Opened) -> RulesSummary | None:
    """What each rule drops, as `winnow plan` says it; None if that is not decided, and of very many shards if no plan
    has been made of them: it takes minutes, for which a page does not wait."""

    def made() -> _Rules:
        frame = frame_of(opened)
        if opened.recipe is None or frame.why_no_rules is not None:
            return _Rules(None)
        if len(frame.shards) > MOST_DECIDED:
            decided = decisions_if_kept(opened.recipe, opened.store, opened.generation)
            return _Rules(None if decided is None else decided.summary_if_decided)
        found = rule_decisions(opened.recipe, opened.generation, frame.pinned, jobs=HERE)
        return _Rules(found.summary_if_decided)

    return opened.kept.get("rules summary", made).rules
