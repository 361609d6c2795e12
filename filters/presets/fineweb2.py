"""FineWeb-2's filters (fineweb-2-pipeline.py of huggingface/fineweb-2): thresholds and stop words for each language.

The order is the pipeline's: language score, GopherRepetitionFilter without paragraphs and characters of lines,
FineWebQualityFilter without short lines and with 0.1 for repeated characters, GopherQualityFilter with two stop words.
Its deduplication is between the first two, and does not affect these rules.
"""

from collections.abc import Mapping

from winnow.filters.language.thresholds.fineweb2 import fineweb2_published, fineweb2_thresholds
from winnow.filters.language.words.estimates import ESTIMATED
from winnow.filters.presets import Preset, preset_rule
from winnow.schemas.identity import Json
from winnow.schemas.recipe import Rule

_TOP = (2, 3, 4)
_REPEATED = (5, 6, 7, 8, 9, 10)


def _rules(table: str) -> tuple[Rule, ...]:
    of = f"thresholds.{table}"
    return (
        preset_rule("no_thresholds", f"{of}.language_score IS NULL"),
        preset_rule("language_score", f"text.language.score < {of}.language_score"),
        preset_rule("unmeasured", f"text.fineweb2.status <> 'ok' OR text.fineweb2.segmentation = '{ESTIMATED}'"),
        preset_rule("dup_line_frac", f"text.fineweb2.dup_line_ratio > {of}.dup_line_frac"),
        *(preset_rule(f"top_{n}_gram", f"text.fineweb2.top_{n}gram > {of}.top_{n}gram") for n in _TOP),
        *(preset_rule(f"duplicated_{n}_n_grams", f"text.fineweb2.dup_{n}gram > {of}.dup_{n}gram") for n in _REPEATED),
        preset_rule("empty", "text.fineweb.lines = 0"),
        preset_rule("line_punct_ratio", f"text.fineweb.line_punct_ratio < {of}.line_punct_thr"),
        preset_rule("char_dup_ratio", "text.fineweb.char_dup_ratio > 0.1"),
        preset_rule("list_ratio", f"text.fineweb2.newline_ratio > {of}.new_line_ratio"),
        preset_rule("gopher_short_doc", "text.fineweb2.non_symbol_words < 50"),
        preset_rule("gopher_long_doc", "text.fineweb2.non_symbol_words > 100000"),
        preset_rule("gopher_below_avg_threshold", f"text.fineweb2.mean_word_length < {of}.min_avg_word_length"),
        preset_rule("gopher_above_avg_threshold", f"text.fineweb2.mean_word_length > {of}.max_avg_word_length"),
        preset_rule("gopher_too_many_hashes", "text.fineweb2.hash_ratio > 0.1"),
        preset_rule("gopher_too_many_ellipsis", "text.fineweb2.ellipsis_ratio > 0.1"),
        preset_rule("gopher_too_many_bullets", "text.fineweb2.bullet_line_ratio > 0.9"),
        preset_rule("gopher_too_many_end_ellipsis", "text.fineweb2.ellipsis_line_ratio > 0.3"),
        preset_rule("gopher_below_alpha_threshold", f"text.fineweb2.alpha_word_ratio < {of}.min_alpha_word_ratio"),
        preset_rule("gopher_enough_stop_words", "text.fineweb2.stop_words < 2"),
    )


_OPERATORS: Mapping[str, Mapping[str, Json]] = {
    "text.language": {"model": "lid.176"},
    "text.fineweb": {},
    "text.fineweb2": {},
}

_PACKAGES = (
    "packages that segment languages without spaces, with the number of languages that need them: "
    "jieba==0.42.1 (4, Chinese), sudachipy==0.7.0 sudachidict_core==20261015 (1, Japanese), "
    "kiwipiepy==0.21.0 (1, Korean; LGPL-3.0), pyvi==0.1.1 (7, Vietnamese), pythainlp==5.4.0 (7, Thai), "
    "pyidaungsu-numpy2==0.1.4 (6, Burmese; with --no-deps, beside python-crfsuite and emoji, for it brings another "
    "fasttext), khmer-nltk==1.6 (2, Khmer), laonlp==1.3.0 (2, Lao); use these requirements with "
    "`pip install`. If one is missing, words are estimated and the text is dropped as `unmeasured`"
)
_CLAMPS = (
    "2293 of the published values, in 870 languages, are implausible and replaced by the nearest bound; "
    "fineweb2_clamps() in filters/language/thresholds/fineweb2.py lists each; fineweb2@published uses them unchanged",
    "clamped: 2140 of top_2gram to top_4gram (published up to 6.787, here at most 1), 128 of dup_line_frac and "
    "dup_5gram to dup_10gram (0 to 1.32, here 0.01 to 1), 10 of new_line_ratio (up to 7.25, here at most 1), 10 of "
    "min_alpha_word_ratio (up to 1, here at most 0.95), 5 of max_avg_word_length (up to 3141, here at most 100)",
)
_NOTES = (
    "words are those that datatrove finds in 1510 of the 1929 languages (spaCy's rules 1454, the Indic NLP Library's "
    "56), in 30 more with a package, and in 288 with spaCy itself (spacy==3.8.18; `packages: all` of text.fineweb2)",
    "without it those 288 get spaCy's multi-language rules, as do 97 for which datatrove uses models of Stanza; "
    "text.fineweb2.substituted is true there. bod_Tibt, dzo_Tibt, lbj_Tibt and lzh_Hani have no segmentation: texts "
    "are dropped as `unmeasured`",
    _PACKAGES,
    "FineWeb-2 uses GlotLID for languages and scores: set the path of its model, as in "
    "text.language: {model: models/glotlid.bin}. The default model knows 176 languages, and the thresholds of "
    "language_score do not fit its scores",
    "languages without a configuration are dropped as `no_thresholds`; English has none, as FineWeb-2 excludes it. "
    "Texts that GlotLID labels daf, kzj and tpw have the current codes dnj, dtp and tpn here, and their thresholds",
    "line_punct_thr -1 disables the rule, and so does dup_line_frac 0, as in datatrove. datatrove 0.4.0, from "
    "FineWeb-2's release, counts occurrences of stop words; since 0.5.0 it counts different ones: "
    "the older rule is text.fineweb2.stop_word_occurrences < 2",
    "FineWeb-2 deduplicates each language after the rule language_score, and edits texts after the last: ftfy, PII, "
    "lines of `|`; neither is part of the preset",
)

PRESETS = (
    Preset(
        name="fineweb2",
        summary="FineWeb-2's filters by language in datatrove 0.10.1, with thresholds within plausible bounds",
        operators=_OPERATORS,
        rules=_rules("fineweb2"),
        notes=(*_CLAMPS, *_NOTES),
    ),
    Preset(
        name="fineweb2@published",
        summary="FineWeb-2's filters by language in datatrove 0.10.1, with thresholds exactly as published",
        operators=_OPERATORS,
        rules=_rules("fineweb2_published"),
        notes=_NOTES,
    ),
)

TABLES = {"fineweb2": fineweb2_thresholds, "fineweb2_published": fineweb2_published}
