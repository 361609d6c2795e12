"""What the store holds: the first thing that the page asks for."""

from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, View


def answer(opened: Opened, _asked: Asked) -> Answer:
    """Its name and its generation."""
    generation = opened.generation
    return {"name": opened.store.root, "generation": generation.number}


VIEW = View(answer)
