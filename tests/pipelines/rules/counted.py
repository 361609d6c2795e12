"""Counts the decisions of rules over all shards of a store."""

from winnow.pipelines.rules.deciding import choose_representatives, decide
from winnow.pipelines.rules.decisions import DecisionCounts
from winnow.pipelines.rules.pinning import PinnedProgram


def count_decisions(pinned: PinnedProgram, threads: int | None = None) -> DecisionCounts:
    duplicates = choose_representatives(pinned, threads)
    return DecisionCounts.merged(decisions.counts for decisions in decide(pinned, threads, duplicates))
