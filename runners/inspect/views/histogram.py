"""How the values of a measure are spread, with the thresholds that rules compare it with."""

import numpy as np

from winnow.runners.inspect.asking import number_of, text_of
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.counting import counts_of
from winnow.runners.inspect.dimensions import BINS, MOST_BINS, dimension_of
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, UnavailableError, View
from winnow.schemas.rules.conditions import cuts_of


def _answer(opened: Opened, asked: Asked) -> Answer:
    frame = frame_of(opened)
    name, bins = text_of(asked, "column"), number_of(asked, "bins", BINS, 1, MOST_BINS)
    dimension = dimension_of(opened, frame, name, bins)
    if not dimension.edges:
        raise UnavailableError(f"{name} is not a number, so it has no histogram; it is a chart of its values instead")
    among = chosen_rows(opened, frame, asked.get("filter"))
    state = np.where(among, frame.kept.view(np.uint8), np.uint8(2))
    counts = counts_of(dimension.codes, len(dimension.labels), state, 3)[:, :2]
    return {
        "column": name,
        "edges": list(dimension.edges),
        "ends": None if dimension.ends is None else list(dimension.ends),
        "counts": counts[:-1].sum(axis=1).tolist(),
        "kept": None if frame.why_no_rules else counts[:-1, 1].tolist(),
        "undecided": frame.why_no_rules,
        "nulls": int(counts[-1].sum()),
        "thresholds": [
            {
                "reason": one.rule.reason,
                "list": one.phase,
                "cut": number,
                "op": cut.operator,
                "value": cut.value,
                "table": cut.table or None,
            }
            for one in frame.rules.rules
            for number, cut in enumerate(cuts_of(one.rule.drop))
            if cut.column == name
        ],
    }


VIEW = View(_answer)
