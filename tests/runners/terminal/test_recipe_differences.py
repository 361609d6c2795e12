"""Two recipes' decisions side by side: what moves most comes first, whatever order the tasks bring it in."""

import random

from tests.runners.terminal.test_tables import piped, printed
from winnow.pipelines.rules.comparing import Cell, Comparison, Move
from winnow.runners.stages.reports.recipe_difference import SHOWN_GROUPS, _print, difference_json

CELLS = [
    Cell("b", "deu", 100, 50, 40, 500, 400, lost=10),
    Cell("a", "fra", 100, 50, 60, 500, 600, gained=10),
    Cell("c", "deu", 300, 200, 191, 2000, 1910, lost=9),
    Cell("c", "swe", 10, 4, 7, 40, 70, lost=2, gained=5),
    Cell("d", "ita", 200, 50, 40, 500, 400, lost=10),
]
MOVES = [
    Move("too_short", "", 5),
    Move("", "language", 20),
    Move("too_short", "language", 3),
    Move("duplicate", "duplicate", 70),
    Move("", "adult", 11),
    Move("perplexity", "", 11),
    Move("", "too_short", 2),
]


def page(comparison: Comparison) -> str:
    console = piped()
    _print("a.yaml", "b.yaml", comparison, console, tokens=True)
    return printed(console)


def first_words(text: str, title: str) -> list[str]:
    """The first words of a table's rows, without its headers."""
    table = text.partition(f"{title}\n")[2].partition("\n\n")[0].splitlines()
    return [line.split()[0] for line in table if line.strip() and line.split()[0].isidentifier()][1:]


def test_what_moves_most_is_first_whatever_order_it_comes_in() -> None:
    whole = Comparison(tuple(CELLS), tuple(MOVES))
    text = page(whole)
    assert first_words(text, "Kept by source") == ["c", "d", "a", "b", "total"]
    assert first_words(text, "Kept by language") == ["deu", "ita", "fra", "swe", "total"]
    reasons = first_words(text, "Reasons that differ; each sample counts by its first")
    assert reasons == ["language", "adult", "perplexity", "too_short"]
    for seed in range(5):
        mixed = random.Random(seed)
        shuffled = Comparison(tuple(mixed.sample(CELLS, len(CELLS))), tuple(mixed.sample(MOVES, len(MOVES))))
        assert page(shuffled) == text


def test_a_reason_counts_what_each_recipe_drops_by_it_and_what_changes_sides() -> None:
    found = difference_json("a.yaml", "b.yaml", Comparison(tuple(CELLS), tuple(MOVES)), tokens=False)["reasons"]
    names = ("old", "new", "old_drops_new_keeps", "new_drops_old_keeps")
    assert found == {
        reason: dict(zip(names, counts, strict=True))
        for reason, counts in {
            "language": (0, 23, 0, 20),
            "adult": (0, 11, 0, 11),
            "perplexity": (11, 0, 11, 0),
            "too_short": (8, 2, 5, 2),
            "duplicate": (70, 70, 0, 0),
        }.items()
    }


def test_smaller_groups_are_one_line_with_their_sums() -> None:
    cells = tuple(Cell(f"s{number}", "deu", 100 + number, 50, 40, 9, 8, lost=10) for number in range(SHOWN_GROUPS + 3))
    table = page(Comparison(cells)).partition("Kept by source\n")[2].partition("\n\n")[0]
    (other,) = [line.split() for line in table.splitlines() if line.startswith("(other")]
    assert other[:5] == ["(other", "3)", "303", "150", "120"]  # 100 + 101 + 102 rows
    assert table.count("\ns") == SHOWN_GROUPS
