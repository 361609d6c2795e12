"""Rules over the Jigsaw network's scores. Nobody published thresholds for web pages; these are cautious."""

from winnow.filters.presets import Preset, PresetRule

_T = "text.toxicity"

PRESETS = (
    Preset(
        name="toxicity",
        summary="English pages of which some hundred words are toxic to the Jigsaw network beyond doubt",
        operators={_T: {}},
        rules=(
            PresetRule("toxic", f"{_T}.toxic >= 0.9"),
            PresetRule("toxic_severe", f"{_T}.severe_toxic >= 0.5"),
            PresetRule("toxic_obscene", f"{_T}.obscene >= 0.9"),
            PresetRule("toxic_threat", f"{_T}.threat >= 0.5"),
            PresetRule("toxic_insult", f"{_T}.insult >= 0.9"),
            PresetRule("toxic_identity_hate", f"{_T}.identity_hate >= 0.5"),
        ),
        notes=(
            "only English is scored; other languages are null, which is kept and counted as not looked at",
            "the thresholds are provisional: on clean help pages, handbooks and encyclopaedic text no page comes near",
            "the network was trained on comments of Wikipedia: quoted abuse, reclaimed words and swearing among "
            "friends score like abuse, and sexual spam does not score",
        ),
    ),
)
