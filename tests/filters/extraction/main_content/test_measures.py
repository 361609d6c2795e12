"""What is counted in a block, in every script, and by which keys its words and markup are known."""

import numpy as np
import pytest

from winnow.filters.extraction.main_content.blocks import PageBlocks, page_blocks
from winnow.filters.extraction.main_content.measures import MOST_NAMES, STATS, word_set

URL = "https://example.org/a/b"


def measured(html: str) -> PageBlocks:
    return page_blocks(html.encode(), URL)


def stats(html: str) -> dict[str, float]:
    (row,) = measured(html).measures.stats.tolist()
    return dict(zip(STATS, row, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Two words, and more. Really?",
            {"words": 5, "commas": 1, "sentences": 2, "ends": 1, "question": 1, "upper": 1},
        ),
        ("He said “so.”", {"words": 3, "ends": 1, "sentences": 0}),
        ("Ends: ", {"colon": 1, "ends": 0}),
        ("3 of 12 cost $5", {"digits": 3, "money": 1, "words": 5, "upper": 0}),
        ("© 2024 | a › b • c", {"copyright": 1, "pipes": 3}),
        ("me@example.org", {"at": 1}),
        ("日本語の文章です。", {"words": pytest.approx(4.8), "sentences": 1, "ends": 1, "upper": -1, "capitals": -1}),
        ("ภาษาไทย", {"words": pytest.approx(1.4)}),
        ("한국어 문장", {"words": 2}),
        ("यह हिन्दी है।", {"words": 3, "sentences": 1}),
        ("هل هذا نص؟", {"words": 3, "question": 1, "sentences": 1}),
        ("Ελληνικά και кириллица", {"words": 3}),
    ],
)
def test_counts_hold_in_every_script(text: str, expected: dict[str, float]) -> None:
    found = stats(f"<p>{text}</p>")
    assert {name: found[name] for name in expected} == expected


def test_words_of_the_title_and_the_description_are_counted() -> None:
    page = measured("<title>River boats</title><meta name=description content='slow boats'><p>The boats of a river")
    found = dict(zip(STATS, page.measures.stats[0].tolist(), strict=True))
    assert (found["in_title"], found["in_description"], found["of_title"]) == (2, 1, pytest.approx(2 / 3))


def test_copies_are_known_by_their_words() -> None:
    page = measured("<p>Same words here<p>other<p>same WORDS, here!<p>same words here")
    copies = [(row[STATS.index("copy")], row[STATS.index("copies")]) for row in page.measures.stats.tolist()]
    assert copies == [(0, 3), (0, 1), (1, 3), (2, 3)]


def keys(html: str) -> list[set[int]]:
    measures = measured(html).measures
    return [
        set(measures.name_keys[begin:end].tolist())
        for begin, end in zip(measures.name_places, measures.name_places[1:], strict=False)
    ]


def test_markup_is_known_by_its_names_however_they_are_written() -> None:
    assert (
        keys("<p class='postBody'>a")
        == keys("<p class='post-body'>a")
        == keys("<p id='POST_body'>a".replace("POST", "post"))
    )
    assert keys("<p class=post>a") != keys("<p class=body>a")
    inside, outside = keys("<div class=post><p>a</div>")[0], keys("<p class=post>a")[0]
    assert inside != outside  # by how far around it is
    assert keys("<p class='a bc'>x") == keys("<p>x")  # names of less than three letters say nothing


def test_a_block_is_known_by_no_more_than_so_many_names() -> None:
    names = " ".join(f"name{'abcdefghij'[number % 10]}{'klmnopqrst'[number // 10 % 10]}" for number in range(100))
    found = keys(f"<div class='{names}'><div class='{names.replace('name', 'other')}'>" + "<p>x" * 3)
    assert [len(one) for one in found] == [MOST_NAMES] * 3


def test_a_set_of_words_knows_each_once() -> None:
    table, count = word_set(np.frombuffer("One one, two; ONE 日日".encode(), np.uint8))
    assert count == 3
    assert (table != 0).sum() == 3
