"""Rules by languages: the share of each language's rows that each rule drops, and what it drops of all (`all`)."""

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.runners.facts.rules_by_language import RulesByLanguage
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.counting import bits_by_code, counts_of
from winnow.runners.inspect.dimensions import rule_numbers
from winnow.runners.inspect.frame import Frame
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.trials.simulation import decided_frame
from winnow.runners.inspect.view import Answer, Asked, View

_MOST_LANGUAGES = 60


def _answer(opened: Opened, asked: Asked) -> Answer:
    frame = decided_frame(opened)
    among = chosen_rows(opened, frame, asked.get("filter"))
    first, names = rule_numbers(opened, frame), len(frame.languages)
    codes = np.where(among, first.codes, np.uint16(len(first.labels)))
    of_first = counts_of(frame.language, names, codes, len(first.labels) + 1)[:, :-1]
    check_cancelled()
    fires = bits_by_code(frame.language, names, frame.fired, len(frame.rules.rules) + 1, among)
    keys = [f"{one.phase}.{one.rule.reason}" for one in frame.rules.rules]
    counted = RulesByLanguage.of(
        _by_language(frame, of_first.sum(axis=1)),
        _by_language(frame, of_first[:, -1]),
        {key: _by_language(frame, of_first[:, number]) for number, key in enumerate(keys)},
    )
    shown = counted.languages[:_MOST_LANGUAGES]
    firing = {key: _by_language(frame, fires[:, number]) for number, key in enumerate(keys)}
    return {
        "languages": [{"code": code, "rows": counted.rows[code], "kept": counted.kept[code]} for code in shown],
        "rules": [
            {
                "reason": one.rule.reason,
                "list": one.phase,
                "all": {"fires": sum(firing[key].values()), "first": sum(counted.drops[key].values())},
                "cells": [
                    {
                        "rows": firing[key][code],
                        "share": firing[key][code] / counted.rows[code],
                        "first": counted.dropped(key, code),
                    }
                    for code in shown
                ],
            }
            for key, one in zip(keys, frame.rules.rules, strict=True)
            if any(firing[key].values())
        ],
        "more_languages": len(counted.languages) - len(shown),
    }


def _by_language(frame: Frame, counts: NDArray[np.int64]) -> dict[str, int]:
    return dict(zip(frame.languages, counts.tolist(), strict=True))


VIEW = View(_answer)
