"""Parts that most pages of a site have: chosen again as a plain search would, and none that only copies have."""

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.text.lines.line_rules import assert_spans_hold
from winnow.filters.extraction.extract_main import EXTRACTOR, MainConfig
from winnow.filters.operators import ANSWERS
from winnow.filters.page.repeated_parts import OPERATOR, RepeatedPartsConfig, chosen_parts, load_shard, offered_keys
from winnow.filters.spans import edited

CONFIG = RepeatedPartsConfig()
NAMES = OPERATOR.reads(CONFIG)
LAYER = EXTRACTOR.schema(MainConfig(probabilities=True))
TYPES = [pa.large_string(), *(LAYER.field(name.rpartition(".")[2]).type for name in NAMES[1:5]), pa.string()]
GOLDEN = Path(__file__).parent / "golden" / "repeated_parts.json"

Part = tuple[str, float]  # a text and how likely it is; `<image>` is an image
OWN = [f"Page {number} tells at some length of a bird that no other page knows." for number in range(6)]
NOTICE = ("Join our raffle: this week you can win a pair of binoculars.", 0.8)
HEADING = ("Habits", 0.999)


def row(
    *parts: Part, site: str | None = "birds.example", text: str | None = None, left_out: int = 0
) -> tuple[Any, ...]:
    """A page of these parts, an empty line between two."""
    whole, places = "", []
    for said, _ in parts:
        is_image = said == "<image>"
        whole += "\n\n" if whole and not is_image else ""
        start = len(whole.encode())
        whole += "" if is_image else said
        kind, image = ("image", 0) if is_image else ("text", None)
        places.append({"kind": kind, "start": start, "end": len(whole.encode()), "image": image})
    chances = [None if said == "<image>" else chance for said, chance in parts]
    return (whole if text is None else text, whole, places, chances, left_out, site)


def measured(rows: Sequence[tuple[Any, ...]], **settings: Any) -> list[dict[str, Any]]:
    """The layer of a store of these pages, in whatever batches they come."""
    config = RepeatedPartsConfig(**settings)
    columns = [pa.array([one[place] for one in rows], kind) for place, kind in enumerate(TYPES)]
    batch = pa.RecordBatch.from_arrays(columns, names=list(NAMES))
    offers: dict[bytes, set[int]] = defaultdict(set)
    found, keys = offered_keys(config, batch)
    for place, key in zip(found.tolist(), keys.to_pylist(), strict=True):
        offers[key].add(place)
    met = [(key, bytes(16), len(places)) for key, places in sorted(offers.items()) if len(places) > 1]
    answers = pa.RecordBatch.from_pylist([dict(zip(ANSWERS.names, one, strict=True)) for one in met], schema=ANSWERS)
    kernel = load_shard(config, answers)
    layer: list[dict[str, Any]] = kernel(batch).to_pylist()
    assert [one for at in range(len(rows)) for one in kernel(batch.slice(at, 1)).to_pylist()] == layer
    for said, one in zip(rows, layer, strict=True):
        assert_spans_hold(said[0], one["removed"])
    return layer


def left(rows: Sequence[tuple[Any, ...]], **settings: Any) -> list[str]:
    return [edited(one[0], row["removed"]) for one, row in zip(rows, measured(rows, **settings), strict=True)]


def test_what_other_pages_have_goes_unless_the_page_alone_was_sure_of_it() -> None:
    pages = [row(HEADING, (own, 0.98), NOTICE) for own in OWN[:4]]
    assert left(pages) == [f"Habits\n\n{own}" for own in OWN[:4]]
    assert measured(pages)[0] == {
        "parts": 3,
        "repeated": 1,  # a heading is too short to be compared
        "removed_ratio": pytest.approx((len(NOTICE[0]) + 2) / len(pages[0][0])),
        "removed": [{"start": len(f"Habits\n\n{OWN[0]}"), "end": len(pages[0][0])}],
    }
    assert left(pages, strength=0) == [page[0] for page in pages]


def test_parts_at_the_start_and_in_the_middle_go_with_the_blanks_behind_them_and_images_stay() -> None:
    pages = [row(NOTICE, (own, 0.98), ("<image>", 0), NOTICE, (f"{own} Again.", 0.98)) for own in OWN[:4]]
    assert left(pages) == [f"{own}\n\n{own} Again." for own in OWN[:4]]
    assert measured(pages)[0]["removed"][1]["start"] == len(f"{NOTICE[0]}\n\n{OWN[0]}\n\n")


def test_a_small_site_another_site_and_a_page_without_one_have_no_template() -> None:
    pages = [row((own, 0.98), NOTICE) for own in OWN[:2]]
    pages += [row((OWN[2], 0.98), NOTICE, site="other.example"), row((OWN[3], 0.98), NOTICE, site=None)]
    assert left(pages) == [page[0] for page in pages]
    assert left(pages[:1]) == [pages[0][0]]
    assert left(pages, min_pages=2)[0] == OWN[0]


def test_of_pages_that_are_all_the_same_nothing_goes() -> None:
    pages = [row(HEADING, (OWN[0], 0.9), NOTICE)] * 5
    assert left(pages) == [page[0] for page in pages]
    assert [one["repeated"] for one in measured(pages)] == [2] * 5
    assert measured(pages) == [one | {"removed": [], "removed_ratio": 0} for one in measured(pages)]


def test_a_text_that_is_not_the_extractors_is_left_alone() -> None:
    pages = [row((own, 0.98), NOTICE) for own in OWN[:4]]
    pages.append(row((OWN[4], 0.98), NOTICE, text=NOTICE[0]))
    pages.append((NOTICE[0], None, None, None, None, "birds.example"))
    assert left(pages)[4:] == [NOTICE[0], NOTICE[0]]
    assert measured(pages)[5] == {"parts": 0, "repeated": 0, "removed_ratio": 0, "removed": []}


def test_the_order_of_pages_does_not_matter() -> None:
    pages = [row((own, 0.9), NOTICE, (f"ä {place % 2}", 0.6)) for place, own in enumerate(OWN)]
    assert measured(pages[::-1]) == measured(pages)[::-1]


CHANCES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8, 0.96875, 1.0])


@given(st.lists(st.lists(st.tuples(CHANCES, st.integers(1, 60)), min_size=1, max_size=6), min_size=1, max_size=4))
def test_the_choice_has_the_best_expected_f1_of_all_choices(texts: list[list[tuple[float, int]]]) -> None:
    owners = np.repeat(np.arange(len(texts)), [len(one) for one in texts])
    chances, sizes = np.array(list(chain.from_iterable(texts))).T
    outside = np.arange(len(texts)) * 7
    kept = chosen_parts(owners, chances, sizes.astype(np.int64), outside)
    for number, parts in enumerate(texts):

        def expected(places: Sequence[int], parts: list[tuple[float, int]] = parts, number: int = number) -> float:
            wanted = sum(chance * size for chance, size in parts) + 7 * number
            hit, size = (
                sum(one)
                for one in zip((0, 0), *((parts[at][0] * parts[at][1], parts[at][1]) for at in places), strict=True)
            )
            return float(2 * hit / (size + wanted)) if size + wanted else 0.0

        every = range(len(parts))
        best = max(expected(some) for count in every for some in combinations(every, count + 1))
        assert expected(np.flatnonzero(kept[owners == number]).tolist()) == pytest.approx(best)


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.sampled_from(["a", "é\nü", "漢字 " * 9, "<image>", "of one"]), CHANCES), max_size=6),
            st.sampled_from([None, "a.example", "b.example"]),
            st.integers(0, 400),
        ),
        max_size=8,
    )
)
def test_whatever_the_parts_spans_hold_and_something_is_left(rows: list[tuple[list[Part], str | None, int]]) -> None:
    pages = [row(*parts, site=site, left_out=outside) for parts, site, outside in rows]
    for page, text in zip(pages, left(pages), strict=True):
        assert bool(text) == bool(page[0])


def test_what_version_1_gives_never_changes() -> None:
    pages = [row(HEADING, (own, 0.98), NOTICE, ("<image>", 0), (f"見出し {own[:6]}", 0.7)) for own in OWN]
    golden = {"operator": OPERATOR.name, "version": OPERATOR.version, "rows": measured(pages)}
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert golden == json.loads(GOLDEN.read_text(encoding="utf-8"))
