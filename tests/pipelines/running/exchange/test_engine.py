"""No grouping sets an element back in time: an engine that goes by watermarks would drop it as late."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms import window
from apache_beam.utils.timestamp import MIN_TIMESTAMP, Timestamp

from winnow.pipelines.running.exchange.engine import GroupInOneWindow
from winnow.runners.engines.flags import beam_options

LATEST = window.GlobalWindow().end
INSTANTS = {"first": MIN_TIMESTAMP, "zero": Timestamp(0), "last": LATEST}


@pytest.mark.parametrize("groupings", [1, 2])
def test_a_group_comes_out_when_every_window_ends(tmp_path: Path, groupings: int) -> None:
    with beam.Pipeline(runner=FnApiRunner(), options=beam_options([])) as pipeline:
        keyed = pipeline | beam.Create(list(INSTANTS)) | beam.Map(_placed).with_output_types(tuple[int, bytes])
        for number in range(groupings - 1):
            keyed = (
                keyed
                | f"Group{number}" >> GroupInOneWindow()
                | f"Spread{number}" >> beam.FlatMap(_spread).with_output_types(tuple[int, bytes])
            )
        found = keyed | GroupInOneWindow() | beam.Map(_noted).with_output_types(str)
        found | beam.io.WriteToText(str(tmp_path / "found"), shard_name_template="")
    (line,) = (tmp_path / "found").read_text().splitlines()
    key, count, micros = (int(number) for number in line.split(","))
    assert (key, count) == (0, len(INSTANTS))
    assert micros // 1000 == LATEST.micros // 1000


def _noted(group: tuple[int, Iterable[bytes]], at: object = beam.DoFn.TimestampParam) -> str:
    assert isinstance(at, Timestamp)
    return f"{group[0]},{len(list(group[1]))},{at.micros}"


def _placed(name: str) -> "window.TimestampedValue[tuple[int, bytes]]":
    return window.TimestampedValue((0, name.encode()), INSTANTS[name])


def _spread(group: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
    for value in group[1]:
        yield group[0], value
