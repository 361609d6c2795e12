"""Live progress of a job that stores its results only at its end, from the workers' heartbeats."""

from collections.abc import Mapping

from rich.console import Console

from winnow.pipelines.running.step_progress import steps_done
from winnow.pipelines.running.worker import heartbeat_seconds
from winnow.pipelines.store.facade import ObjectStore
from winnow.runners.terminal.progress.status import Status
from winnow.runners.terminal.progress.status_line import StatusLine


class JobProgress:
    """Shows which step a job is at, and how many of its parts are done."""

    def __init__(
        self, objects: ObjectStore, scratch: str, name: str, steps: Mapping[str, int], rounds_after: str = ""
    ) -> None:
        """Begin.

        `steps`: the most partitions of each step, in order; `rounds_after`: the step that rounds of further steps may
        follow.
        """
        self._objects = objects
        self._scratch = scratch
        self._name = name
        self._steps = dict(steps)
        self._rounds_after = rounds_after

    def shown(self, console: Console) -> StatusLine:
        """The status line, shown while the job runs."""
        return StatusLine(console, self.status({}), self._poll, heartbeat_seconds(self._objects))

    def status(self, done: Mapping[str, int]) -> Status:
        """The current step, the last one begun; steps differ in length, so no share of the whole is known."""
        begun = [step for step in self._steps if step in done]
        rounds = [step for step in done if step not in self._steps]
        at = begun[-1] if begun else next(iter(self._steps))
        if rounds and at.partition(".")[0] == self._rounds_after:  # of some kind of duplicates
            at = rounds[-1]
        most = f"/{self._steps[at]:,}" if at in self._steps else ""
        return Status(self._name, (f"{at}  {done.get(at, 0):,}{most} parts",))

    def _poll(self) -> Status:
        return self.status(steps_done(self._objects, self._scratch))
