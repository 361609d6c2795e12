"""Says what is wrong with a file of a store, in one line: the file, the damage, and the command that mends it."""

from collections.abc import Iterator
from contextlib import contextmanager

from winnow.pipelines.store import layout
from winnow.schemas.errors import StoreError
from winnow.schemas.rows.duplicates import DUPLICATES
from winnow.schemas.rows.scores import SCORES, TRACES

DROP_OLDER = "the latest generation does without it: run 'winnow gc --keep 1 STORE', which drops the older ones"

_INGEST = "run 'winnow ingest RECIPE', which makes it again"
_REMEDIES = (
    (layout.STORE_RECORD, "run 'winnow ingest RECIPE', which writes it again from the recipe"),
    (layout.SAMPLES_OBJECTS, _INGEST),
    (layout.QUARANTINE, _INGEST),
    (layout.DROPPED, _INGEST),
    (layout.STATISTICS, "run 'winnow stats STORE', which counts it again"),
    (layout.INTAKE, "put back a copy of it, or ingest into a new store"),
    (layout.MANIFESTS, "run 'winnow ingest RECIPE', which writes it again from its commits, or says what else does"),
    (layout.GENERATIONS, "run 'winnow run RECIPE', which publishes it again from its commits"),
    (layout.VERDICTS, "'winnow dedupe RECIPE' compares its texts again where it needs them"),
    (layout.POISON, "if its row kills workers again, it is recorded again"),
    (layout.WEIGHTS, "run 'winnow score RECIPE', which makes the weights again"),
    (layout.RULE_DECISIONS, "run 'winnow plan RECIPE', which decides again"),
    (layout.CLUSTERS, "run 'winnow duplicates RECIPE', which counts again"),
    (layout.DECISIONS, "run 'winnow score RECIPE', which makes it again"),
    (layout.PLANS, "delete the folder's plan.json and run 'winnow mix RECIPE'"),
    (layout.TOMBSTONES, "run 'winnow forget' again with the same request"),
    (layout.HIDDEN, "its rows are found again"),
    (layout.OUTPUTS, "run 'winnow gc STORE', which writes it again from its copy, if there is one"),
    (layout.COPIES, "run 'winnow gc STORE', which copies the record in outputs/ again"),
    (layout.KNOWN_HARM, "run 'winnow ingest RECIPE', which compares again"),
    (layout.NODE_FILES, "the next command that runs on other machines puts it there again"),
    (layout.PURGE, "run 'winnow gc --purge STORE' again"),
)
_STAGES = (("extract.", "ingest"), (DUPLICATES, "dedupe"), (SCORES, "score"), (TRACES, "score"), ("mix.", "mix"))


class DamagedError(StoreError):
    """A file of the store is not what was written."""


class MissingError(StoreError):
    """A file that a record of the store names is not there."""


def damaged(root: str, path: str, what: str) -> DamagedError:
    """The error of a file that is not what was written, such as `its bytes have the hash 12ab`."""
    problem, asked = what.rstrip("."), remedy(path)
    first = "" if asked.startswith(("put back", "delete")) else "delete it; "
    return DamagedError(f"{root}: {path} is damaged: {problem}; {first}{asked}")


def foreign(root: str, path: str) -> DamagedError:
    """The error of a record whose owner is not the store that `store.json` names: either may be the wrong one."""
    return DamagedError(
        f"{root}: {path} is damaged: it belongs to another store than {layout.STORE_RECORD}; delete the one of the two "
        f"that was put here from elsewhere; then {remedy(path)}, or for {layout.STORE_RECORD} {_INGEST}"
    )


def missing(root: str, path: str) -> MissingError:
    """The error of a file that some record names and that is not there."""
    return MissingError(f"{root}: {path} is missing; {remedy(path)}")


@contextmanager
def of_a_generation(*, older: bool) -> Iterator[None]:
    """Says what mends a store where a file is lost or damaged that only generations before the latest need.

    Read the latest first: a file that it needs, too, has another remedy.
    """
    try:
        yield
    except (DamagedError, MissingError) as error:
        if not older:
            raise
        raise type(error)(for_older(str(error))) from error


def for_older(line: str) -> str:
    """A line on a file that only generations before the latest need, with what mends the store then."""
    return f"{line.partition('; ')[0]}; {DROP_OLDER}"


def first_line(error: Exception) -> str:
    """What a library says, in one line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def remedy(path: str) -> str:
    """What mends the store once a file is gone."""
    if path.startswith((layout.LAYER_COMMITS, layout.LAYER_SETS)):
        return "run 'winnow run RECIPE', which makes it again"
    if path.startswith((layout.LAYERS, layout.COMMITS)):
        layer = path.split("/")[1]
        return f"run 'winnow {stage_of(layer)} RECIPE', which makes it again"
    for prefix, what_mends in _REMEDIES:
        if path.startswith(prefix):
            return what_mends
    return "nothing needs it"


def stage_of(layer: str) -> str:
    """The command that makes a layer."""
    if layer == layout.SAMPLES:
        return "ingest"
    return next((stage for prefix, stage in _STAGES if layer.startswith(prefix)), "annotate")
