"""Where families are shared: inside each source, or once over the whole where a law says how."""

from tests.scoring.mixture.stages import cell, stage
from winnow.scoring.mixture.allocation import allocate
from winnow.scoring.mixture.levels import Proportional, ordered

CELLS = [
    cell("web/crawl/Germanic/deu", 190),
    cell("web/crawl/Indic/hin", 10),
    cell("web/books/Germanic/deu", 10),
    cell("web/books/Indic/hin", 190),
]


def target(text: str, budget: int | None) -> list[int]:
    return list(allocate(CELLS, stage(text), budget, 4.0, None, "tokens").target)


def test_methods_share_families_within_each_source() -> None:
    assert target("{families: {temperature: 1}}", 200) == [95, 5, 5, 95]
    assert target("{families: {weights: {Germanic: 0.9, Indic: 0.1}}}", 120) == [54, 6, 40, 20]
    assert target("{sources: {crawl: 0.5, books: 0.5}, families: {temperature: 1000}}", 80) == [20, 20, 20, 20]


def test_a_law_is_of_the_whole_and_takes_a_family_from_wherever_it_is() -> None:
    law = "families: {law: law.json}"
    for text, outer in (
        (f"{{{law}}}", 0),
        (f"{{{law}, sources: {{crawl: 0.5, books: 0.5}}}}", 1),
        (f"{{{law}, classes: {{web: 1}}}}", 1),
        (f"{{{law}, classes: {{web: 1}}, sources: {{crawl: 0.5, books: 0.5}}}}", 2),
        ("{families: {temperature: 2}}", 2),
        ("{}", 2),
    ):
        keys, levels, place = ordered(stage(text), Proportional(), CELLS)
        assert place == outer, text
        assert len(keys) == len(levels) == 5
        assert keys[place](CELLS[1].stratum) == "Indic"
