"""Packages that a few operators need and winnow does not: its extras."""

from importlib import import_module
from types import ModuleType

from winnow.schemas.errors import RecipeError

_PUBLISHED_AS = {"stdnum": "python-stdnum"}


def needed_package(operator: str, module: str, extra: str) -> ModuleType:
    """A package of one of winnow's extras; RecipeError where it is not installed, with the command that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = (error.name or module).partition(".")[0]
        missing = _PUBLISHED_AS.get(name, name)
        raise RecipeError(f"{operator} needs the package {missing}; run: pip install 'winnow[{extra}]'") from None
