"""Layers of operators: why a row is not measured."""

from winnow.schemas.tombstones import FORGOTTEN

NO_TEXT = "no_text"
STATUSES = ("ok", "not_selected", NO_TEXT, "no_input", "too_large", "left_out", FORGOTTEN)
"""The statuses of any operator's rows; an operator may add others."""
