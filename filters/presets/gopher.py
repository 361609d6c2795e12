"""Gopher's rules as in datatrove and dolma, and as published by Rae et al. (A1.1 and Table A1).

Rules are in the order of each implementation, so that the first reason here is the reason there.
"""

from winnow.filters.presets import ENGLISH, Preset, preset_rule
from winnow.schemas.recipe import Rule

_G = "text.gopher"


def _datatrove() -> tuple[Rule, ...]:
    """GopherRepetitionFilter, then GopherQualityFilter, as in FineWeb."""
    return (
        preset_rule("empty", f"{_G}.characters = 0"),
        preset_rule("dup_para_frac", f"{_G}.dup_paragraph_ratio > 0.3"),
        preset_rule("dup_para_char_frac", f"{_G}.dup_paragraph_char_ratio > 0.2"),
        preset_rule("dup_line_frac", f"{_G}.dup_line_ratio > 0.3"),
        preset_rule("dup_line_char_frac", f"{_G}.dup_line_char_ratio > 0.2"),
        preset_rule("top_2_gram", f"{_G}.top_2gram > 0.2"),
        preset_rule("top_3_gram", f"{_G}.top_3gram > 0.18"),
        preset_rule("top_4_gram", f"{_G}.top_4gram > 0.16"),
        preset_rule("duplicated_5_n_grams", f"{_G}.dup_5gram > 0.15"),
        preset_rule("duplicated_6_n_grams", f"{_G}.dup_6gram > 0.14"),
        preset_rule("duplicated_7_n_grams", f"{_G}.dup_7gram > 0.13"),
        preset_rule("duplicated_8_n_grams", f"{_G}.dup_8gram > 0.12"),
        preset_rule("duplicated_9_n_grams", f"{_G}.dup_9gram > 0.11"),
        preset_rule("duplicated_10_n_grams", f"{_G}.dup_10gram > 0.1"),
        preset_rule("gopher_short_doc", f"{_G}.non_symbol_words < 50"),
        preset_rule("gopher_long_doc", f"{_G}.non_symbol_words > 100000"),
        preset_rule("gopher_below_avg_threshold", f"{_G}.mean_word_length < 3"),
        preset_rule("gopher_above_avg_threshold", f"{_G}.mean_word_length > 10"),
        preset_rule("gopher_too_many_hashes", f"{_G}.hash_ratio > 0.1"),
        preset_rule("gopher_too_many_ellipsis", f"{_G}.ellipsis_ratio > 0.1"),
        preset_rule("gopher_too_many_bullets", f"{_G}.bullet_line_ratio > 0.9"),
        preset_rule("gopher_too_many_end_ellipsis", f"{_G}.ellipsis_line_ratio > 0.3"),
        preset_rule("gopher_below_alpha_threshold", f"{_G}.alpha_word_ratio < 0.8"),
        preset_rule("gopher_enough_stop_words", f"{_G}.stop_words < 2"),
    )


def _above(column: str, limit: float) -> str:
    """A condition: above a limit once rounded to five digits, as dolma's taggers write their scores.

    A score halfway between two such numbers is rounded up or down by its binary value, as in `round`.
    """
    between = round(limit + 5e-6, 6)
    return f"{_G}.{column} {'>=' if round(between, 5) > limit else '>'} {between:f}"


def _below(column: str, limit: float) -> str:
    between = round(limit - 5e-6, 6)
    return f"{_G}.{column} {'<=' if round(between, 5) < limit else '<'} {between:f}"


def _dolma() -> tuple[Rule, ...]:
    """The mixer's exclusions, in the order of the recipes."""
    return (
        preset_rule("word_count_low", f"{_G}.words < 50"),
        preset_rule("word_count_high", f"{_G}.words > 100000"),
        preset_rule("median_word_length_low", f"{_G}.median_word_length < 3"),
        preset_rule("median_word_length_high", f"{_G}.median_word_length > 10"),
        preset_rule("symbol_to_word_ratio", _above("symbol_word_ratio", 0.1)),
        preset_rule("fraction_of_words_with_alpha_character", _below("alpha_word_ratio", 0.8)),
        preset_rule("required_word_count", f"{_G}.stop_words < 2"),
        preset_rule("fraction_of_lines_starting_with_bullet_point", _above("bullet_line_ratio", 0.9)),
        preset_rule("fraction_of_lines_ending_with_ellipsis", _above("ellipsis_line_ratio", 0.3)),
        preset_rule("fraction_of_duplicate_lines", _above("dup_line_ratio", 0.3)),
        preset_rule("fraction_of_characters_in_duplicate_lines", _above("dup_line_char_ratio", 0.3)),
        preset_rule("fraction_of_characters_in_most_common_2grams", _above("top_2gram", 0.2)),
        preset_rule("fraction_of_characters_in_most_common_3grams", _above("top_3gram", 0.18)),
        preset_rule("fraction_of_characters_in_most_common_4grams", _above("top_4gram", 0.16)),
        preset_rule("fraction_of_characters_in_duplicate_5grams", _above("dup_5gram", 0.15)),
        preset_rule("fraction_of_characters_in_duplicate_6grams", _above("dup_6gram", 0.14)),
        preset_rule("fraction_of_characters_in_duplicate_7grams", _above("dup_7gram", 0.13)),
        preset_rule("fraction_of_characters_in_duplicate_8grams", _above("dup_8gram", 0.12)),
        preset_rule("fraction_of_characters_in_duplicate_9grams", _above("dup_9gram", 0.11)),
        preset_rule("fraction_of_characters_in_duplicate_10grams", _above("dup_10gram", 0.1)),
    )


def _paper() -> tuple[Rule, ...]:
    """Quality filtering, then repetition removal."""
    return (
        preset_rule("too_few_words", f"{_G}.words < 50"),
        preset_rule("too_many_words", f"{_G}.words > 100000"),
        preset_rule("short_words", f"{_G}.mean_word_length < 3"),
        preset_rule("long_words", f"{_G}.mean_word_length > 10"),
        preset_rule("hashes", f"{_G}.hash_ratio > 0.1"),
        preset_rule("ellipses", f"{_G}.ellipsis_ratio > 0.1"),
        preset_rule("bullet_lines", f"{_G}.bullet_line_ratio > 0.9"),
        preset_rule("ellipsis_lines", f"{_G}.ellipsis_line_ratio > 0.3"),
        preset_rule("words_without_letters", f"{_G}.alpha_word_ratio < 0.8"),
        preset_rule("stop_words", f"{_G}.stop_words < 2"),
        preset_rule("duplicate_lines", f"{_G}.dup_line_ratio > 0.3"),
        preset_rule("duplicate_paragraphs", f"{_G}.dup_paragraph_ratio > 0.3"),
        preset_rule("duplicate_line_characters", f"{_G}.dup_line_char_ratio > 0.2"),
        preset_rule("duplicate_paragraph_characters", f"{_G}.dup_paragraph_char_ratio > 0.2"),
        preset_rule("top_2gram", f"{_G}.top_2gram > 0.2"),
        preset_rule("top_3gram", f"{_G}.top_3gram > 0.18"),
        preset_rule("top_4gram", f"{_G}.top_4gram > 0.16"),
        preset_rule("duplicate_5grams", f"{_G}.dup_5gram > 0.15"),
        preset_rule("duplicate_6grams", f"{_G}.dup_6gram > 0.14"),
        preset_rule("duplicate_7grams", f"{_G}.dup_7gram > 0.13"),
        preset_rule("duplicate_8grams", f"{_G}.dup_8gram > 0.12"),
        preset_rule("duplicate_9grams", f"{_G}.dup_9gram > 0.11"),
        preset_rule("duplicate_10grams", f"{_G}.dup_10gram > 0.1"),
    )


_DOLMA_NOTES = (
    "dolma rounds its scores to five digits before the mixer compares them: limits are half a digit away from the "
    "published ones",
    "dolma's recipes use most_common_2gram, 3gram and 4gram while the tagger of 1.2.1 writes most_common_2grams "
    "and so on, so there these three rules never drop; here they do: switch them off by reason to match dolma exactly",
    "duplicate characters in lines: 0.3 as in dolma's recipes; Rae et al. have 0.2",
)

PRESETS = (
    Preset(
        name="gopher@datatrove",
        summary="GopherRepetitionFilter and then GopherQualityFilter of datatrove 0.10.1 with their defaults",
        languages=ENGLISH,
        operators={_G: {"style": "datatrove"}},
        rules=_datatrove(),
        notes=("FineWeb runs the repetition filter first; in the other order only the first reason differs",),
    ),
    Preset(
        name="gopher@dolma",
        summary="the tagger gopher_v2 of dolma 1.2.1 and the limits of dolma's Creative Commons recipe (CCCC, 2025)",
        languages=ENGLISH,
        operators={_G: {"style": "dolma"}},
        rules=_dolma(),
        notes=(*_DOLMA_NOTES, "for the Dolma 1.5 and 1.7 corpora see gopher@dolma-v1"),
    ),
    Preset(
        name="gopher@dolma-v1",
        summary="the tagger gopher_v1 of dolma 1.2.1 and the limits of the recipes for Dolma 1.5 and 1.7",
        languages=ENGLISH,
        operators={_G: {"style": "dolma_v1"}},
        rules=_dolma(),
        notes=(
            *_DOLMA_NOTES,
            "empty lines count as equal lines: meant for texts with single newlines between paragraphs; otherwise most "
            "pages with several paragraphs are dropped",
        ),
    ),
    Preset(
        name="gopher@paper",
        summary="the rules of Rae et al. 2021, A1.1, with the thresholds of Table A1",
        languages=ENGLISH,
        operators={_G: {"style": "paper"}},
        rules=_paper(),
        notes=(
            "the paper does not define words, bullets and shares of characters: see the style `paper` of text.gopher "
            "for the assumptions",
        ),
    ),
)
