"""Where the jobs of a command run: on an engine, or in this process if they are small.

Imports Beam only when it is called: a command that finds its answer in the store needs none of it.
"""

from typing import TYPE_CHECKING

from rich.console import Console

from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.store.generations import Store
from winnow.runners.terminal.console import TerminalConsole

if TYPE_CHECKING:
    from winnow.runners.engines.engine import Engine


def command_jobs(store: Store, name: str, engine: "Engine | None" = None, console: Console | None = None) -> Jobs:
    """Return where jobs run.

    Args:
        store: The store.
        name: What they do, for the progress.
        engine: Where they run; the processes of this machine if not given.
        console: Where progress is printed; the error output if there is none.
    """
    from winnow.runners.engines.engine import Engine
    from winnow.runners.stages.running.engine_jobs import EngineJobs
    from winnow.runners.stages.running.stage_run import StageRun

    shown = console or TerminalConsole(stderr=True)
    return EngineJobs(StageRun(shown, engine or Engine(), store), name)
