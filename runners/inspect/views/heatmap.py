"""Rules by languages: the share of each language's rows that each rule drops, and what it drops of all (`all`)."""

import numpy as np

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.counting import bits_by_code, counts_of
from winnow.runners.inspect.dimensions import dimension_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.trials.simulation import decided_frame
from winnow.runners.inspect.view import Answer, Asked, View

_MOST_LANGUAGES = 60


def _answer(opened: Opened, asked: Asked) -> Answer:
    frame = decided_frame(opened)
    among = chosen_rows(opened, frame, asked.get("filter"))
    first, names = dimension_of(opened, frame, "reason"), len(frame.languages)
    codes = np.where(among, first.codes, np.uint16(len(first.labels)))
    of_first = counts_of(frame.language, names, codes, len(first.labels) + 1)[:, :-1]
    check_cancelled()
    fires = bits_by_code(frame.language, names, frame.fired, len(frame.rules.rules) + 1, among)
    rows, kept = of_first.sum(axis=1), of_first[:, -1]
    order = sorted(np.flatnonzero(rows).tolist(), key=lambda at: (-rows[at], frame.languages[at]))[:_MOST_LANGUAGES]
    return {
        "languages": [{"code": frame.languages[at], "rows": int(rows[at]), "kept": int(kept[at])} for at in order],
        "rules": [
            {
                "reason": one.rule.reason,
                "list": one.phase,
                "all": {"fires": int(fires[:, number].sum()), "first": int(of_first[:, number].sum())},
                "cells": [
                    {
                        "rows": int(fires[at, number]),
                        "share": float(fires[at, number] / rows[at]),
                        "first": int(of_first[at, number]),
                    }
                    for at in order
                ],
            }
            for number, one in enumerate(frame.rules.rules)
            if fires[:, number].any()
        ],
        "more_languages": int((rows > 0).sum()) - len(order),
    }


VIEW = View(_answer)
