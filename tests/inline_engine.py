"""Pipelines in this process without Beam's runner: a few milliseconds a pipeline, where Beam is not what is tested.

Beam's FnApiRunner takes seconds for a graph of little data. Here the same graph, built by the same transforms, is
walked once: each step gets all elements of the step before it as one bundle, in a pickled copy of its function, as a
worker would. What a runner may do on top (bundles, retries, coders, orders, windows) is the subject of the tests that
are marked `beam`, and of the engine tests.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

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
from winnow.runners.engines import local
from winnow.runners.engines.backend import Backend, Launch, Request
from winnow.runners.engines.flags import beam_options
from winnow.schemas.errors import WinnowError


class InlineRunner(PipelineRunner):
    """Runs a pipeline of the steps that winnow's pipelines are made of."""

    def apply(self, transform: beam.PTransform[Any, Any], input: Any, options: PipelineOptions) -> Any:
        """Simpler steps than other runners need: no step goes to another worker, and groups are in memory anyway."""
        if isinstance(transform, Reshuffle):
            return PCollection.from_(input)
        if isinstance(transform, GroupInOneWindow):
            return input | beam.GroupByKey()
        return super().apply(transform, input, options)

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


class Inline:
    """The engine that tests get by the name `local`: one worker without flags of Beam's is run inline."""

    is_local = True

    def uses_nodes(self, _: Request) -> bool:
        """No."""
        return False

    def __init__(self, local: Backend) -> None:
        self.local = local
        self.on = True  # whether Beam is not what is tested

    def check(self, request: Request) -> None:
        """What the engine itself refuses."""
        self.local.check(request)

    @contextmanager
    def launch(self, request: Request, log: Path) -> Iterator[Launch]:
        """The inline runner, or Beam's."""
        if self.on and request.workers == 1 and not request.flags:
            yield Launch(InlineRunner(), beam_options(request.flags))
        else:
            with self.local.launch(request, log) as launch:
                yield launch

    def translated_error(self, message: str) -> WinnowError | None:
        """What the engine itself says."""
        return self.local.translated_error(message)


INLINE = Inline(local.LOCAL)
_specs_of = userstate.get_dofn_specs
_mixes_yield_and_return = core._check_fn_use_yield_and_return
_origin_of_hints = IOTypeHints._make_origin
_hints_of = IOTypeHints.from_callable


def install() -> None:
    """Make `local` inline.

    Four functions of Beam are replaced beside it, since Beam calls them while steps are made, before a runner is asked:
    a small search for duplicates takes 0.45 s of processor time with them and 0.85 s without. Each says what it gains.
    """
    local.LOCAL = INLINE
    userstate.get_dofn_specs = specs_of
    core._check_fn_use_yield_and_return = mixes_yield_and_return
    IOTypeHints._make_origin = staticmethod(origin_of_hints)  # type: ignore[method-assign]
    IOTypeHints.from_callable = staticmethod(hints_of)  # type: ignore[method-assign, assignment]


def specs_of(dofn: beam.DoFn) -> tuple[set[Any], set[Any]]:
    """None, for no step of winnow has state or timers; Beam asks each method of each step twice (0.10 s)."""
    return (set(), set()) if INLINE.on else _specs_of(dofn)


def mixes_yield_and_return(function: Any) -> bool:
    """No; Beam parses the source of each step again for a warning in the log (0.03 s)."""
    return not INLINE.on and _mixes_yield_and_return(function)


def origin_of_hints(*arguments: Any, **named: Any) -> list[str]:
    """Nowhere; Beam formats a stack for each type hint, to be shown if it does not fit (0.03 s)."""
    return [] if INLINE.on else _origin_of_hints(*arguments, **named)


_hints: dict[tuple[FunctionType, bool], IOTypeHints | None] = {}


def hints_of(function: Any) -> IOTypeHints | None:
    """What Beam says, asked once of a function and not for each step that is made of it (0.05 s)."""
    plain = getattr(function, "__func__", function)
    if not INLINE.on or not isinstance(plain, FunctionType) or plain.__closure__:
        return _hints_of(function)
    key = plain, plain is function  # a method has no `self` in its signature
    if key not in _hints:
        _hints[key] = _hints_of(function)
    return _hints[key]
