"""Operators and scores that are about to run: each is loaded once, and run on no row."""

from collections.abc import Callable, Iterator

import pyarrow as pa

from winnow.filters.extras import required_package
from winnow.filters.image.decode.stills import require_decoders
from winnow.filters.operators import PictureOperator
from winnow.filters.text.head import HeadConfig, heads_with_cards
from winnow.filters.video.decode.operator import VideoOperator
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.preflight.check import AskedOperators, AskedScores, Check
from winnow.pipelines.processes.exit_report import report_on_exit
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.problems import Problem, one_line
from winnow.scoring.mimic.direction import chosen_parameters
from winnow.scoring.protocol import IMAGE, Measure, Task, picture_type


def _failing_operators(about: AskedOperators) -> list[Problem]:
    """Operators with a bad setting or model, which would be found after hours of work."""
    with report_on_exit() as say:
        return [problem for bound in about.untried if (problem := _tried(bound, say))]


def _tried(bound: BoundOperator, say: Callable[[str], None]) -> Problem | None:
    """What is wrong with an operator."""
    name = bound.operator.name
    say(f"winnow: {Problem(bound.place, bound.path, f'the process ended in {name}, on an empty batch')}")
    try:
        if isinstance(bound.operator, PictureOperator) and not bound.operator.files:
            require_decoders()
        if isinstance(bound.operator, VideoOperator):
            required_package(bound.layer, "av", "video")
            bound.operator.load(bound.config, bound.assets)()
        else:
            bound.operator.load(bound.config, bound.assets)(pa.RecordBatch.from_pylist([], schema=bound.input_schema))
    except WinnowError as error:
        return Problem(bound.place, bound.path, str(error))
    except (OSError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  # of an operator of somebody else's, at worst
        said = f"{name} fails on an empty batch: {type(error).__name__}: {one_line(str(error))}; correct the operator"
        return Problem(bound.place, bound.path, said)
    return None


def _remarks(about: AskedOperators) -> Iterator[str]:
    """Notes on the files that the user gave the operators, each prefixed with its layer."""
    for bound in about.operators:
        for message in bound.operator.remarks(bound.config, bound.assets):
            yield f"{bound.layer}: {message}"


def _heads_of_other_vectors(about: AskedOperators) -> Iterator[Problem]:
    """Heads that were trained on vectors of another model: as long, perhaps, but with another meaning."""
    models = {bound.layer: bound.model for bound in about.operators}
    for bound in about.operators:
        if not isinstance(bound.config, HeadConfig):
            continue
        for name, head in heads_with_cards(bound.config, bound.assets):
            trained, now = head.embedding.get("model"), models.get(bound.config.embedding)
            if trained is not None and now is not None and trained != now:
                said = f"the head {name} was trained on vectors of another model than {bound.config.embedding} has"
                yield Problem(bound.place, bound.path, f"{said}; train it again")


_LOADED: set[str] = set()  # tasks that this process has loaded: a run checks at its beginning, and again when it scores


def _failing_scores(about: AskedScores) -> Iterator[Problem]:
    """Tasks with a missing package, a bad file or a wrong column, which would be found after hours of work."""
    for bound in about.scores:
        parameters: dict[str, Json] = {"parameters": list(bound.entry.parameters), "given": str(bound.input_schema)}
        loaded = fingerprint_of({**bound.settings, **parameters, "seed": bound.seed})
        if loaded in _LOADED:
            continue
        try:
            if bound.kind.measures:
                ready: Task | Measure = bound.measure()
            else:
                ready = task = bound.task()
                chosen_parameters(tuple(task.initial(bound.seed)), bound.entry.parameters)
                for one in (*bound.reference, *([bound.base] if bound.base else ()), *bound.trajectory):
                    one.read(task)
            if IMAGE in ready.reads:
                require_decoders()
            if bound.entry.frames is not None:
                required_package("watching videos", "av", "video")
            ready.encode(_no_rows(bound.input_schema, ready.side))  # columns of other types are refused
            _LOADED.add(loaded)
        except WinnowError as error:
            yield Problem(bound.entry.place, f"score.{bound.entry.name}", str(error))


def _no_rows(schema: pa.Schema, side: int) -> pa.RecordBatch:
    """What a task gets of no rows."""
    if (place := schema.get_field_index(IMAGE)) >= 0:
        schema = schema.set(place, pa.field(IMAGE, picture_type(side)))
    return pa.RecordBatch.from_pylist([], schema=schema)


CHECKS = (
    Check("failing-operators", AskedOperators, _failing_operators, order=1),
    Check("heads-of-other-vectors", AskedOperators, _heads_of_other_vectors, order=1),
    Check("operator-remarks", AskedOperators, _remarks, order=2),
    Check("failing-scores", AskedScores, _failing_scores),
)
