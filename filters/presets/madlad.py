"""MADLAD-400's rules on questionable sentences: the paper's, and the two that AI2 adopted."""

from winnow.filters.presets import Preset, preset_rule

_M = "text.madlad"

_NOTES = (
    "lid.176 identifies the languages of pages and sentences, where MADLAD-400 had its own model; set "
    "language_model to use another",
    "the list of cursed substrings is not part of winnow: without `cursed`, the path of a list, that rule finds "
    "nothing and cursed_sentences is null",
    "datamap-rs counts length and technical characters against bytes, and words by Unicode's word breaks; the paper "
    "and winnow use characters",
)

PRESETS = (
    Preset(
        name="madlad",
        summary="MADLAD-400, 2.3: at least 5 sentences, at most 20% of them questionable",
        operators={_M: {"language_model": "lid.176"}},
        rules=(
            preset_rule("too_few_sentences", f"{_M}.sentences < 5"),
            preset_rule("questionable_sentences", f"{_M}.questionable_ratio > 0.2"),
        ),
        notes=_NOTES,
    ),
    Preset(
        name="madlad@datamap",
        summary="allenai/datamap-rs, all_dressed_config.yaml: only rules 2 and 5, and less than 20%",
        operators={_M: {"rules": ["case", "cursed"]}},
        rules=(
            preset_rule("too_few_sentences", f"{_M}.sentences < 5"),
            preset_rule("questionable_sentences", f"{_M}.questionable_ratio >= 0.2"),
        ),
        notes=_NOTES,
    ),
)
