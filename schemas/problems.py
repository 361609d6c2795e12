"""Places in files, and problems that point to them: one line each, reported together."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from winnow.schemas.errors import RecipeError

MAX_REPORTED = 20
MAX_NAMED = 10  # names offered in place of an unknown one

UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # neither UTF-8 nor any file name or Arrow string holds these


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file, under the name that the user gave the file."""

    file: str
    line: int  # 0: the file as a whole

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with its setting and line."""

    place: Place
    where: str  # the setting's dotted path, such as `sources.crawl` or `eligible[3]`; empty for the whole file
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.place), self.where, self.message) if part)


class Problems:
    """Collects problems, so that one run shows all of them."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}  # a dict keeps the order and drops what is found twice

    def add(self, place: Place, where: str, message: str) -> None:
        """Record one problem and continue."""
        self._found[Problem(place, where, message)] = None

    def __len__(self) -> int:
        return len(self._found)

    def stop_if_any(self) -> None:
        """Raise the collected problems.

        Raises:
            RecipeError: One line per problem, sorted by file and line; at most `MAX_REPORTED`.
        """
        if self._found:
            raise recipe_error(self._found)


def recipe_error(problems: Iterable[Problem]) -> RecipeError:
    """All problems as one error: one line each, sorted by file and line, the first `MAX_REPORTED` of them."""
    lines = [str(problem) for problem in sorted(problems, key=lambda problem: problem.place)]
    if len(lines) > MAX_REPORTED:
        lines[MAX_REPORTED:] = [f"… and {len(lines) - MAX_REPORTED} more"]
    return RecipeError("\n".join(lines))


def shown(text: str, limit: int = 60) -> str:
    """The text in quotes, shortened and escaped, so that a message stays one short line."""
    return repr(text if len(text) <= limit else text[:limit] + "…")


def one_line(text: str, limit: int = 200) -> str:
    """A name from a file or of one, unquoted; escaped where it would break a message's line or hide in it."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return cut if cut.isprintable() else repr(cut)[1:-1]


def listed(names: Sequence[str], most: int = 6, between: str = ", ") -> str:
    """The first names, and the number of others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{between.join(names[:most])}{more}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to a misspelt one."""
    if len(name) > 100:  # too long for a misspelt setting, and the comparison is quadratic
        return None
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1)), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'class'?)`, or the available names if none is near: of many the most similar, best first."""
    names = sorted(known)
    if (near := nearest(name, names)) is not None:
        return f" (did you mean {near!r}?)"
    if not names:
        return ""
    if len(names) > MAX_NAMED and len(name) <= 100:
        names.sort(key=lambda one: -difflib.SequenceMatcher(None, one, name).ratio())
    return f" (known: {', '.join(names[:MAX_NAMED])}{', …' if len(names) > MAX_NAMED else ''})"
