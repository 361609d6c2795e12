"""One list of rules for all languages: FineWeb's thresholds for English, FineWeb-2's for every other language.

The order is FineWeb-2's: language, repetition, lines, words. Both projects run the same filters of datatrove.
"""

from dataclasses import replace

from winnow.filters.language.identification.own.score_thresholds import own_score_thresholds
from winnow.filters.language.thresholds.multilingual import multilingual_thresholds
from winnow.filters.language.words.packages import PACKAGES
from winnow.filters.presets import Preset, preset_rule

_T = "thresholds.multilingual"
_F = "text.fineweb2"
_UNMEASURED = (
    "no_language",
    "unknown_language",
    "no_segmentation",
    "substitute_refused",
    "too_large",
    "package_failed",
    *sorted({package.reason for package in PACKAGES.values()}),  # with `substitutes: false` of text.fineweb2
)

_RULES = (
    preset_rule("script_mismatch", "text.language.mismatch IS NOT NULL"),
    preset_rule("no_thresholds", f"text.language.code IS NOT NULL AND {_T}.language_score IS NULL"),
    preset_rule("language_score", f"text.language.macrolanguage_score < {_T}.language_score"),
    preset_rule("other_scripts", f"text.language.own_script_share < {_T}.own_script"),
    preset_rule("unmeasured", f"{_F}.status IN ({', '.join(map(repr, _UNMEASURED))})"),
    preset_rule("dup_para_frac", f"{_F}.dup_paragraph_ratio > {_T}.dup_para_frac"),
    preset_rule("dup_para_char_frac", f"{_F}.dup_paragraph_char_ratio > {_T}.dup_para_char_frac"),
    preset_rule("dup_line_frac", f"{_F}.dup_line_ratio > {_T}.dup_line_frac"),
    preset_rule("dup_line_char_frac", f"{_F}.dup_line_char_ratio > {_T}.dup_line_char_frac"),
    *(preset_rule(f"top_{n}_gram", f"{_F}.top_{n}gram > {_T}.top_{n}gram") for n in (2, 3, 4)),
    *(preset_rule(f"duplicated_{n}_n_grams", f"{_F}.dup_{n}gram > {_T}.dup_{n}gram") for n in (5, 6, 7, 8, 9, 10)),
    preset_rule("empty", "text.fineweb.lines = 0"),
    preset_rule("line_punct_ratio", f"text.fineweb.line_punct_ratio < {_T}.line_punct_thr"),
    preset_rule("short_line_ratio", f"text.fineweb.short_line_ratio > {_T}.short_line_ratio"),
    preset_rule("char_dup_ratio", f"text.fineweb.char_dup_ratio > {_T}.char_dup_ratio"),
    preset_rule("list_ratio", f"{_F}.newline_ratio > {_T}.new_line_ratio"),
    preset_rule("gopher_short_doc", f"{_F}.non_symbol_words < 50"),
    preset_rule("gopher_long_doc", f"{_F}.non_symbol_words > 100000"),
    preset_rule("gopher_below_avg_threshold", f"{_F}.mean_word_length < {_T}.min_avg_word_length"),
    preset_rule("gopher_above_avg_threshold", f"{_F}.mean_word_length > {_T}.max_avg_word_length"),
    preset_rule("gopher_too_many_hashes", f"{_F}.hash_ratio > 0.1"),
    preset_rule("gopher_too_many_ellipsis", f"{_F}.ellipsis_ratio > 0.1"),
    preset_rule("gopher_too_many_bullets", f"{_F}.bullet_line_ratio > 0.9"),
    preset_rule("gopher_too_many_end_ellipsis", f"{_F}.ellipsis_line_ratio > 0.3"),
    preset_rule("gopher_below_alpha_threshold", f"{_F}.alpha_word_ratio < {_T}.min_alpha_word_ratio"),
    preset_rule("gopher_enough_stop_words", f"{_F}.stop_words < 2"),
)

_OWN_SCORE = preset_rule(
    "language_score", "text.language.macrolanguage_score < thresholds.winnow_scores.language_score"
)

_MULTILINGUAL = Preset(
    name="multilingual",
    summary="all languages: FineWeb's thresholds for English, FineWeb-2's (in plausible bounds) for the others",
    operators={"text.language": {"model": "lid.176"}, "text.fineweb": {}, "text.fineweb2": {}},
    rules=_RULES,
    notes=(
        "a language without thresholds is dropped as `no_thresholds`: no clean text of it was there to take them "
        "from. To keep it, give it a row of its own under `thresholds: {multilingual: {cells: {…}}}` and switch "
        "`unmeasured` off, or switch `no_thresholds` off, too",
        "words in Chinese, Japanese, Korean, Vietnamese, Thai, Lao, Khmer and Burmese need packages; where one is "
        "not installed they are estimated from characters (segmentation `estimated`), and `plan` counts these "
        "samples by language",
        "rows without text are kept: nothing here is about images",
        "language_score: the score of the text's macrolanguage of ISO 639-3, since a model divides it among its "
        "members, such as Croatian, Serbian and Bosnian; for most languages, that of the language itself. "
        "FineWeb-2's threshold, but at most 0.65, FineWeb's for the default model. With GlotLID, for which "
        "FineWeb-2 computed them: `rules: {language_score: {drop: text.language.score < "
        "thresholds.fineweb2.language_score}}` and a rule for English",
        "other_scripts is ours: more than half of a text is in other scripts than its language's, as in a manual "
        "that is translated in part",
        "it is made for running text: most manual pages, lists of code, verse and dialogues are dropped, by their "
        "short lines, symbols and repeated lines; recipes/technical.yaml keeps manuals",
        "line_punct_ratio: as in FineWeb and FineWeb-2, a line ends with a mark only if it is its last character: "
        "one that ends with a quotation mark or bracket behind it (。” or .”) does not. A text of one such line is "
        "dropped in most languages; for dialogues on single lines, switch the rule off",
        "char_dup_ratio: 0.01 for English as in the code that made FineWeb, else 0.1 as in FineWeb-2",
        "FineWeb also applies C4's filter, which is English; it is c4@fineweb here. See fineweb2 for the "
        "segmentation of words and for the values that are clamped",
    ),
)

PRESETS = (
    _MULTILINGUAL,
    replace(
        _MULTILINGUAL,
        name="multilingual@winnow",
        summary="the same by winnow's own model of languages, with thresholds of its scores",
        operators={**_MULTILINGUAL.operators, "text.language": {"model": "winnow"}},
        rules=tuple(_OWN_SCORE if rule.reason == "language_score" else rule for rule in _RULES),
        notes=(
            "language_score: a score of the own model is the probability that the language is right, so thresholds are "
            "near 0.5: those with the best F0.1 on texts held out of its training, between 0.3 and 0.65, by language",
            *(note for note in _MULTILINGUAL.notes if not note.startswith("language_score")),
        ),
    ),
)

TABLES = {"multilingual": multilingual_thresholds, "winnow_scores": own_score_thresholds}
