"""What a finished run has made."""

from dataclasses import dataclass

from winnow.pipelines.export.stage import Finished
from winnow.runners.stages.mixing import Mixed
from winnow.runners.stages.publishing import Outcome


@dataclass(frozen=True)
class RecipeRun:
    """The result of `winnow run`."""

    outcome: Outcome  # of the store
    mixed: Mixed | None = None
    exported: tuple[Finished, ...] = ()
