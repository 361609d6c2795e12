"""Rules over the Jigsaw network's scores. There are no published thresholds for web pages; these are cautious."""

from winnow.filters.presets import Preset, preset_rule

_T = "text.toxicity"

PRESETS = (
    Preset(
        name="toxicity",
        summary="English pages with a window of 100 words that the Jigsaw network clearly rates toxic",
        operators={_T: {}},
        rules=(
            preset_rule("toxic", f"{_T}.toxic >= 0.9"),
            preset_rule("toxic_severe", f"{_T}.severe_toxic >= 0.5"),
            preset_rule("toxic_obscene", f"{_T}.obscene >= 0.9"),
            preset_rule("toxic_threat", f"{_T}.threat >= 0.5"),
            preset_rule("toxic_insult", f"{_T}.insult >= 0.9"),
            preset_rule("toxic_identity_hate", f"{_T}.identity_hate >= 0.5"),
        ),
        notes=(
            "only English is scored; other languages are null, which is kept and counted as not examined",
            "the thresholds are provisional: no clean help page, handbook or encyclopaedic text comes near them",
            "the network was trained on Wikipedia comments: quoted abuse, reclaimed words and friendly swearing "
            "score like abuse, and sexual spam does not score",
        ),
    ),
)
