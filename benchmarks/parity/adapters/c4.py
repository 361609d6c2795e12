"""C4's line and page rules beside datatrove's C4QualityFilter and the builder in TensorFlow Datasets."""

from benchmarks.parity.adapters import Adapter, Check, Difference, Explained
from winnow.schemas.identity import Json

_FILTER = "C4QualityFilter"
_STATISTICS = {
    "line-total": "lines",
    "line-kept": "kept_lines",
    "line-filter-too_long_word": "long_word_lines",
    "line-filter-no_terminal_punc": "unterminated_lines",
    "line-filter-too_few_words": "short_lines",
    "line-filter-javascript": "javascript_lines",
    "line-filter-policy": "policy_lines",
}
_COUNTERS = {
    "line-passed": "kept_lines",
    "line-filtered:too_long_word": "long_word_lines",
    "line-filtered:no_endmark": "unterminated_lines",
    "line-filtered:too_short": "short_lines",
    "line-filtered:javascript": "javascript_lines",
    "line-filtered:policy": "policy_lines",
}


def both_on_a_page(difference: Difference) -> bool:
    """Lorem ipsum and a curly bracket on one page: the peer stops at the first of them, we name lorem ipsum."""
    return difference.kind == "reason" and difference.reasons == ("lorem_ipsum", "curly_bracket")


_EXPLAINED = (
    Explained(
        "both_on_a_page",
        "a page with lorem ipsum and a curly bracket: the peer names the one that comes first, we lorem ipsum",
        both_on_a_page,
    ),
)


def _datatrove(preset: str, options: dict[str, Json]) -> Adapter:
    counters = [name for name in _STATISTICS if name != "line-filter-no_terminal_punc" or not options]
    return Adapter(
        preset=preset,
        peer="datatrove",
        module="datatrove_filters",
        settings=lambda: {
            "filters": [
                {
                    "name": _FILTER,
                    "options": options,
                    "thresholds": ["min_num_sentences"],
                    "counters": [*counters],
                }
            ]
        },
        checks=(
            *(Check(f"{_FILTER}.{name}", f"text.c4.{_STATISTICS[name]}") for name in counters),
            Check(f"{_FILTER}.min_num_sentences", "text.c4.sentences", "too_few_sentences"),
        ),
        text="text.c4.removed",
        explained=_EXPLAINED,
    )


ADAPTERS = (
    _datatrove("c4@paper", {}),
    _datatrove("c4@fineweb", {"filter_no_terminal_punct": False}),
    Adapter(
        preset="c4@tfds",
        peer="tfds",
        module="tfds_c4",
        settings=lambda: {"counters": [*_COUNTERS]},
        checks=(
            *(Check(name, f"text.c4.{column}") for name, column in _COUNTERS.items()),
            Check("sentences", "text.c4.sentences", "too_few_sentences"),
        ),
        reasons={
            "filtered:loremipsum": "lorem_ipsum",
            "filtered:squigglybracket": "curly_bracket",
            "filtered:too_few_sentences": "too_few_sentences",
        },
        text="text.c4.removed",
        explained=_EXPLAINED,
        notes=(
            "the builder tells sentences apart by NLTK's trained Punkt model, which no package carries; here both "
            "sides do by spaCy's rule, all else is the builder's own code",
        ),
    ),
)
