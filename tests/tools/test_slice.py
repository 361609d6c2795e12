"""The rotating part of `.ci/run`: sixteen of them run everything, and none is much dearer than another."""

from hypothesis import given
from hypothesis import strategies as st

from tools.slice import BENCHMARK, ENGINE, LARGE, PARTS, PROPERTY, SECONDS, Unit, benchmarks, part_of, turned

KINDS = st.lists(st.sampled_from([PROPERTY, LARGE, BENCHMARK, ENGINE]), max_size=300)


@given(kinds=KINDS)
def test_every_unit_is_in_exactly_one_part(kinds: list[str]) -> None:
    units = [Unit(kind, str(number)) for number, kind in enumerate(kinds)]
    assert [unit for part in range(PARTS) for unit in part_of(units, part)] == units


@given(kinds=KINDS)
def test_no_part_costs_more_than_its_share_and_one_unit(kinds: list[str]) -> None:
    units = [Unit(kind, str(number)) for number, kind in enumerate(kinds)]
    share = sum(SECONDS[kind] for kind in kinds) / PARTS
    for part in range(PARTS):
        assert sum(SECONDS[unit.kind] for unit in part_of(units, part)) <= share + max(SECONDS.values())


def test_what_one_round_leaves_out_comes_first_in_another() -> None:
    units = [Unit(kind, str(number)) for number, kind in enumerate([LARGE] * 8 + [BENCHMARK] * 2)]
    rounds = [turned(units, by) for by in range(4)]
    assert [found[0].name for found in rounds] == ["0", "2", "4", "6"]
    assert all(sorted(found, key=lambda unit: int(unit.name)) == units for found in rounds)


def test_benchmarks_are_found_where_they_lie() -> None:
    names = [unit.name for unit in benchmarks()]
    assert {"benchmarks.engines", "benchmarks.ingest", "benchmarks.pictures.networks"} <= set(names)
    assert not [name for name in names if name.startswith("benchmarks.inputs")]
