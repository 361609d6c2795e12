"""What an error of a pipeline means to the person who started it."""

import re

from winnow.schemas.errors import StageError, WinnowError


class WorkerLostError(StageError):
    """A worker process died under a task; what it had not committed must be run again."""


DIED = "a worker process died; what was committed stays, run the same command again"


def known(error: Exception) -> WinnowError | None:
    """The error that a worker raised, if it is one that a user can act on."""
    if isinstance(error, WinnowError):
        return type(error)(without_step(str(error)))
    if isinstance(error, OSError):
        return StageError(_system_error(str(error)))
    text = str(error)
    raised = re.findall(r"^(?:\S*\.)?(\w+(?:Error|Exception)): (.*)$", text, re.MULTILINE)
    for name, message in raised:
        kind = next((kind for kind in _kinds() if kind.__name__ == name), None)
        if kind is not None:
            return kind(without_step(message))
    for name, message in raised:
        if name in {"OSError", "IOError", "FileNotFoundError", "PermissionError"}:
            return StageError(_system_error(message))
    if re.search(r"Channel closed prematurely|worker .*(?:died|exited)|Socket closed|SDK Harness.*disconnected", text):
        return WorkerLostError(DIED)
    return None


def last_line(text: str) -> str:
    """The line of a report that says what happened."""
    lines = [line for line in text.splitlines() if line.strip()]
    return without_step(lines[-1] if lines else "the pipeline failed without a message")


def _kinds() -> list[type[WinnowError]]:
    found: list[type[WinnowError]] = []
    pending: list[type[WinnowError]] = [WinnowError]
    while pending:
        kind = pending.pop()
        found.append(kind)
        pending += kind.__subclasses__()
    return found


def without_step(message: str) -> str:
    """A message without the step that Beam adds."""
    line = re.sub(r" \[while running '[^']*'\](?: with exceptions:.*)?", "", message.splitlines()[0]).strip()
    quoted = re.fullmatch(r"(['\"])((?:(?!\1).)*)\1", line)  # as a whole, as a KeyError says its key
    return line if quoted is None else quoted[2]


def _system_error(message: str) -> str:
    line = without_step(message)
    if "No space left" in line:
        return f"{line}: nothing of the unfinished tasks was committed; make room and run the same command again"
    return line
