"""Gopher's rules beside datatrove's two filters and the tagger of the Dolma toolkit."""

from benchmarks.parity.adapters import Adapter, Check

_QUALITY = "GopherQualityFilter"
_REPETITION = "GopherRepetitionFilter"
_TOP = (2, 3, 4)
_DUPLICATED = (5, 6, 7, 8, 9, 10)

QUALITY = (
    Check(f"{_QUALITY}.min_doc_words", "text.gopher.non_symbol_words", "gopher_short_doc"),
    Check(f"{_QUALITY}.max_doc_words", "text.gopher.non_symbol_words", "gopher_long_doc"),
    Check(f"{_QUALITY}.min_avg_word_length", "text.gopher.mean_word_length", "gopher_below_avg_threshold"),
    Check(f"{_QUALITY}.max_avg_word_length", "text.gopher.mean_word_length", "gopher_above_avg_threshold"),
    Check(f"{_QUALITY}.max_symbol_word_ratio", "text.gopher.hash_ratio", "gopher_too_many_hashes"),
    Check(f"{_QUALITY}.max_symbol_word_ratio_2", "text.gopher.ellipsis_ratio", "gopher_too_many_ellipsis"),
    Check(f"{_QUALITY}.max_bullet_lines_ratio", "text.gopher.bullet_line_ratio", "gopher_too_many_bullets"),
    Check(f"{_QUALITY}.max_ellipsis_lines_ratio", "text.gopher.ellipsis_line_ratio", "gopher_too_many_end_ellipsis"),
    Check(f"{_QUALITY}.max_non_alpha_words_ratio", "text.gopher.alpha_word_ratio", "gopher_below_alpha_threshold"),
    Check(f"{_QUALITY}.min_stop_words", "text.gopher.stop_words", "gopher_enough_stop_words"),
)
REPETITION = (
    Check(f"{_REPETITION}.dup_para_frac", "text.gopher.dup_paragraph_ratio", "dup_para_frac"),
    Check(f"{_REPETITION}.dup_para_char_frac", "text.gopher.dup_paragraph_char_ratio", "dup_para_char_frac"),
    Check(f"{_REPETITION}.dup_line_frac", "text.gopher.dup_line_ratio", "dup_line_frac"),
    Check(f"{_REPETITION}.dup_line_char_frac", "text.gopher.dup_line_char_ratio", "dup_line_char_frac"),
    *(Check(f"{_REPETITION}.top_n_grams_{n}", f"text.gopher.top_{n}gram", f"top_{n}_gram") for n in _TOP),
    *(
        Check(f"{_REPETITION}.dup_n_grams_{n}", f"text.gopher.dup_{n}gram", f"duplicated_{n}_n_grams")
        for n in _DUPLICATED
    ),
)
QUALITY_THRESHOLDS = tuple(dict.fromkeys(check.peer.partition(".")[2].removesuffix("_2") for check in QUALITY))
REPETITION_THRESHOLDS = (
    "dup_para_frac",
    "dup_para_char_frac",
    "dup_line_frac",
    "dup_line_char_frac",
    "top_n_grams",
    "dup_n_grams",
)

_ATTRIBUTES = {
    "word_count": "words",
    "character_count": "characters",
    "median_word_length": "median_word_length",
    "symbol_to_word_ratio": "symbol_word_ratio",
    "fraction_of_words_with_alpha_character": "alpha_word_ratio",
    "required_word_count": "stop_words",
    "fraction_of_lines_starting_with_bullet_point": "bullet_line_ratio",
    "fraction_of_lines_ending_with_ellipsis": "ellipsis_line_ratio",
    "fraction_of_duplicate_lines": "dup_line_ratio",
    "fraction_of_characters_in_duplicate_lines": "dup_line_char_ratio",
    **{f"fraction_of_characters_in_most_common_{n}grams": f"top_{n}gram" for n in _TOP},
    **{f"fraction_of_characters_in_duplicate_{n}grams": f"dup_{n}gram" for n in _DUPLICATED},
}

_SHARES_ABOVE = {
    "symbol_to_word_ratio": 0.1,
    "fraction_of_lines_starting_with_bullet_point": 0.9,
    "fraction_of_lines_ending_with_ellipsis": 0.3,
    "fraction_of_duplicate_lines": 0.3,
    "fraction_of_characters_in_duplicate_lines": 0.3,
    **{
        f"fraction_of_characters_in_most_common_{n}grams": limit
        for n, limit in zip(_TOP, (0.2, 0.18, 0.16), strict=True)
    },
    **{
        f"fraction_of_characters_in_duplicate_{n}grams": limit
        for n, limit in zip(_DUPLICATED, (0.15, 0.14, 0.13, 0.12, 0.11, 0.1), strict=True)
    },
}
_LIMITS: tuple[tuple[str, str, float, str], ...] = (
    ("word_count", "below", 50, "word_count_low"),
    ("word_count", "above", 100_000, "word_count_high"),
    ("median_word_length", "below", 3, "median_word_length_low"),
    ("median_word_length", "above", 10, "median_word_length_high"),
    ("symbol_to_word_ratio", "above", 0.1, "symbol_to_word_ratio"),
    ("fraction_of_words_with_alpha_character", "below", 0.8, "fraction_of_words_with_alpha_character"),
    ("required_word_count", "below", 2, "required_word_count"),
    *((name, "above", limit, name) for name, limit in _SHARES_ABOVE.items() if name != "symbol_to_word_ratio"),
)
"""The exclusions of Dolma's recipes, in their order."""


def _dolma(preset: str, tagger: str) -> Adapter:
    return Adapter(
        preset=preset,
        peer="dolma",
        module="dolma_gopher",
        settings=lambda: {"tagger": tagger, "limits": [[*limit] for limit in _LIMITS]},
        checks=(
            *(Check(name, f"text.gopher.{column}") for name, column in _ATTRIBUTES.items()),
            *(Check(f"{name} {side}", f"text.gopher.{_ATTRIBUTES[name]}", rule) for name, side, _, rule in _LIMITS),
        ),
        notes=("the tagger gives no verdict: it is what the limits of Dolma's recipes make of the scores as written",),
    )


ADAPTERS = (
    Adapter(
        preset="gopher@datatrove",
        peer="datatrove",
        module="datatrove_filters",
        settings=lambda: {
            "filters": [
                {"name": _REPETITION, "thresholds": [*REPETITION_THRESHOLDS]},
                {"name": _QUALITY, "thresholds": [*QUALITY_THRESHOLDS]},
            ]
        },
        checks=(*REPETITION, *QUALITY),
    ),
    _dolma("gopher@dolma", "gopher_v2"),
    _dolma("gopher@dolma-v1", "gopher_v1"),
)
