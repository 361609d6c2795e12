"""What may stand in the condition of a rule, and in SQL: for completion while somebody types."""

from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.schemas.rules.conditions import FUNCTIONS


def answer(opened: Opened, _asked: Asked) -> Answer:
    """Columns with their types, functions, reasons and tables."""
    is_empty = opened.store.latest_record() is None
    columns = {} if is_empty else opened.tables.columns
    return {
        "columns": [{"name": name, "type": str(kind)} for name, kind in columns.items()],
        "functions": sorted(name for name in FUNCTIONS if name.replace("_", "").isalnum()),
        "reasons": [] if opened.recipe is None else list(dict.fromkeys(opened.recipe.rules.reasons)),
        "tables": [] if is_empty else list(opened.tables.schemas),
    }


VIEW = View(answer)
