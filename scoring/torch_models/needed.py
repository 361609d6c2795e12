"""Packages that models in PyTorch need and winnow does not."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Final

from winnow.schemas.errors import ScoreError

_PUBLISHED_AS: Final = {"PIL": "pillow"}


def needed(task: str, module: str) -> ModuleType:
    """A package; ScoreError where it is not installed, with the command that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = (error.name or module).partition(".")[0]
        missing = _PUBLISHED_AS.get(name, name)
        raise ScoreError(f"{task} needs the package {missing}; run: pip install 'winnow[torch]'") from None


def versions(*packages: str) -> tuple[str, ...]:
    """Packages with their versions, for the keys of layers; one that is missing is said to be missing when used."""
    return tuple(f"{name} {_version(name)}" for name in packages)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def one_line(error: BaseException) -> str:
    """What a package says went wrong, without its line breaks."""
    return " ".join(str(error).split())[:300] or type(error).__name__
