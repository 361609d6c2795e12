"""Checks of config values beyond their type; `build` reads them from `Annotated`."""

import re
from dataclasses import Field, dataclass
from typing import Any, Protocol, runtime_checkable

NOT_WRITTEN = {"written": False}
"""`field(metadata=NOT_WRITTEN)`: the loader fills this field; it is no key of the recipe."""

LATER = {"later": True}
"""`field(metadata=LATER)`: a key that came after stores were made; at its default it is left out of layer keys."""


def is_in_keys(config: object, item: "Field[Any]") -> bool:
    """Whether a field of a configuration is part of its layer's key."""
    return not item.metadata.get("later") or getattr(config, item.name) != item.default


@runtime_checkable
class Check(Protocol):
    """A further condition on a value, placed in `Annotated`."""

    @property
    def expects(self) -> str:
        """The allowed values, to follow `expected`; empty if the type is enough."""

    def complaint(self, value: object) -> str | None:
        """The problem with a value of the right type, or None."""


@dataclass(frozen=True)
class Between:
    """A number within inclusive bounds."""

    low: float
    high: float
    expects: str = ""

    @property
    def bounds(self) -> str:
        """The bounds, in words."""
        return f"from {self.low:_} to {self.high:_}"

    def complaint(self, value: object) -> str | None:
        """Name the bounds if the value is outside them."""
        outside = isinstance(value, int | float) and not self.low <= value <= self.high
        return f"{value:_} is out of range; expected {self.bounds}" if outside else None


class SizeInBytes(int):
    """An integer that was written as a size (`10 GB`), so it is in bytes."""


@dataclass(frozen=True)
class Counted:
    """Marks an integer whose unit another key sets; allows `1e6`, and sizes if the unit may be bytes."""


@dataclass(frozen=True)
class Matching:
    """Text that a pattern matches as a whole."""

    pattern: str
    expects: str

    def complaint(self, value: object) -> str | None:
        """Name the allowed texts if the text does not match."""
        if not isinstance(value, str) or re.fullmatch(self.pattern, value):
            return None
        return f"{value[:60]!r} is not {self.expects}"


@dataclass(frozen=True)
class PathText:
    """A path or an address, which no shell reads: `~` and `$NAME` would be names of folders."""

    expects: str

    def complaint(self, value: object) -> str | None:
        """Say what to write instead of control characters, `~` and `$NAME`."""
        if not isinstance(value, str):
            return None
        if re.fullmatch(r"[^\x00-\x1f\x7f]{1,4096}", value) is None:
            return f"{value[:60]!r} is not {self.expects}"
        if re.match(r"~[^/]*(/|$)", value):
            return f"{value[:60]!r}: recipes do not expand '~'; write the whole path"
        if variable := re.match(r"\$([A-Za-z_]\w*)(/|$)", value):
            name = variable[1].upper()
            return f"{value[:60]!r}: write ${{{name}}}, and name {name} under 'environment', or write the whole path"
        return None


@dataclass(frozen=True)
class NotEmpty:
    """At least one item."""

    expects: str = ""

    def complaint(self, value: object) -> str | None:
        """Complain about an empty value."""
        return "must not be empty" if value in ((), "") else None


@dataclass(frozen=True)
class ByName:
    """Marks a tuple of dataclasses that is written as a mapping; the key goes into their field `name`.

    Instead of a mapping an item may be just the `word`, which sets the field of that name to true.
    """

    key: Matching
    word: str | None = None


@dataclass(frozen=True)
class Listed:
    """Marks a tuple of dataclasses that is written as a list of names, each alone or as `{name: options}`."""

    key: Matching


@runtime_checkable
class Parsed(Protocol):
    """Marks a value that is parsed from text, placed in `Annotated`."""

    @property
    def expects(self) -> str:
        """The expected text, in words."""

    def parse(self, text: str) -> object:
        """The value. Raises ValueError with a message for the user."""

    def render(self, value: object) -> str:
        """The text that parses to the value."""
