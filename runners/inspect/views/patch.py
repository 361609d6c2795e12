"""The recipe with the changes that were tried, as a patch of its text; saved as a new file beside it, never over it."""

import difflib
from pathlib import Path

from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.trials.changes import changed_recipe, recipe_text
from winnow.runners.inspect.view import Answer, Asked, AskedError, UnavailableError, View
from winnow.schemas.problems import shown

_ENDINGS = (".yaml", ".yml")


def _answer(opened: Opened, asked: Asked) -> Answer:
    changed = changed_recipe(opened, asked.get("changes"))
    assert opened.recipe is not None  # or there are no changes
    before, file = recipe_text(opened.recipe), Path(opened.recipe.file)
    text, _ = changed.written
    proposed = _free(file)
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), text.splitlines(keepends=True), file.name, proposed.name
    )
    saved = asked.get("save")
    return {
        "text": text,
        "diff": "".join(line if line.endswith("\n") else f"{line}\n" for line in lines),
        "file": proposed.name,
        "saved": None if saved is None else str(_save(file, saved, text)),
    }


def _free(file: Path) -> Path:
    """A name beside the recipe that no file has."""
    names = (file.with_name(f"{file.stem}-{number}{file.suffix}") for number in range(2, 1000))
    return next((name for name in names if not name.exists()), file.with_name(f"{file.stem}-new{file.suffix}"))


def _save(file: Path, name: object, text: str) -> Path:
    """Write the new recipe; AskedError for a name that is taken, or that lies elsewhere."""
    if not isinstance(name, str) or not name.endswith(_ENDINGS) or Path(name).name != name or name.startswith("."):
        raise AskedError(f"save: expected the name of a new file beside {file.name}, such as {_free(file).name}")
    new = file.with_name(name)
    try:
        with new.open("x", encoding="utf-8", newline="") as stream:  # never one that exists, nor through a link
            stream.write(text)
    except FileExistsError:
        raise AskedError(f"{shown(name)} exists already; choose another name, such as {_free(file).name}") from None
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"{shown(name)}: cannot be written: {getattr(error, 'strerror', None) or error}"
        ) from None
    return new


VIEW = View(_answer)
