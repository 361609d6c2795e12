"""FineWeb's own page rules, which follow Gopher's and C4's in its pipeline."""

from winnow.filters.presets import ENGLISH, Preset, preset_rule

PRESETS = (
    Preset(
        name="fineweb",
        summary="FineWebQualityFilter of datatrove 0.10.1 with its defaults",
        languages=ENGLISH,
        operators={"text.fineweb": {}},
        rules=(
            preset_rule("no_lines", "text.fineweb.lines = 0"),
            preset_rule("line_punct_ratio", "text.fineweb.line_punct_ratio < 0.12"),
            preset_rule("short_line_ratio", "text.fineweb.short_line_ratio > 0.67"),
            preset_rule("char_dup_ratio", "text.fineweb.char_dup_ratio > 0.01"),
            preset_rule("list_ratio", "text.fineweb.newline_ratio > 0.3"),
        ),
        notes=(
            "duplicated characters: 0.01 as in the code that made FineWeb; the paper and FineWeb-2 have 0.1",
            "FineWeb applies this after c4@fineweb, to pages without the lines that C4 removes; here the rules see the "
            "text that the recipe selects",
            "datatrove calls no_lines empty; Gopher's rules, which come first, already have a reason of that name",
            "datatrove divides by zero if a page has no words; here the ratio is 0",
        ),
    ),
)
