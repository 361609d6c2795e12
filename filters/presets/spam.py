"""Adverts for betting and paid sex, by the number of different terms and their share of the text."""

from winnow.filters.presets import Preset, preset_rule

_S = "text.spam"

PRESETS = (
    Preset(
        name="spam",
        summary="many different terms of betting or paid sex that make up much of the text",
        operators={_S: {}},
        rules=(
            preset_rule("gambling_spam", f"{_S}.gambling_distinct >= 6 AND {_S}.gambling_share >= 0.02"),
            preset_rule("sexual_spam", f"{_S}.sexual_distinct >= 5 AND {_S}.sexual_share >= 0.02"),
        ),
        notes=(
            "the limits are winnow's own, set so that none of its clean passages on addiction, health, law and sex "
            "education is dropped (python -m benchmarks.safety_parity --preset spam)",
            "texts in languages without terms are null unless something is found, and kept",
        ),
    ),
)
