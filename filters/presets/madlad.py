"""MADLAD-400's rules on questionable sentences: the paper's, and the two that AI2 took over."""

from winnow.filters.presets import Preset, PresetRule

_M = "text.madlad"

_NOTES = (
    "the languages of a page and of its sentences are told by lid.176, where MADLAD-400 had a model of its own; the "
    "setting language_model takes another",
    "the list of cursed substrings is not part of winnow: without `cursed`, the path of one, that rule finds nothing "
    "and cursed_sentences is null",
    "datamap-rs counts length and technical characters against bytes, and words by Unicode's word breaks; the paper "
    "says characters, as it is here",
)

PRESETS = (
    Preset(
        name="madlad",
        summary="MADLAD-400, 2.3: at least 5 sentences, of which at most 20% are questionable",
        operators={_M: {"language_model": "lid.176"}},
        rules=(
            PresetRule("too_few_sentences", f"{_M}.sentences < 5"),
            PresetRule("questionable_sentences", f"{_M}.questionable_ratio > 0.2"),
        ),
        notes=_NOTES,
    ),
    Preset(
        name="madlad@datamap",
        summary="allenai/datamap-rs, all_dressed_config.yaml: rules 2 and 5 alone, and 20% is too many",
        operators={_M: {"rules": ["case", "cursed"]}},
        rules=(
            PresetRule("too_few_sentences", f"{_M}.sentences < 5"),
            PresetRule("questionable_sentences", f"{_M}.questionable_ratio >= 0.2"),
        ),
        notes=_NOTES,
    ),
)
