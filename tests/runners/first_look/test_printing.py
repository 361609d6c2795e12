"""What `winnow look` prints of many languages, reasons and losses: the first ones, and what the others add up to."""

from dataclasses import replace

import pytest

from tests.runners.terminal.test_tables import piped, printed
from winnow.pipelines.rules.losses import RuleLoss
from winnow.runners.first_look.analysis import LanguageLook, Look
from winnow.runners.first_look.found_files import Found
from winnow.runners.first_look.printing import look_json, print_look
from winnow.runners.first_look.proposal import Proposal


def look_of(languages: int, reasons: int, losses: int) -> Look:
    """Languages l0, l1 … of 1,000 rows and fewer, of which 10 are kept."""
    looks = tuple(LanguageLook(f"l{number}", 1000 - number, 10, None) for number in range(languages))
    return Look(
        sources=(),
        languages=looks,
        reasons=tuple((f"rule_{number}", 500 - number) for number in range(reasons)),
        losses=tuple(RuleLoss("keep", f"lost_{number}", "source", "crawl", 100, 99) for number in range(losses)),
        rows=sum(one.rows for one in looks),
        kept=10 * languages,
        unsplit={},
    )


def lines_of(look: Look) -> list[list[str]]:
    console = piped()
    print_look(Found(()), Proposal((), ()), look, console)
    return [line.split() for line in printed(console).splitlines()]


@pytest.mark.parametrize("languages", [30, 31, 34])
def test_thirty_languages_are_shown_and_the_others_added_up(languages: int) -> None:
    look = look_of(languages, 0, 0)
    lines = lines_of(look)
    assert [line[0] for line in lines if len(line) > 3 and line[0][1:].isdigit()] == [f"l{n}" for n in range(30)]
    rest, rows = languages - 30, sum(1000 - number for number in range(30, languages))
    share, kept = f"{rows / look.rows:.1%}".split("%")[0], f"{10 * rest / max(rows, 1):.1%}".split("%")[0]
    added = [line for line in lines if line[1:2] == ["more"]]
    assert added == ([[str(rest), "more", f"{rows:,}", share, "%", kept, "%"]] if rest else [])
    assert len(look_json(Found(()), Proposal((), ()), look)["languages"]) == languages  # type: ignore[arg-type]


def test_ten_reasons_and_six_losses_are_shown_and_programs_get_all() -> None:
    look = look_of(1, 13, 8)
    lines = lines_of(look)
    assert [line[0] for line in lines if line and line[0].startswith("rule_")] == [f"rule_{n}" for n in range(10)]
    lost = [" ".join(line) for line in lines if line[:1] == ["LOSS"]]
    assert lost == [f"LOSS {loss.message}" for loss in look.losses[:6]]
    found = look_json(Found(()), Proposal((), ()), look)
    assert found["dropped_by"] == dict(look.reasons)
    assert found["losses"] == [loss.message for loss in look.losses]


@pytest.mark.parametrize("languages", [8, 9, 11])
def test_eight_languages_of_estimated_words_are_named_and_the_others_added_up(languages: int) -> None:
    counts = {f"l{number}": 20 - number for number in range(languages)}
    look = replace(look_of(1, 0, 0), unsplit={"needs_jieba": counts})
    notes = look_json(Found(()), Proposal((), ()), look)["notes"]
    assert isinstance(notes, list)
    (note,) = notes
    named = ", ".join(f"l{number} {20 - number}" for number in range(8))
    others = sum(20 - number for number in range(8, languages))
    assert f" finds them: {named}{f', others {others}' if others else ''}; run: " in str(note)
