"""Optional packages of PyTorch models: imports, versions and errors."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Final

from winnow.schemas.errors import ScoreError
from winnow.schemas.problems import one_line as printable_line

_PUBLISHED_AS: Final = {"PIL": "pillow"}


def required_package(task: str, module: str) -> ModuleType:
    """Import a package; ScoreError with the install command if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = (error.name or module).partition(".")[0]
        missing = _PUBLISHED_AS.get(name, name)
        raise ScoreError(f"{task} needs the package {missing}; run: pip install 'winnow[torch]'") from None


def versions(*packages: str) -> tuple[str, ...]:
    """Packages with their versions, for layer keys; a missing one is reported when it is used."""
    return tuple(f"{name} {_version(name)}" for name in packages)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def one_line(error: BaseException) -> str:
    """A package's error message without line breaks and control characters."""
    return printable_line(" ".join(str(error).split()), 300) or type(error).__name__
