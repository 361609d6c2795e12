"""Entry points of installed packages, by which they add operators, extractors and name models."""

import sys
from importlib import metadata

_READ: dict[tuple[str, ...], tuple[metadata.EntryPoint, ...]] = {}


def entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    """The entry points of a group, read once per `sys.path`, as that opens a file of every installed package."""
    key = (group, *sys.path)
    if key not in _READ:
        _READ[key] = tuple(metadata.entry_points(group=group))
    return _READ[key]
