"""RefinedWeb's page and line rules, as DCLM restates them (mlfoundations/dclm, baselines_configs/refinedweb.yaml)."""

from winnow.filters.presets import Preset, PresetRule

_R = "text.refinedweb"

PRESETS = (
    Preset(
        name="refinedweb",
        summary="DCLM's refinedweb.yaml: page and line rules, without those on URLs, languages and repetition",
        operators={_R: {}},
        rules=(
            PresetRule("too_few_words", f"{_R}.words < 50"),
            PresetRule("too_many_words", f"{_R}.words > 100000"),
            PresetRule("words_too_short", f"{_R}.mean_word_chars < 3"),
            PresetRule("words_too_long", f"{_R}.mean_word_chars > 10"),
            PresetRule("symbols", f"{_R}.symbol_ratio > 0.1"),
            PresetRule("bullets", f"{_R}.bullet_ratio > 0.9"),
            PresetRule("ellipses", f"{_R}.ellipsis_ratio > 0.3"),
            PresetRule("non_alphabetic_words", f"{_R}.non_alpha_ratio > 0.2"),
            PresetRule("stop_words", f"{_R}.stop_words < 2"),
            PresetRule("removed_words", f"{_R}.removed_word_ratio > 0.05"),
        ),
        notes=(
            "the lines that go are the column text.refinedweb.removed: name text.refinedweb under `edits` to export "
            "pages without them",
            "repetition is measured by text.gopher; DCLM counts its words by Unicode's word breaks",
            "DCLM deletes URLs from the text before all this; winnow does not",
            "DCLM counts every occurrence of a stop word, Gopher different ones",
            "`Read more...` is a regular expression in DCLM, whose dots match any characters; case does not count",
            "datamap-rs measures shares of upper case and digits against bytes, takes ASCII digits alone, counts words "
            "by Unicode's word breaks, minds the case of the three substrings and cuts them from lines of any length "
            "(it reads `max_len`, its config says `max_length`); RefinedWeb's paper asks only for lines `mainly "
            "composed of` upper case and names the substrings as examples",
        ),
    ),
)
