"""FineWeb's page rules beside datatrove's FineWebQualityFilter."""

from benchmarks.parity.adapters import Adapter, Check

_FILTER = "FineWebQualityFilter"

ADAPTERS = (
    Adapter(
        preset="fineweb",
        peer="datatrove",
        module="datatrove_filters",
        settings=lambda: {
            "filters": [
                {
                    "name": _FILTER,
                    "thresholds": ["line_punct_thr", "short_line_threshold", "char_duplicates_ratio", "new_line_ratio"],
                }
            ]
        },
        reasons={"empty": "no_lines"},
        checks=(
            Check(f"{_FILTER}.line_punct_thr", "text.fineweb.line_punct_ratio", "line_punct_ratio"),
            Check(f"{_FILTER}.short_line_threshold", "text.fineweb.short_line_ratio", "short_line_ratio"),
            Check(f"{_FILTER}.char_duplicates_ratio", "text.fineweb.char_dup_ratio", "char_dup_ratio"),
            Check(f"{_FILTER}.new_line_ratio", "text.fineweb.newline_ratio", "list_ratio"),
        ),
    ),
)
