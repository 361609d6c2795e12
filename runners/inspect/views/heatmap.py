"""Rules by languages: the share of each language's rows that each rule drops."""

import numpy as np

from winnow.runners.inspect.cancelling import check_cancelled
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.counting import counts_of
from winnow.runners.inspect.frame import Frame, Marks
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.simulation import decided_frame
from winnow.runners.inspect.view import Answer, Asked, View

_MOST_LANGUAGES = 60


def _answer(opened: Opened, asked: Asked) -> Answer:
    frame = decided_frame(opened)
    among = chosen_rows(opened, frame, asked.get("filter"))
    codes = np.where(frame.first < 0, len(frame.rules.rules) + 1, frame.first).astype(np.uint16)
    of_first = _by_language(frame, codes, among)
    rows, kept = of_first.sum(axis=1), of_first[:, -1]
    order = sorted(np.flatnonzero(rows).tolist(), key=lambda at: (-rows[at], frame.languages[at]))[:_MOST_LANGUAGES]
    reasons = []
    for number, one in enumerate(frame.rules.rules):
        check_cancelled()
        fires = counts_of(frame.language, len(frame.languages), (frame.fires([number]) & among).view(np.uint8), 2)[:, 1]
        if not fires.any():
            continue
        reasons.append(
            {
                "reason": one.rule.reason,
                "list": one.phase,
                "cells": [
                    {
                        "rows": int(fires[at]),
                        "share": float(fires[at] / rows[at]),
                        "first": int(of_first[at, number]),
                    }
                    for at in order
                ],
            }
        )
    return {
        "languages": [{"code": frame.languages[at], "rows": int(rows[at]), "kept": int(kept[at])} for at in order],
        "rules": reasons,
        "more_languages": int((rows > 0).sum()) - len(order),
    }


def _by_language(
    frame: Frame, codes: np.ndarray[tuple[int], np.dtype[np.uint16]], among: Marks
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """How many of the rows each language has by the first rule; the last column are kept ones."""
    width = len(frame.rules.rules) + 2
    found = np.zeros(len(frame.languages) * width, np.int64)
    for at in range(0, frame.rows, 1 << 14):
        part = slice(at, at + (1 << 14))
        both = frame.language[part].astype(np.int32) * width + codes[part]
        found += np.bincount(both[among[part]], minlength=len(found))
    return found.reshape(-1, width)


VIEW = View(_answer)
