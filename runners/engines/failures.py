"""Translates errors of a pipeline into messages for the user."""

import re
from contextlib import suppress

from winnow.schemas.errors import StageError, WinnowError


class WorkerLostError(StageError):
    """A worker process died during a task; uncommitted work must be run again."""


_REMEDIES = {
    "No space left": "free some space and run the same command again",
    "Disk quota exceeded": "free some space and run the same command again",
    "File too large": "raise the limit on the size of files (ulimit -f) and run the same command again",
}
"""What to do about errors that the system gives to any write; it names no file in some of them."""

DIED = "a worker process died; committed work is kept, run the same command again"


def user_error(error: Exception) -> WinnowError | None:
    """The error that a worker raised, if a user can act on it."""
    if isinstance(error, WinnowError):
        return _of_kind(type(error), without_step(str(error)))
    if isinstance(error, OSError):
        return StageError(_system_error(str(error)))
    text = str(error)
    raised = re.findall(r"^(?:\S*\.)?(\w+(?:Error|Exception)): (.*)$", text, re.MULTILINE)
    for name, message in raised:
        kind = next((kind for kind in _kinds() if kind.__name__ == name), None)
        if kind is not None:
            return _of_kind(kind, without_step(message))
    for name, message in raised:
        if name in {"OSError", "IOError", "FileNotFoundError", "PermissionError"}:
            return StageError(_system_error(message))
    if re.search(r"Channel closed prematurely|worker .*(?:died|exited)|Socket closed|SDK Harness.*disconnected", text):
        return WorkerLostError(DIED)
    return None


def system_error(error: OSError) -> str:
    """The line of an error of the system outside pipelines."""
    found = _system_error(f"{error.filename or 'system'}: {error.strerror or error}")
    return found.replace("unfinished tasks were not committed", "committed work is kept")


def last_line(text: str) -> str:
    """The last line of an error report."""
    lines = [line for line in text.splitlines() if line.strip()]
    return without_step(lines[-1] if lines else "the pipeline failed without a message")


def _of_kind(kind: type[WinnowError], message: str) -> WinnowError:
    """An error of a kind with this message, or of the base kind if that takes more than a message."""
    for one in kind.__mro__:
        if issubclass(one, WinnowError):
            with suppress(TypeError):
                return one(message)
    return WinnowError(message)


def _kinds() -> list[type[WinnowError]]:
    found: list[type[WinnowError]] = []
    pending: list[type[WinnowError]] = [WinnowError]
    while pending:
        kind = pending.pop()
        found.append(kind)
        pending += kind.__subclasses__()
    return found


def without_step(message: str) -> str:
    """A message without the step name that Beam adds."""
    line = re.sub(r" \[while running '[^']*'\](?: with exceptions:.*)?", "", message.splitlines()[0]).strip()
    quoted = re.fullmatch(r"(['\"])((?:(?!\1).)*)\1", line)  # quoted as a whole, as in a KeyError
    return line if quoted is None else quoted[2]


def _system_error(message: str) -> str:
    line = without_step(message)
    remedy = next((remedy for words, remedy in _REMEDIES.items() if words in line), None)
    return line if remedy is None else f"{line}: unfinished tasks were not committed; {remedy}"
