"""Stars: every member is similar to its centre, and no more is compared than that and the members of each star."""

import numpy as np
import pytest
from numpy.typing import NDArray

from winnow.filters.duplicates.stars import MemberSimilarities, Positions, stars

ENOUGH = 0.999  # on a line, of members that are 1 apart


@pytest.mark.parametrize(("members", "length"), [(7, 3.0), (300, 40.0), (600, 9.0), (40, 400.0)])
def test_members_go_to_their_most_similar_centre_and_match_within_its_star(members: int, length: float) -> None:
    places = np.random.default_rng(members).uniform(0, length, members)
    compared = np.zeros((members, members), np.int64)

    def compare(some: Positions, others: Positions) -> MemberSimilarities:
        compared[np.ix_(some, others)] += 1
        there = _closeness(places)[np.ix_(some, others)]
        return MemberSimilarities(there, there, there >= ENOUGH)

    found = stars(members, compare)

    assert found is not None
    close = _closeness(places)
    chosen = np.unique(found.centre)
    assert found.centre[chosen].tolist() == chosen.tolist()
    for member in range(members):
        if member not in chosen:
            assert close[member, found.centre[member]] == close[member, chosen].max() >= ENOUGH
        fellows = np.flatnonzero((found.centre == found.centre[member]) & (np.arange(members) != member))
        if len(fellows):
            assert found.there[member] == close[member, found.matched[member]] == close[member, fellows].max()
        else:
            assert found.matched[member] == member
    sizes = np.bincount(found.centre)
    assert compared.sum() == members**2 + members * len(chosen) + (sizes[sizes > 1] ** 2).sum()


def test_members_that_are_all_similar_to_one_are_compared_once() -> None:
    asked = []

    def compare(some: Positions, others: Positions) -> MemberSimilarities:
        asked.append((len(some), len(others)))
        alike = np.ones((len(some), len(others)))
        return MemberSimilarities(alike, alike, alike > 0)

    assert stars(300, compare) is None
    assert sum(some * others for some, others in asked) == 300**2


def _closeness(places: NDArray[np.float64]) -> NDArray[np.float64]:
    near: NDArray[np.float64] = 1 - np.abs(places[:, None] - places[None]) / 1000
    return near
