"""What Beam is told of a step's state and timers is what it would find itself."""

from collections.abc import Iterator

import apache_beam as beam
import pytest
from apache_beam.coders import VarIntCoder
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain

from winnow.pipelines.running.beam_inspection import inspect_once, state_and_timers

COUNT = userstate.ReadModifyWriteStateSpec("count", VarIntCoder())
DUE = userstate.TimerSpec("due", TimeDomain.WATERMARK)
ITS_COUNT, ITS_TIMER = beam.DoFn.StateParam(COUNT), beam.DoFn.TimerParam(DUE)


class Plain(beam.DoFn):
    def process(self, element: int) -> Iterator[int]:
        yield element


class Stateful(beam.DoFn):
    def process(self, element, count=ITS_COUNT, due=ITS_TIMER):  # type: ignore[no-untyped-def]
        yield element

    @userstate.on_timer(DUE)
    def at_due(self, count=ITS_COUNT):  # type: ignore[no-untyped-def]
        yield count.read()


@pytest.fixture(autouse=True)
def _asked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set in Beam is set back."""
    monkeypatch.setattr(userstate, "get_dofn_specs", userstate.get_dofn_specs)
    inspect_once()


def test_steps_with_state_are_told_from_steps_without_however_often_they_are_asked() -> None:
    for _ in range(3):
        assert state_and_timers(Plain()) == (set(), set())
        assert state_and_timers(Stateful()) == ({COUNT}, {DUE})
        assert not userstate.is_stateful_dofn(Plain())
        assert userstate.is_stateful_dofn(Stateful())


def test_a_method_that_an_object_was_given_is_looked_at() -> None:
    assert state_and_timers(Plain()) == (set(), set())
    given = Plain()
    given.process = Stateful().process  # type: ignore[method-assign]
    assert state_and_timers(given) == ({COUNT}, {DUE})
    assert state_and_timers(Plain()) == (set(), set())


def test_an_answer_is_nobodys_to_change() -> None:
    state_and_timers(Plain())
    states, _ = state_and_timers(Plain())
    states.add(COUNT)
    assert state_and_timers(Plain()) == (set(), set())


def test_beam_asks_the_class_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked(Plain):
        looks = 0

        def __dir__(self) -> list[str]:
            type(self).looks += 1
            return list(super().__dir__())

    with beam.Pipeline() as pipeline:
        pipeline | beam.Create([1, 2]) | "First" >> beam.ParDo(Asked()) | "Second" >> beam.ParDo(Asked())
    assert Asked.looks == 1
