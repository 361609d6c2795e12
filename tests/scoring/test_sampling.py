"""Methods behind one interface: shares that sum, caps that hold, families that no law knows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told
from tests.scoring.laws import GAMMAS, law
from winnow.schemas.errors import WinnowError
from winnow.scoring.sampling import (
    Fallback,
    Inventory,
    by_law,
    compare,
    filled,
    known_share,
    proportional,
    temperature,
    unimax,
)
from winnow.scoring.scaling_law.ratios import optimal_shares

TOKENS = {"germanic": 6e9, "indic": 1e9, "slavic": 3e9}


def test_proportional_follows_the_sizes() -> None:
    found = proportional(Inventory(TOKENS, 5e9))
    assert found.families == ("germanic", "indic", "slavic")
    assert found.shares == pytest.approx([0.6, 0.1, 0.3])
    assert found.epochs == pytest.approx([0.5, 0.5, 0.5])
    assert found.effective == found.tokens


def test_temperature_one_is_proportional_and_a_large_one_uniform() -> None:
    inventory = Inventory(TOKENS, 5e9)
    assert temperature(inventory, 1.0).shares == pytest.approx(proportional(inventory).shares)
    assert temperature(inventory, 1e6).shares == pytest.approx([1 / 3] * 3, rel=1e-5)
    powers = np.array([6, 1, 3]) ** (1 / 3.3)
    assert temperature(inventory).shares == pytest.approx(powers / powers.sum())


def published_unimax(tokens: dict[str, float], budget: float, epochs: float) -> dict[str, float]:
    """Algorithm 1 of arXiv 2304.09151: from the smallest up, an equal part of what is left or all epochs."""
    left, shares = budget, {}
    for rank, name in enumerate(sorted(tokens, key=lambda name: tokens[name])):
        shares[name] = min(left / (len(tokens) - rank), epochs * tokens[name])
        left -= shares[name]
    return {name: given / sum(shares.values()) for name, given in shares.items()}


@given(st.lists(st.floats(1, 1e12), min_size=1, max_size=9), st.floats(0.5, 20), st.floats(0.01, 1))
def test_unimax_is_the_published_algorithm(sizes: list[float], epochs: float, part: float) -> None:
    tokens = {f"f{place}": size for place, size in enumerate(sizes)}
    budget = max(part * epochs * sum(sizes), 1.0)
    if budget > epochs * sum(sizes):
        return
    found = unimax(Inventory(tokens, budget), epochs)
    wanted = published_unimax(tokens, budget, epochs)
    assert dict(zip(found.families, found.shares, strict=True)) == pytest.approx(wanted, rel=1e-9)


@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 1)), min_size=1, max_size=9))
def test_water_filling_sums_and_holds_its_caps(rows: list[tuple[float, float]]) -> None:
    raw, caps = np.array(rows).T
    caps = caps / min(caps.sum(), 1.0)
    shares = filled(raw, caps)
    assert shares.sum() == pytest.approx(1)
    assert (shares <= caps * (1 + 1e-9)).all()
    free = shares < caps * (1 - 1e-9)
    levels = (shares / raw)[free]
    assert levels == pytest.approx(np.full(free.sum(), levels[0] if free.any() else 0), rel=1e-9)


def test_every_method_keeps_to_the_most_epochs() -> None:
    inventory = Inventory(TOKENS, 2e10, max_epochs=2.5)
    for found in (proportional(inventory), temperature(inventory), unimax(inventory), by_law(inventory, law())):
        assert sum(found.shares) == pytest.approx(1)
        assert max(found.epochs) <= 2.5 * (1 + 1e-9)


def test_repeated_tokens_are_worth_less_and_the_law_then_asks_for_fewer() -> None:
    inventory = Inventory(TOKENS, 3e10)
    plain, thrifty = by_law(inventory, law()), by_law(inventory, law(), repeats=True)
    indic = plain.families.index("indic")
    assert plain.epochs[indic] > 10
    assert plain.effective[indic] < plain.tokens[indic]
    assert thrifty.shares[indic] < plain.shares[indic]
    by_plain, by_thrifty = compare([plain, thrifty], inventory, law())
    assert by_thrifty.normalised_with_repeats < by_plain.normalised_with_repeats
    assert by_plain.normalised < by_thrifty.normalised


def test_the_law_gives_its_optimum() -> None:
    found = by_law(Inventory(TOKENS, 5e9), law())
    assert found.shares == pytest.approx(optimal_shares(np.ones(3), np.array(list(GAMMAS.values()))))
    assert found.notes == ()


def test_a_family_that_the_law_lacks_gets_the_stated_fallback() -> None:
    inventory = Inventory({**TOKENS, "turkic": 2e9}, 5e9)
    found = by_law(inventory, law(), unfitted="proportional")
    assert found.shares[found.families.index("turkic")] == pytest.approx(2 / 12)
    assert sum(found.shares) == pytest.approx(1)
    assert_told(found.notes[0], "proportional instead", whole=True)
    assert_told(by_law(inventory, law()).notes[0], "fitted exponent", "unimax 4", whole=True)


def test_a_comparison_has_the_losses_that_the_law_predicts() -> None:
    inventory = Inventory(TOKENS, 2e9)
    rows = compare([by_law(inventory, law()), proportional(inventory)], inventory, law(), n=5e8)
    assert rows[0].normalised < rows[1].normalised
    assert len(rows[0].losses) == 3
    assert rows[0].losses == pytest.approx(rows[0].losses_with_repeats, rel=1e-12)  # nothing repeats


@pytest.mark.parametrize("fallback", ["unimax", "proportional", "temperature"])
@pytest.mark.parametrize("epochs", [None, 3.0])
def test_no_method_wins_by_giving_unfitted_families_less(fallback: Fallback, epochs: float | None) -> None:
    inventory = Inventory({**TOKENS, "turkic": 2e8, "uralic": 6e9}, 2e10, epochs)
    ways = [by_law(inventory, law(), repeats=repeats, unfitted=fallback) for repeats in (False, True)]
    mixtures = [proportional(inventory), temperature(inventory), unimax(inventory, epochs or 4.0), *ways]
    room = known_share(ways[0], law())
    rows = compare(mixtures, inventory, law(), room=room)
    assert min(row.normalised_with_repeats for row in rows) == pytest.approx(rows[-1].normalised_with_repeats, rel=1e-9)
    known = np.array(mixtures[1].shares)[:3]
    if epochs is None:
        scaled = room * known / known.sum()
        assert rows[1].normalised == pytest.approx((scaled ** -np.array(list(GAMMAS.values()))).sum())
    assert rows[-1].losses == pytest.approx(np.array(ways[1].shares[:3]) ** -np.array(list(GAMMAS.values())))


@pytest.mark.parametrize(
    ("tokens", "budget", "epochs", "message"),
    [
        ({}, 1e9, None, "0 families: expected 1"),
        ({"a": -1.0}, 1e9, None, "'a' … -1.0 … 1"),
        ({"a": 1e9}, float("nan"), None, "budget nan: expected a count"),
        ({"a": 1e9}, 1e9, 0.0, "max_epochs 0.0: expected a number above zero"),
        ({"a": 1e9}, 5e9, 4.0, "5e+09 … 4 epochs"),
    ],
)
def test_an_inventory_that_makes_no_sense_is_refused(
    tokens: dict[str, float], budget: float, epochs: float | None, message: str
) -> None:
    with assert_refused(WinnowError, message):
        Inventory(tokens, budget, epochs)


def test_requests_that_make_no_sense_are_refused() -> None:
    inventory = Inventory(TOKENS, 5e9)
    with pytest.raises(WinnowError, match="temperature 0: expected"):
        temperature(inventory, 0)
    with pytest.raises(WinnowError, match="unimax: needs max_epochs"):
        unimax(inventory)
    with assert_refused(WinnowError, "law knows none"):
        by_law(Inventory({"klingon": 1e9}, 1e9), law())
    with assert_refused(WinnowError, "'unimx'", "'unimax'"):
        by_law(inventory, law(), unfitted="unimx")  # type: ignore[arg-type]
    with pytest.raises(WinnowError, match="the mixture's families differ"):
        compare([proportional(Inventory({"a": 1.0, "indic": 1.0}, 1.0))], inventory, law())


def test_families_are_in_the_order_of_their_names_whatever_the_order_of_the_mapping() -> None:
    shuffled = {"slavic": 3e9, "germanic": 6e9, "indic": 1e9}
    inventory = Inventory(shuffled, 5e9, max_epochs=4)
    assert inventory.families == ("germanic", "indic", "slavic")
    assert inventory.sizes.tolist() == [6e9, 1e9, 3e9]
    for method in (proportional, temperature, unimax):
        assert method(inventory) == method(Inventory(TOKENS, 5e9, max_epochs=4))


def test_limits_of_an_inventory_are_themselves_allowed_or_not() -> None:
    two = {"b": 3e9, "a": 1e9}
    inventory = Inventory(two, 6e9, max_epochs=1.5)  # exactly as much as there is
    assert inventory.caps is not None
    assert inventory.caps.tolist() == [0.25, 0.75]
    assert Inventory(two, 6e9).caps is None
    assert Inventory(two, 1e9, r_star=0.5).r_star == 0.5
    for more in ({"r_star": 0.0}, {"r_star": float("inf")}, {"r_star": float("nan")}, {"max_epochs": float("inf")}):
        with pytest.raises(WinnowError, match=f"^{next(iter(more))} "):
            Inventory(two, 1e9, **more)
    with pytest.raises(WinnowError, match="budget"):
        Inventory(two, 6.001e9, max_epochs=1.5)
    for tau in (-1.0, float("inf"), float("nan")):
        with pytest.raises(WinnowError, match="temperature"):
            temperature(inventory, tau)


def test_a_law_knows_the_share_of_its_own_families() -> None:
    known = proportional(Inventory(TOKENS, 5e9))
    assert known_share(known, law()) == 1.0
    half = proportional(Inventory({**TOKENS, "turkic": 4e9, "uralic": 6e9}, 5e9))
    assert known_share(half, law()) == pytest.approx(0.5)


def test_losses_are_powers_of_shares_and_totals_are_of_one_room() -> None:
    inventory = Inventory(TOKENS, 2e9)
    gammas = np.array([*GAMMAS.values()])
    (plain,) = compare([proportional(inventory)], inventory, law())
    wanted = np.array([0.6, 0.1, 0.3]) ** -gammas
    assert plain.losses == pytest.approx(wanted)
    assert plain.normalised == pytest.approx(wanted.sum())
    assert plain.normalised_with_repeats == pytest.approx(wanted.sum())  # nothing repeats
    wider = Inventory({**TOKENS, "turkic": 10e9}, 2e9)
    (half,) = compare([proportional(wider)], wider, law())
    assert half.losses == pytest.approx(np.array([0.3, 0.05, 0.15]) ** -gammas)
    assert half.normalised == pytest.approx((np.array([0.3, 0.05, 0.15]) ** -gammas).sum())
    (whole,) = compare([proportional(wider)], wider, law(), room=1.0)
    assert whole.normalised == pytest.approx(wanted.sum())
    assert whole.losses == half.losses
    for room in (0.0, -1.0, 1.01, float("nan")):
        with pytest.raises(WinnowError, match="room"):
            compare([proportional(wider)], wider, law(), room=room)
    with pytest.raises(WinnowError, match="none"):
        compare([], Inventory({"klingon": 1e9}, 1e9), law())


def test_weights_of_families_that_are_not_there_do_not_count() -> None:
    two = Inventory({"slavic": 3e9, "germanic": 6e9}, 1e9)
    weights = {"germanic": 2.0, "slavic": 1.0}
    found = by_law(two, law(), {**weights, "indic": 5.0}, n=1e9)
    assert found == by_law(two, law(), weights, n=1e9)
    assert found.families == ("germanic", "slavic")
    assert found.shares[0] > by_law(two, law(), dict.fromkeys(weights, 1.0), n=1e9).shares[0]
    with pytest.raises(WinnowError, match="klingon"):
        by_law(two, law(), {**weights, "klingon": 1.0}, n=1e9)
