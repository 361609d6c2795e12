"""What the user must provide for some operators: optional packages (winnow's extras), and a model in the recipe.

Errors of these packages become one line.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from winnow.schemas.errors import RecipeError, WinnowError

_PUBLISHED_AS = {"stdnum": "python-stdnum"}


def required_package(operator: str, module: str, extra: str) -> ModuleType:
    """Import a package of one of winnow's extras; RecipeError with the install command if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = (error.name or module).partition(".")[0]
        missing = _PUBLISHED_AS.get(name, name)
        raise RecipeError(f"{operator} needs the package {missing}; run: pip install 'winnow[{extra}]'") from None


def one_line(error: BaseException) -> str:
    """A package's error message without line breaks."""
    return " ".join(str(error).split())[:300]


@contextmanager
def one_line_errors(what: str, hint: str = "", kind: type[WinnowError] = RecipeError) -> Iterator[None]:
    """Turn any error or panic of a package into a one-line error: packages have no error class of their own."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise kind(f"{what}: {one_line(error) or type(error).__name__}{'; ' if hint else ''}{hint}") from None


def required_model(operator: str, model: str, expected: str) -> str:
    """The model that the recipe names; RecipeError if it names none."""
    if not model:
        raise RecipeError(f"{operator}: `model` is not set; expected {expected}")
    return model
