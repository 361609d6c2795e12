"""Scoring tasks: a model and the loss of each sample, behind one small protocol.

The task `linear_head` is the object `TASK` of `scoring/tasks/linear_head.py`.
"""

import pkgutil
from functools import lru_cache
from importlib import import_module

from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import suggestion
from winnow.scoring.protocol import TaskKind

__all__ = ["find_task", "task_names"]


@lru_cache(maxsize=1)
def task_names() -> tuple[str, ...]:
    """The names of all tasks."""
    return tuple(sorted({module.name for module in pkgutil.iter_modules(__path__)} - {"labels"}))


def find_task(name: str) -> TaskKind:
    """The task with this name; the error for an unknown name suggests the nearest."""
    if name not in task_names():
        raise RecipeError(
            f"unknown task {name!r}{suggestion(name, task_names())}; available: {', '.join(task_names())}"
        )
    found: TaskKind = import_module(f"{__name__}.{name}").TASK
    return found
