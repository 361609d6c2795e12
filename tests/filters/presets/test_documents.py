"""Published rules on documents: which pictures of a page stay, and which documents."""

import random
from typing import NamedTuple

import pyarrow as pa
import pytest

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.rules.decisions import bits_of
from winnow.pipelines.rules.evaluation import Evaluator
from winnow.schemas.recipe import recipe_from_text
from winnow.schemas.rows.interleaved import INTERLEAVED
from winnow.schemas.rows.samples import SAMPLES

RECIPE = """
version: 1
store: {{path: s}}
sources: {{crawl: {{root: a, files: ['*'], class: web}}}}
extract: {{main: {{}}}}
text: coalesce(extract.main.text, samples.text)
annotate: [page.interleaved, text.gopher]
items: [{{preset: {preset}}}]
keep: [{{preset: {preset}}}]
"""


class Shown(NamedTuple):
    """A picture that a page shows."""

    width: int | None
    height: int | None
    pages: int = 1
    url: str = "https://e.org/cat.png"


GOOD = Shown(400, 300)
EDGES = [
    GOOD, Shown(150, 150), Shown(149, 200), Shown(300, 150), Shown(301, 150), Shown(20_000, 20_000),
    Shown(20_001, 20_001), Shown(400, 300, 10), Shown(400, 300, 11), Shown(None, None),
    Shown(400, 300, 1, "https://e.org/img/Logo.png"), Shown(400, 300, 1, "https://e.org/button/a.png"),
    Shown(400, 300, 1, "https://e.org/avatars/7"),
]  # fmt: skip


def stays(preset: str, one: Shown) -> bool:
    family, url = preset.partition("@")[0], one.url.lower()
    words = {"obelics": ("logo", "button", "icon", "plugin", "widget"), "mint": ("logo", "avatar", "porn", "xxx")}
    if any(word in url for word in words.get(family, ())):
        return False
    if one.pages > 10 and family != "mint":
        return False
    if one.width is None or one.height is None:
        return True
    shorter, longer = sorted((one.width, one.height))
    return shorter >= 150 and longer <= 2 * shorter and (family == "omnicorpus" or longer <= 20_000)


def aspect(width: int, height: int) -> float:
    return max(width, height) / min(width, height)


def decided(preset: str, documents: list[tuple[list[Shown], int]]) -> list[tuple[list[bool], str | None]]:
    """Of each document, which pictures stay, and the first reason for which it is dropped."""
    program = bind(recipe_from_text(RECIPE.format(preset=preset))).rules
    reference = {"path": "a", "offset": 0, "length": 1, "container": "warc"}
    shown = [one for one, _ in documents]
    lists = {
        "media": [[{"mime": "image/png", "ref": reference}] * len(row) for row in shown],
        "urls": [[one.url for one in row] for row in shown],
        "pages": [[one.pages for one in row] for row in shown],
        "shorter": [[None if one.width is None else min(one.width, one.height or 0) for one in row] for row in shown],
        "longer": [[None if one.width is None else max(one.width, one.height or 0) for one in row] for row in shown],
        "aspect": [[None if one.width is None else aspect(one.width, one.height or 0) for one in row] for row in shown],
        "pictures": [len(row) for row in shown],
    }
    columns = {
        f"page.interleaved.{name}": pa.array(values, INTERLEAVED.field(name).type) for name, values in lists.items()
    }
    columns["samples.media"] = pa.array([[]] * len(documents), SAMPLES.field("media").type)
    columns["text.gopher.words"] = pa.array([words for _, words in documents], pa.int64())
    with Evaluator(program) as evaluator:
        found = evaluator.decide(len(documents), columns)
    assert found.items is not None
    left = iter([int(mask) == 0 for (mask,) in found.items.fired])
    reasons = [next((program.reasons[bit] for bit in bits_of(int(mask))), None) for (mask,) in found.fired]
    return [([next(left) for _ in row], reason) for row, reason in zip(shown, reasons, strict=True)]


PRESETS = ["obelics@documents", "omnicorpus@documents", "mint@like"]


@pytest.mark.parametrize("preset", PRESETS)
def test_each_picture_of_a_page_is_judged_alone(preset: str) -> None:
    drawn = random.Random(7)
    pages = [[GOOD, *drawn.choices(EDGES, k=drawn.randrange(5))] for _ in range(200)]
    found = decided(preset, [(page, 100) for page in pages])
    assert [left for left, _ in found] == [[stays(preset, one) for one in page] for page in pages]
    assert {reason for _, reason in found} == {None}


@pytest.mark.parametrize("preset", PRESETS)
def test_documents_have_pictures_and_not_too_many_nor_too_few_words(preset: str) -> None:
    family = preset.partition("@")[0]
    rows = [
        ([GOOD], 10),
        ([GOOD], 9),
        ([GOOD], 2001),
        ([], 100),
        ([GOOD] * 31, 100),
        ([GOOD] * 30, 100),
        ([EDGES[2]], 99),
    ]
    words = [f"{family}_few_words", f"{family}_many_words"] if family == "obelics" else [None, None]
    many = None if family == "omnicorpus" else f"{family}_pictures"
    assert [reason for _, reason in decided(preset, rows)] == [
        None, *words, f"{family}_no_picture", many, None, f"{family}_small",
    ]  # fmt: skip
