"""What estimates compute, in memory: contents, rates, the rates that runs had, and tables of them."""

from dataclasses import replace

import pytest

from winnow.runners.estimating.amounts import StageEstimate, total
from winnow.runners.estimating.contents import Contents
from winnow.runners.estimating.measured import measured_rates, own_rates
from winnow.runners.estimating.rates import EngineRate, Rate, Rates, ingest_part
from winnow.runners.estimating.run_log import PartAmounts, RunRecord, add_part
from winnow.runners.estimating.scores import LayerSizes
from winnow.runners.estimating.tables import engine_rates, past_runs

RATES = Rates(
    "ours",
    (EngineRate("local", work=2.0, start_seconds=3.0),),
    (Rate("text.a", 1.0, written=0.3, row_microseconds=2.0), Rate("text.b", 4.0)),
)
LARGE = Contents(1_000_000, 8_000_000)  # ten seconds of text.a, two of text.b
PARTS = {"text.b": PartAmounts(100, 50, LARGE), "text.a": PartAmounts(100, 10, LARGE)}
RUN = RunRecord("annotate.cpu", "local", 2, 8, 10.0, 100, PARTS, shuffled=24)  # seven seconds of work
ALONE = RunRecord(
    "annotate.cpu", "odd", 1, 1, 90.0, 300, {"text.a": PartAmounts(300, 0, Contents(0, 10_000_000))}, cpu_seconds=30.0
)
SMALL = replace(RUN, parts={"text.b": PartAmounts(10, 40, Contents(0, 4_000_000))}, seconds=4.0, workers=1, tasks=0)
OLD = replace(RUN, parts={"text.a": PartAmounts(100, 99)}, seconds=900.0)


def test_contents_are_added_and_taken_in_parts() -> None:
    some = Contents(3, 100)
    assert some + Contents(1, 11) == Contents(4, 111)
    assert some * 4 == Contents(12, 400)
    assert [some.of_rows(rows) for rows in (0, 2, 6)] == [Contents(0, 0), Contents(2, 66), Contents(6, 200)]
    assert Contents().of_rows(5) == Contents(5, 0)
    parts: dict[str, PartAmounts] = {}
    add_part(parts, "x", 5, 7, some)
    add_part(parts, "y", 1, 1, some)
    add_part(parts, "x", 2, 1, some)
    assert parts == {"x": PartAmounts(7, 8, Contents(6, 200)), "y": PartAmounts(1, 1, some)}


def test_time_is_that_of_texts_and_of_rows() -> None:
    rate = Rate("x", 2.0, 0.5, 0.25, 5.0)
    assert rate.seconds(Contents(1_000_000, 4_000_000)) == pytest.approx(7)
    assert rate.slower(2) == Rate("x", 1.0, 0.5, 0.25, 10.0)
    assert [rate.slower(times).mb_per_second for times in (1e-9, 1e9)] == [1e6, 1e-6]
    table = [ingest_part(names) for names in ((), ("resiliparse",), ("main", "resiliparse"), ("main", "mine"))]
    assert table == ["ingest.none", "ingest.resiliparse", "ingest.main", "ingest.trafilatura"]
    whole = total([StageEstimate("a", 1, 2, 3, 4, 5.0), StageEstimate("b", 10, 20, 30, 40, 50.0)])
    assert whole == StageEstimate("total", 11, 22, 33, 44, 55.0)


def test_parts_of_runs_share_their_time_by_the_rates_that_are_known() -> None:
    one = measured_rates([RUN, OLD], RATES)
    assert [rate.name for rate in one] == ["text.a", "text.b"]
    found = {rate.name: rate for rate in one}
    slower = 7 / 12
    a, b = found["text.a"], found["text.b"]
    assert (a.mb_per_second, a.row_microseconds) == pytest.approx((1 / slower, 2 * slower))
    assert (a.written, a.shuffled) == pytest.approx((0.1, 24 * 10 / 12 / 100))
    assert (b.mb_per_second, b.row_microseconds) == pytest.approx((4 / slower, 0))
    assert (b.written, b.shuffled) == pytest.approx((0.5, 24 * 2 / 12 / 100))
    both = measured_rates([ALONE, SMALL, RUN], RATES, least_seconds=5.0)
    assert both[1] == b
    slower = (7 * 10 / 12 + 30) / 20
    assert (both[0].mb_per_second, both[0].written) == pytest.approx((1 / slower, 10 / 400))
    assert both[0].shuffled == pytest.approx(20 / 400)
    (small,) = measured_rates([SMALL], RATES)
    assert small.mb_per_second == pytest.approx(4 / 0.5)  # of four seconds, three are of one worker that starts
    (start,) = measured_rates([replace(SMALL, seconds=2.0)], RATES)
    assert start.mb_per_second == pytest.approx(4 / 0.1)  # a tenth of a run is work
    assert len(measured_rates([replace(RUN, seconds=3.0)], RATES, least_seconds=5.0)) == 2  # by estimate it was enough
    own = own_rates([RUN], RATES)
    assert own.of("text.a") == a
    assert own_rates([SMALL], RATES) == RATES


def test_engines_are_in_one_order_and_those_without_rates_have_none() -> None:
    known = (EngineRate("zeta", 3.0), EngineRate("spark", 2.0), EngineRate("alpha"))
    found = engine_rates(Rates("", known))
    assert [one.name for one in found] == ["local", "spark", "flink", "dataflow", "alpha", "zeta"]
    assert [one.work for one in found] == [1.0, 2.0, 1.0, 1.0, 1.0, 3.0]


def test_runs_of_a_stage_on_an_engine_are_one_line() -> None:
    again = replace(RUN, shuffled=None)
    odd, local = sorted(past_runs([RUN, ALONE, again], RATES).to_json(), key=lambda row: str(row["runs"]))
    assert [local[key] for key in ("stage", "engine", "runs", "tasks")] == ["annotate.cpu", "local", 2, 16]
    assert [local[key] for key in ("read", "shuffled", "written", "estimated_written")] == [200, 24, 120, 60]
    assert local["vcpu_hours"] == pytest.approx(40 / 3600)
    assert local["estimated_vcpu_hours"] == pytest.approx(2 * (12 * 2 + 3 * 2) / 3600)
    assert local["actual/estimate"] == pytest.approx(40 / 60)
    assert [odd[key] for key in ("engine", "runs", "shuffled", "estimated_written")] == ["odd", 1, "-", 90]
    assert (odd["vcpu_hours"], odd["actual/estimate"]) == pytest.approx((30 / 3600, 3))


def test_layers_are_as_large_as_they_are_or_as_their_operators_write() -> None:
    rates = Rates("", (), (Rate("text.a", written=0.5), Rate("text.b", written=0.25)))
    sizes = LayerSizes({"a": 100}, {"a": "text.a", "b": "text.b"}, held=1_000, fresh=200, rates=rates)
    assert sizes.existing(["a", "b", "samples"]) == 350
    assert sizes.upcoming(["a", "b"]) == 150
    assert sizes.upcoming(["a", "samples", "extracted.main"]) == 300
