"""What the tests of the law's two assumptions found, in words.

A test that finds nothing has not proved the assumption; so each sentence says what noise alone passes in one table of
twenty.
"""

from collections.abc import Sequence
from typing import Final

from rich.console import Console

from winnow.runners.law.views import figure
from winnow.runners.terminal.tables import print_line
from winnow.scoring.scaling_law.hypotheses import Independence, Invariance

LEVEL: Final = 0.05
"""Of p values that are already adjusted for the number of families."""


def independence(answers: Sequence[Independence], console: Console) -> None:
    """Whether the shares of other families matter beyond a family's own."""
    print_line(console, "Does it matter what the rest of the mixture is? The law says no.", "bold")
    _say_all([(answer.family, _independence(answer), answer.why_not) for answer in answers], console)


def invariance(answers: Sequence[Invariance], console: Console) -> None:
    """Whether gamma changes with the size of the model or with the tokens."""
    print_line(console, "Is gamma the same at every N and D? The law says yes.", "bold")
    _say_all([(answer.family, _invariance(answer), answer.why_not) for answer in answers], console)


def contradictions(others: Sequence[Independence], sizes: Sequence[Invariance]) -> str:
    """For the law's file: which assumptions the runs contradict; empty where none."""
    found = []
    for what, answers in (
        ("independence of the other families' shares", others),
        ("one gamma at every N and D", sizes),
    ):
        named = [answer.family for answer in answers if _contradicted(answer.adjusted)]
        if named:
            found.append(f"the runs contradict {what} for {', '.join(named)}")
    return "; ".join(found)


def _say_all(said: Sequence[tuple[str, str, str]], console: Console) -> None:
    """A line a family; one for all where none could be tested for the same reason."""
    reasons = {why for _, _, why in said}
    if len(reasons) == 1 and "" not in reasons:
        print_line(console, f"  not tested: {reasons.pop()}")
    else:
        width = max(len(family) for family, _, _ in said)
        for family, text, why in said:
            print_line(console, f"  {family:<{width}}  {f'not tested: {why}' if why else text}")
    print_line(console, "")


def _independence(answer: Independence) -> str:
    if answer.effect is None or answer.detectable is None:
        return ""
    moved = f"the others move the loss by up to {_percent(answer.effect)}"
    if _contradicted(answer.adjusted):
        return f"CONTRADICTED ({_p(answer.adjusted)}): {moved}, noise alone by up to {_percent(answer.detectable)}"
    return f"no sign against it ({_p(answer.adjusted)}): {moved}, noise alone by up to {_percent(answer.detectable)}"


def _invariance(answer: Invariance) -> str:
    changes = [
        f"{_signed(slope[0])} [{_signed(slope[1])}, {_signed(slope[2])}] for ten times the {name}"
        for name, slope in (("N", answer.per_decade_n), ("D", answer.per_decade_d))
        if slope is not None
    ]
    verdict = "CONTRADICTED" if _contradicted(answer.adjusted) else "no sign against it"
    return f"{verdict} ({_p(answer.adjusted)}): gamma changes by {', '.join(changes)}"


def _contradicted(adjusted: float | None) -> bool:
    return adjusted is not None and adjusted < LEVEL


def _p(value: float | None) -> str:
    return "" if value is None else f"p {value:.2f}" if value >= 0.01 else f"p {value:.2g}"


def _percent(part: float) -> str:
    return f"{figure(round(100 * part, 2))} %"


def _signed(value: float) -> str:
    return f"{value:+.4f}"
