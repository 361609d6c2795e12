"""What the stage that decides says of its fits."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from rich.console import Console

from tests.messages import assert_told
from tests.scoring.selection.test_label_model import weak_votes
from winnow.pipelines.score.deciding.measuring import FittedGroup
from winnow.pipelines.score.deciding.records import DecidedGroup, DecisionRecord, Distribution
from winnow.pipelines.score.deciding.voting import _decided, _GroupVotes
from winnow.runners.stages.deciding import _print_result
from winnow.scoring.selection.binarise import Cut
from winnow.scoring.selection.label_model import Patterns, fit_patterns
from winnow.scoring.selection.vote_counts import VoteCounts


def printed(*groups: DecidedGroup, by: str = "") -> list[str]:
    """The lines for a record of these groups."""
    console = Console(record=True, width=300, file=open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115
    nothing = cast(Distribution, None)
    record = DecisionRecord(groups, (), nothing, nothing, (), ())
    bound: Any = SimpleNamespace(entry=SimpleNamespace(layer="score.mimic", filter=SimpleNamespace(by=by)))
    _print_result(cast(Any, SimpleNamespace(console=console)), bound, record, 1.0)
    return console.export_text().splitlines()


def group(name: str, *, converged: bool) -> DecidedGroup:
    return DecidedGroup(name, (), (), (), (), (), (), "label_model", None, None, converged)


def test_a_label_model_that_did_not_converge_is_one_line_with_what_to_do() -> None:
    assert len(printed(group("", converged=True))) == 1
    _, line = printed(group("", converged=False))
    assert_told(line, "score.mimic", "label model")
    assert line.endswith("or set `aggregate: majority`")


def test_a_fit_of_votes_that_does_not_converge_is_told_of() -> None:
    votes = weak_votes(40, 14)
    counts = VoteCounts.of(votes, np.arange(len(votes), dtype=np.uint64))
    fit = fit_patterns(Patterns(counts.votes, counts.counts), "label_model")
    checkpoints = votes.shape[1]
    whole, ends = np.full(checkpoints, len(votes)), np.zeros(checkpoints)
    fitted = FittedGroup("deu", tuple(whole.tolist()), (Cut(lowest=0.0),) * checkpoints)
    decided = _decided(fitted, _GroupVotes(0, len(votes), counts, whole, whole, ends, ends), fit)
    *_, line = printed(decided, by="text.language.code")
    assert_told(line, "score.mimic", "text.language.code")


def test_the_groups_that_did_not_converge_are_named() -> None:
    *_, line = printed(group("deu", converged=False), group("fra", converged=True), by="text.language.code")
    assert_told(line, "score.mimic", "text.language.code")
