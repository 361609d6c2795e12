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

    `name`: what they do, for the progress; `engine`: by default processes of this machine; `console`: the error output
    if not given.
    """
    from winnow.runners.engines.engine import Engine
    from winnow.runners.stages.running.engine_jobs import EngineJobs
    from winnow.runners.stages.running.stage_run import StageRun

    shown = console or TerminalConsole(stderr=True)
    return EngineJobs(StageRun(shown, engine or Engine(), store), name)
