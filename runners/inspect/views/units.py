"""The amounts in which rows can be counted: bytes, and tokens, pixels and seconds if some row has any."""

from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.units import units_of
from winnow.runners.inspect.view import Answer, Asked, View


def _answer(opened: Opened, _: Asked) -> Answer:
    return {"units": list(units_of(opened, frame_of(opened)).amounts)}


VIEW = View(_answer)
