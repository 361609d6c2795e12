"""The terminal that commands print to; the log file, if there is one, gets the same lines."""

from typing import IO, Any, cast

from rich.console import Console
from rich.control import Control

from winnow.runners.tables.escaping import visible
from winnow.runners.terminal.log_file import LOG, is_quiet

_ENDLESS_CELLS = 1_000_000


class TerminalConsole(Console):
    """A console whose lines are also logged; a quiet one prints nothing, and logs all the same."""

    def __init__(self, *, stderr: bool = False, quiet: bool = False) -> None:
        """What is printed is text, never markup; long lines are wrapped by the terminal, if it is one."""
        super().__init__(markup=False, highlight=False, soft_wrap=True, stderr=stderr, quiet=quiet or is_quiet())
        lines = cast(IO[str], _LoggedLines())
        self._logged = Console(file=lines, width=_ENDLESS_CELLS, color_system=None, markup=False, highlight=False)

    def print(self, *objects: Any, **named: Any) -> None:
        """Print, and log what was printed; what a plain line quotes, such as the name of a file, moves no cursor."""
        shown = [visible(one, keep="\n\t") if isinstance(one, str) else one for one in objects]
        super().print(*shown, **named)
        if LOG.handlers and not any(isinstance(one, Control) for one in shown):
            self._logged.print(*shown, **named)


class _LoggedLines:
    """A stream that logs every line."""

    def __init__(self) -> None:
        self._rest = ""

    def write(self, text: str) -> int:
        *lines, self._rest = f"{self._rest}{text}".split("\n")
        for line in lines:
            LOG.info("%s", line)
        return len(text)

    def flush(self) -> None: ...


def is_drawn_on(console: Console) -> bool:
    """Whether lines of a console can be redrawn: it is a terminal that moves its cursor, and not quiet."""
    return console.is_terminal and not console.is_dumb_terminal and not console.quiet
