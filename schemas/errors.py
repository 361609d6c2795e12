"""Errors for users: each is one line with the problem, the place and a remedy."""


class WinnowError(Exception):
    """Something the user can act on; the command line prints it without a traceback."""


class RecipeError(WinnowError):
    """The recipe cannot be used as written."""


class SourceError(WinnowError):
    """An input is missing, has changed or does not have the declared shape."""


class StoreError(WinnowError):
    """The store refuses an operation, or has invalid content."""


class StageError(WinnowError):
    """A stage ended before all of its tasks were committed."""


class ExportError(WinnowError):
    """A sample or setting that an export format cannot represent, or a foreign folder."""


class ScoreError(WinnowError):
    """A model, its weights or its reference cannot be used for scoring."""


def is_interrupted_query(error: BaseException) -> bool:
    """Whether DuckDB raised this because a signal arrived during a query; what the signal's handler raised is lost."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"
