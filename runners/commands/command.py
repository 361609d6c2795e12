"""A command: one object in one file of a folder beside this one, or of an installed package.

The file's name is the command's, its folder the group in which help lists it. Another package says both itself, by an
entry point of the group `winnow.commands` and by `group`. Loading a command loads nothing heavy: help loads them all.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path

from winnow.schemas.errors import WinnowError

ENTRY_POINTS = "winnow.commands"


@dataclass(frozen=True, slots=True)
class Command:
    """What the command line knows of a command."""

    summary: str  # one line of help
    arguments: Callable[[argparse.ArgumentParser], None]  # adds them
    run: Callable[[argparse.Namespace], int]  # returns the exit status
    group: str = "installed"
    place: int = 100  # among those of its group
    beam: bool = False  # runs pipelines: flags after '--' go to Beam
    slow_start: bool = False  # prints results after something slow: what it begins with is for terminals alone
    usage: str | None = None
    epilog: str | None = None


def command_names() -> tuple[str, ...]:
    """The names of all commands."""
    return (*_own_modules(), *_entry_points())


def is_command(name: str) -> bool:
    """Whether there is a command of this name; other packages are asked only if this one has none."""
    return name in _own_modules() or name in _entry_points()


def find_command(name: str) -> Command:
    """Load one command; WinnowError if the package that brings it cannot be loaded."""
    if (module := _own_modules().get(name)) is not None:
        own: Command = import_module(module).COMMAND
        return replace(own, group=module.split(".")[-2])
    module, _, attribute = _entry_points()[name].partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise WinnowError(f"command {name!r} cannot be loaded: {error}") from error
    if not isinstance(found, Command):
        raise WinnowError(f"{name!r} is registered as a command but is not a Command; correct its entry point")
    return found


def commands_by_group() -> dict[str, dict[str, Command]]:
    """All commands in the order of the help: groups by name, those of installed packages last."""
    own = {module.split(".")[-2] for module in _own_modules().values()}
    found = {name: find_command(name) for name in command_names()}
    ordered = sorted(found.items(), key=lambda one: (one[1].group not in own, one[1].group, one[1].place, one[0]))
    groups: dict[str, dict[str, Command]] = {}
    for name, command in ordered:
        groups.setdefault(command.group, {})[name] = command
    return groups


@cache
def _own_modules() -> Mapping[str, str]:
    """The module of each command of this package: every file of a group's folder, and every folder in it."""
    files = sorted(Path(__file__).parent.glob("[!_]*/[!_]*"))  # none of a cache of compiled files
    modules = [file for file in files if file.suffix == ".py" or (file / "__init__.py").is_file()]
    return {file.stem.replace("_", "-"): f"{__package__}.{file.parent.name}.{file.stem}" for file in modules}


def _entry_points() -> Mapping[str, str]:
    """Commands of installed packages.

    The library that reads entry points takes longer to load than help to print, so files are asked first.
    """
    files = (file for folder in sys.path for file in Path(folder or ".").glob("*-info/entry_points.txt"))
    if not any(f"[{ENTRY_POINTS}]".encode() in file.read_bytes() for file in files):
        return {}
    from winnow.filters.entry_points import entry_points

    return {point.name: point.value for point in entry_points(ENTRY_POINTS) if point.name not in _own_modules()}
