"""A view: what the page asks for by one name, one object in one file of the folder `views`.

Its answer is made of JSON values alone. What a store cannot show yet is said by `UnavailableError`, with the command
that would make it: the page shows that line in the view's place and goes on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from winnow.runners.inspect.opened import Opened
from winnow.schemas.errors import WinnowError

Asked: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Mapping[str, Any]


class UnavailableError(WinnowError):
    """A view that this store cannot show, in one line with what to do."""


class ReadingError(WinnowError):
    """A view whose rows are being read for the first time; the page asks again by itself."""


class AskedError(WinnowError):
    """A request that no page of this version makes: a missing field or one of another type."""


@dataclass(frozen=True, slots=True)
class View:
    """What the server knows of a view; its name is its file's."""

    answer: Callable[[Opened, Asked], Answer]
    seconds: float = 60.0  # the most that one answer may take


@cache
def views() -> Mapping[str, View]:
    """All views by name: what lies in the folder."""
    folder = Path(__file__).parent / "views"
    names = sorted(file.stem for file in folder.glob("*.py") if file.stem != "__init__")
    return {name: import_module(f"winnow.runners.inspect.views.{name}").VIEW for name in names}
