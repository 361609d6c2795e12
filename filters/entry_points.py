"""The entry points of installed packages, through which they add operators, extractors and models of names."""

import sys
from importlib import metadata

_READ: dict[tuple[str, ...], tuple[metadata.EntryPoint, ...]] = {}


def entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    """Those of a group. They are read once for each `sys.path`, as that opens a file of every installed package."""
    key = (group, *sys.path)
    if key not in _READ:
        _READ[key] = tuple(metadata.entry_points(group=group))
    return _READ[key]
