"""The section on scores: every number is there, under the right name."""

from dataclasses import replace
from html.parser import HTMLParser

from tests.messages import assert_told
from tests.runners.example_store import EXAMPLES, SCORE_OVERVIEW, SUMMARY
from winnow.pipelines.score.overview import ScoreOverview
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.scores import NOT_CONVERGED, SHOWN_FITS, scores
from winnow.scoring.selection import Quality


class Rows(HTMLParser):
    """The texts of the cells of every row of every table."""

    def __init__(self, page: str):
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def rows(*found: ScoreOverview) -> list[list[str]]:
    block = scores(SUMMARY, replace(EXAMPLES, scores=found))
    assert block is not None
    return Rows(block.body).rows


def test_without_scores_there_is_no_section() -> None:
    assert scores(SUMMARY, Examples()) is None


def test_a_score_its_quality_and_what_each_checkpoint_found() -> None:
    found = rows(SCORE_OVERVIEW)
    assert ["mimic", "next_byte", "kmeans", "1,234", "1,000", "81.0 %", "0.3", "250"] in found
    assert ["all", "majority", "1,000", "76.1%", "75.0%", "72.2%", "77.6%", ""] in found
    clusters = ["-0.5 ± 0.1 (25%)", "0.5 ± 0.2 (75%)"]
    assert ["all", "1", "1,000", "1,000", "750 · 75.0 %", "0.25", "-0.125", *clusters, ""] in found
    assert ["all", "2", "0", "0", "", "", "", "", "", "nothing was scored"] in found


def test_overlaps_count_what_is_dropped() -> None:
    (line,) = [line for line in rows(SCORE_OVERVIEW) if line[0] == "keep" and len(line) == 9]
    both, this_alone, other_alone, neither = 150, 100, 50, 700
    assert line[2:6] == [str(number) for number in (both, this_alone, other_alone, neither)]
    assert line[6:] == ["60.0 %", "85.0%", "0.571"]  # of 1,000 rows: (0.85 - 0.65) / (1 - 0.65)


def test_what_is_beyond_the_edges_and_what_is_not_there_is_said() -> None:
    block = scores(SUMMARY, EXAMPLES)
    assert block is not None
    assert_told(block.body, "1", "1")
    assert_told(block.body, "checkpoint 2")
    assert_told(block.body, "cannot be decided")


def test_many_values_that_are_fitted_by_are_cut_the_largest_first() -> None:
    fit = SCORE_OVERVIEW.fits[0]
    fits = tuple(
        replace(fit, name=f"l{number:02}", quality=Quality(0.5, 0.4, 0.6, number + 1, "clusters", 0.5))
        for number in range(SHOWN_FITS + 2)
    )
    found = rows(replace(SCORE_OVERVIEW, by="text.language.code", fits=fits))
    assert ["mimic", "next_byte", "kmeans by text.language.code", "1,234", "1,000", "81.0 %", "0.3", "250"] in found
    names = [line[0] for line in found if line[1] == "majority"]
    assert names == [f"l{number:02}" for number in range(SHOWN_FITS + 1, 1, -1)]
    block = scores(SUMMARY, replace(EXAMPLES, scores=(replace(SCORE_OVERVIEW, by="text.language.code", fits=fits),)))
    assert block is not None
    assert "And 2 more values of text.language.code." in block.body


def test_a_label_model_that_did_not_converge_is_remarked_beside_its_group() -> None:
    first, *others = SCORE_OVERVIEW.fits
    found = rows(replace(SCORE_OVERVIEW, fits=(replace(first, converged=False), *others)))
    assert ["all", "majority", "1,000", "76.1%", "75.0%", "72.2%", "77.6%", NOT_CONVERGED] in found
