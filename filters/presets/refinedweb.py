"""RefinedWeb's page and line rules, as DCLM restates them (mlfoundations/dclm, baselines_configs/refinedweb.yaml)."""

from winnow.filters.presets import ENGLISH, Preset, preset_rule

_R = "text.refinedweb"

PRESETS = (
    Preset(
        name="refinedweb",
        summary="DCLM's refinedweb.yaml: page and line rules, without those on URLs, languages and repetition",
        languages=ENGLISH,
        operators={_R: {}},
        rules=(
            preset_rule("too_few_words", f"{_R}.words < 50"),
            preset_rule("too_many_words", f"{_R}.words > 100000"),
            preset_rule("words_too_short", f"{_R}.mean_word_chars < 3"),
            preset_rule("words_too_long", f"{_R}.mean_word_chars > 10"),
            preset_rule("symbols", f"{_R}.symbol_ratio > 0.1"),
            preset_rule("bullets", f"{_R}.bullet_ratio > 0.9"),
            preset_rule("ellipses", f"{_R}.ellipsis_ratio > 0.3"),
            preset_rule("non_alphabetic_words", f"{_R}.non_alpha_ratio > 0.2"),
            preset_rule("stop_words", f"{_R}.stop_words < 2"),
            preset_rule("removed_words", f"{_R}.removed_word_ratio > 0.05"),
        ),
        notes=(
            "removed lines are the column text.refinedweb.removed: name text.refinedweb under `edits` to export "
            "pages without them",
            "repetition is measured by text.gopher; DCLM counts its words by Unicode's word breaks",
            "DCLM first deletes URLs from the text; winnow does not",
            "DCLM counts every occurrence of a stop word, Gopher counts different ones",
            "`Read more...` is a regular expression in DCLM, whose dots match any characters; case is ignored",
            "datamap-rs measures shares of upper case and digits against bytes, counts only ASCII digits, counts words "
            "by Unicode's word breaks, matches the three substrings with case and cuts them from lines of any length "
            "(it reads `max_len`, its config says `max_length`); RefinedWeb's paper mentions only lines `mainly "
            "composed of` upper case and names the substrings as examples",
        ),
    ),
)
