"""FineWeb-2's filters by language beside datatrove's, with the same thresholds and stop words for each language.

A document's language is the one that the data declare: on both sides nothing is identified. English is none of
FineWeb-2's languages.
"""

from collections.abc import Callable

from benchmarks.parity.adapters import Adapter, Check
from benchmarks.parity.adapters.gopher import QUALITY, QUALITY_THRESHOLDS, REPETITION
from winnow.filters.language.thresholds.fineweb2 import fineweb2_published, fineweb2_stop_words, fineweb2_thresholds
from winnow.schemas.identity import Json
from winnow.schemas.languages import language, read_label
from winnow.schemas.rules.thresholds import ThresholdTable

_QUALITY, _REPETITION, _FINEWEB = "GopherQualityFilter", "GopherRepetitionFilter", "FineWebQualityFilter"
_OFF = 0  # what datatrove takes for no demand


def code_of(tag: str) -> str | None:
    """FineWeb-2's name of a declared language such as `pt-BR` or `deu_Latn`; None for those that it does not have."""
    known = fineweb2_stop_words()
    if tag in known:
        return tag
    label = read_label(tag.replace("_", "-").split("-")[0].lower(), "wikipedia")
    if label is None:
        return None
    found = language(label.code)
    scripts = [found.script] if found and found.script else []
    candidates = [f"{label.code}_{script}" for script in (*scripts, *_OTHER_NAMES.get(label.code, ()))]
    return next((candidate for candidate in candidates if candidate in known), None)


_OTHER_NAMES = {"cmn": ("Hani",), "kor": ("Hang",)}
"""Scripts by the names that GlotLID and so FineWeb-2 have for them."""


def _options(table: ThresholdTable) -> dict[str, Json]:
    """The options of the three filters for each language, as FineWeb-2's pipeline passes them."""
    found: dict[str, Json] = {}
    stop_words = fineweb2_stop_words()
    for place, code in enumerate(table.keys):
        if code not in stop_words:
            continue
        cell = {name: values[place] for name, values in table.columns.items()}
        grams: dict[str, Json] = {
            "top_n_grams": [[n, cell[f"top_{n}gram"]] for n in (2, 3, 4)],
            "dup_n_grams": [[n, cell[f"dup_{n}gram"]] for n in (5, 6, 7, 8, 9, 10)],
        }
        found[code] = {
            _REPETITION: {"language": code, "dup_line_frac": cell["dup_line_frac"] or _OFF, **grams},
            _FINEWEB: {
                "language": code,
                "line_punct_thr": -1 if cell["line_punct_thr"] is None else cell["line_punct_thr"],
                "new_line_ratio": cell["new_line_ratio"],
            },
            _QUALITY: {
                "language": code,
                "min_avg_word_length": cell["min_avg_word_length"],
                "max_avg_word_length": cell["max_avg_word_length"],
                "max_non_alpha_words_ratio": cell["min_alpha_word_ratio"],
                "stop_words": [*stop_words[code]],
            },
        }
    return found


def _checks() -> tuple[Check, ...]:
    shared = (*REPETITION[2:3], *REPETITION[4:], *QUALITY)
    return (
        *(Check(one.peer, one.ours.replace("text.gopher.", "text.fineweb2."), one.rule) for one in shared),
        Check(f"{_FINEWEB}.line_punct_thr", "text.fineweb.line_punct_ratio", "line_punct_ratio"),
        Check(f"{_FINEWEB}.char_duplicates_ratio", "text.fineweb.char_dup_ratio", "char_dup_ratio"),
        Check(f"{_FINEWEB}.new_line_ratio", "text.fineweb2.newline_ratio", "list_ratio"),
    )


def _adapter(preset: str, table: Callable[[], ThresholdTable]) -> Adapter:
    return Adapter(
        preset=preset,
        peer="datatrove",
        module="datatrove_filters",
        settings=lambda: {
            "by_language": _options(table()),
            "filters": [
                {
                    "name": _REPETITION,
                    "options": {"dup_para_frac": _OFF, "dup_line_char_frac": _OFF, "dup_para_char_frac": _OFF},
                    "thresholds": ["dup_line_frac", "top_n_grams", "dup_n_grams"],
                },
                {
                    "name": _FINEWEB,
                    "options": {"short_line_thr": 999, "char_duplicates_ratio": 0.1},
                    "thresholds": ["line_punct_thr", "char_duplicates_ratio", "new_line_ratio"],
                },
                {"name": _QUALITY, "thresholds": [*QUALITY_THRESHOLDS]},
            ],
        },
        checks=_checks(),
        code_of=code_of,
        where="text.fineweb2.status = 'ok' AND NOT text.fineweb2.substituted",
        notes=(
            "left out are languages that FineWeb-2 does not have, and those whose words one side has no segmentation "
            "for here: a package that is not installed, or one that winnow has a stated substitute for",
        ),
    )


ADAPTERS = (
    _adapter("fineweb2", fineweb2_thresholds),
    _adapter("fineweb2@published", fineweb2_published),
)
