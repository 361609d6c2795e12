"""Spans of many detectors, of which no two overlap."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.private.personal.detections import Detections, disjoint_spans, no_detections


def found(*spans: tuple[int, int]) -> Detections:
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    return Detections("kind", np.zeros(len(spans), np.int64), starts.copy(), ends.copy(), np.ones(1, np.bool_))


def kept(*detectors: Detections) -> list[tuple[int, int, int]]:
    one = disjoint_spans(detectors)
    return list(zip(one.starts.tolist(), one.ends.tolist(), one.kinds.tolist(), strict=True))


def test_the_more_trusted_detector_keeps_its_span() -> None:
    assert kept(found((5, 9)), found((0, 6), (9, 12)), found((6, 7), (8, 10), (12, 13))) == [
        (5, 9, 0),
        (9, 12, 1),
        (12, 13, 2),
    ]
    assert kept(no_detections("kind", 1), found((0, 1))) == [(0, 1, 1)]
    assert kept() == []


@given(st.lists(st.lists(st.integers(0, 40), max_size=12, unique=True), max_size=5))
def test_as_one_would_do_it_by_hand(lists: list[list[int]]) -> None:
    detectors = []
    for places in lists:
        ends = sorted(places)[: len(places) // 2 * 2]
        detectors.append(found(*zip(ends[::2], ends[1::2], strict=True)))
    by_hand: list[tuple[int, int, int]] = []
    for number, one in enumerate(detectors):
        for start, end in zip(one.starts.tolist(), one.ends.tolist(), strict=True):
            if all(end <= other[0] or other[1] <= start for other in by_hand):
                by_hand.append((start, end, number))
    assert kept(*detectors) == sorted(by_hand)
