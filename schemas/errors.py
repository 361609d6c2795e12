"""The errors that a user may see: each is one clear line that says what, where and what to do."""


class WinnowError(Exception):
    """Something the user can act on; the command line prints it without a traceback."""


class RecipeError(WinnowError):
    """The recipe cannot be used as written."""


class SourceError(WinnowError):
    """An input is missing, has changed or does not have the declared shape."""


class StoreError(WinnowError):
    """The store refuses, or holds something it should not."""


class StageError(WinnowError):
    """A stage ended before all of its tasks were committed."""


class ExportError(WinnowError):
    """A sample or a setting that a format of export cannot hold, or a folder that is not ours."""


class ScoreError(WinnowError):
    """A model, its weights or its reference cannot score what they are asked to."""
