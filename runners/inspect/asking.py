"""Reads the fields of a request, each of one type; what a page of this version never sends is an `AskedError`."""

from collections.abc import Sequence

from winnow.runners.inspect.view import Asked, AskedError
from winnow.schemas.problems import shown, suggestion


def text_of(asked: Asked, name: str, otherwise: str | None = None) -> str:
    """A text; if it is missing, the other value, or an error if there is none."""
    value = asked.get(name, otherwise)
    if not isinstance(value, str):
        raise AskedError(f"{name}: expected a text, found {shown(str(value))}")
    return value


def choice_of(asked: Asked, name: str, among: Sequence[str], otherwise: str) -> str:
    """One of some texts."""
    value = text_of(asked, name, otherwise)
    if value not in among:
        raise AskedError(f"{name}: there is no {shown(value)}{suggestion(value, among)}")
    return value


def number_of(asked: Asked, name: str, otherwise: int, least: int = 0, most: int = 1 << 31) -> int:
    """A whole number within bounds."""
    value = asked.get(name, otherwise)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise AskedError(f"{name}: expected a whole number from {least:,} to {most:,}, found {shown(str(value))}")
    return value


def switch_of(asked: Asked, name: str, *, otherwise: bool) -> bool:
    """True or false."""
    value = asked.get(name, otherwise)
    if not isinstance(value, bool):
        raise AskedError(f"{name}: expected true or false, found {shown(str(value))}")
    return value
