"""Pipelines in this process without Beam's runner: a few milliseconds a pipeline, where Beam is not what is tested.

Beam's FnApiRunner takes seconds for a graph of little data. Here the same graph, built by the same transforms, is
walked once: each step gets all elements of the step before it as one bundle, in a pickled copy of its function, as a
worker would. What a runner may do on top (bundles, retries, coders, orders, windows) is the subject of the tests that
are marked `beam`, and of the engine tests.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.internal import pickler
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import AppliedPTransform
from apache_beam.pvalue import PCollection
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState
from apache_beam.transforms import core, userstate
from apache_beam.transforms.core import CombinePerKey, Impulse
from apache_beam.transforms.util import Reshuffle
from apache_beam.transforms.window import TimestampedValue
from apache_beam.typehints.decorators import IOTypeHints
from apache_beam.utils.windowed_value import WindowedValue

from winnow.pipelines.running.exchange.engine import GroupInOneWindow
from winnow.runners.engines.backend import Launch, Request
from winnow.runners.engines.flags import beam_options
from winnow.runners.engines.local import Local

Said = TypeVar("Said")


class InlineRunner(PipelineRunner):
    """Runs a pipeline of the steps that winnow's pipelines are made of."""

    def run_pipeline(self, pipeline: beam.Pipeline, options: PipelineOptions) -> PipelineResult:
        """Every step once, in the order in which they were applied."""
        values: dict[PCollection[Any] | None, list[Any]] = {}
        _run(pipeline._root_transform(), values)
        return _Done(PipelineState.DONE)


class _Done(PipelineResult):
    def wait_until_finish(self, duration: int | None = None) -> str:
        return str(self.state)


def _run(step: AppliedPTransform, values: dict[Any, list[Any]]) -> None:
    """One applied transform: what is known as a whole is run as a whole, all else by its parts."""
    transform = step.transform
    given = [element for one in step.inputs for element in values.get(one, ())]
    if isinstance(transform, Impulse):
        made: list[Any] = [b""]
    elif isinstance(transform, beam.Flatten | Reshuffle | beam.WindowInto):
        made = given
    elif isinstance(transform, CombinePerKey):
        made = _combined(transform, given)
    elif isinstance(transform, beam.GroupByKey):
        made = _grouped(given)
    elif isinstance(transform, beam.ParDo):
        made = _bundle(transform, given)
    else:
        for part in step.parts:
            _run(part, values)
        if step.transform is not None and not step.parts and step.outputs:
            assert set(step.outputs.values()) <= values.keys() | set(step.inputs), f"unknown step {step.full_label}"
        return
    for output in step.outputs.values():
        values[output] = made


def _bundle(transform: beam.ParDo, given: list[Any]) -> list[Any]:
    step = _copy(transform.fn)
    arguments, named = transform.args, transform.kwargs
    step.setup()
    try:
        step.start_bundle()
        made = [_bare(one) for element in given for one in step.process(element, *arguments, **named) or ()]
        made += [_bare(one) for one in step.finish_bundle() or ()]
    finally:
        step.teardown()
    return made


def _combined(transform: CombinePerKey, given: list[Any]) -> list[Any]:
    combine = _copy(transform.fn)
    made = []
    for key, elements in _grouped(given):
        total = combine.create_accumulator()
        for element in elements:
            total = combine.add_input(total, element)
        made.append((key, combine.extract_output(combine.merge_accumulators([total]))))
    return made


def _grouped(given: list[Any]) -> list[tuple[Any, list[Any]]]:
    groups: dict[Any, list[Any]] = {}
    for key, value in given:
        groups.setdefault(key, []).append(value)
    return list(groups.items())


def _bare(element: Any) -> Any:
    return element.value if isinstance(element, TimestampedValue | WindowedValue) else element


def _copy(function: Any) -> Any:
    """As it arrives at a worker."""
    return pickler.roundtrip(function)


class Switch:
    """Whether one worker of `local` is this process without Beam's runner."""

    def __init__(self) -> None:
        self.on = True


INLINE = Switch()
_launch = Local.launch
_specs_of = userstate.get_dofn_specs
_mixes_yield_and_return = core._check_fn_use_yield_and_return
_origin_of_hints = IOTypeHints._make_origin
_expand_reshuffle = Reshuffle.expand
_expand_groups = GroupInOneWindow.expand


def specs_of(dofn: beam.DoFn) -> tuple[set[Any], set[Any]]:
    """In place of Beam's: none, for no step of winnow has state or timers. Beam asks each method of each step
    twice, which is a quarter of the time of small pipelines."""
    return (set(), set()) if INLINE.on else _specs_of(dofn)


def mixes_yield_and_return(function: Any) -> bool:
    """In place of Beam's, which parses the source of each step again for a warning in the log."""
    return not INLINE.on and _mixes_yield_and_return(function)


def origin_of_hints(*arguments: Any, **named: Any) -> list[str]:
    """In place of Beam's, which formats a stack for each type hint, to be shown if it does not fit."""
    return [] if INLINE.on else _origin_of_hints(*arguments, **named)


def expand_reshuffle(self: Reshuffle, given: PCollection[Any]) -> PCollection[Any]:
    """In place of `Reshuffle.expand`: its eight steps change no value, and no inline step goes to another worker."""
    return PCollection.from_(given) if _is_inline(given.pipeline) else _expand_reshuffle(self, given)


def expand_groups(self: GroupInOneWindow, given: PCollection[Any]) -> PCollection[Any]:
    """In place of `GroupInOneWindow.expand`: its windows are for engines that hold groups in memory."""
    return given | beam.GroupByKey() if _is_inline(given.pipeline) else _expand_groups(self, given)


def _is_inline(pipeline: beam.Pipeline) -> bool:
    return isinstance(pipeline.runner, InlineRunner)


def remembered(say: Callable[[Any], Said]) -> Callable[[Any], Said]:
    """In place of what Beam asks of the same functions of steps again and again: their signatures, their type hints. A
    third of the time of a search for duplicates."""
    said: dict[tuple[FunctionType, bool], Said] = {}

    def of(function: Any) -> Said:
        plain = getattr(function, "__func__", function)
        if not INLINE.on or not isinstance(plain, FunctionType) or plain.__closure__:
            return say(function)
        key = plain, plain is function  # a method has no `self` in its signature
        if key not in said:
            said[key] = say(function)
        return said[key]

    return of


@contextmanager
def launched(self: Local, request: Request, log: Path) -> Iterator[Launch]:
    """In place of `Local.launch`: one worker without flags of Beam's is run inline."""
    if INLINE.on and request.workers == 1 and not request.flags:
        yield Launch(InlineRunner(), beam_options(request.flags))
    else:
        with _launch(self, request, log) as launch:
            yield launch
