"""The style sheet of the report is CSS: a browser ignores an unknown property without a word."""

import re

from winnow.runners.report.style import LIGHT, file_style, page_style

PROPERTIES = {
    *("-webkit-print-color-adjust", "background", "background-attachment"),
    *(
        "background-image",
        "background-position",
        "background-repeat",
        "background-size",
        "border",
        "border-bottom",
        "border-collapse",
        "border-left",
    ),
    *("border-radius", "border-top", "box-sizing", "break-after", "break-inside", "color", "color-scheme", "content"),
    *("content-visibility", "cursor", "display", "fill", "flex", "flex-wrap", "font", "font-family", "font-size"),
    *("font-variant-numeric", "font-weight", "gap", "grid-column", "grid-template-columns", "height", "line-height"),
    *("list-style", "margin", "margin-bottom", "margin-right", "margin-top", "max-width", "min-width", "opacity"),
    *(
        "overflow",
        "overflow-wrap",
        "overflow-x",
        "padding",
        "padding-bottom",
        "padding-left",
        "padding-right",
        "padding-top",
    ),
    *("print-color-adjust", "stroke", "stroke-dasharray", "stroke-width", "text-align", "text-anchor"),
    *("vertical-align", "white-space", "width"),
}


def test_every_property_is_one_of_css_and_every_variable_is_a_colour() -> None:
    for style in (page_style(), file_style()):
        declared = set(re.findall(r"[{;]\s*([a-z-]+):\s", style)) - {f"--{name}" for name in LIGHT}
        assert declared <= PROPERTIES
        assert set(re.findall(r"var\(--([a-z0-9-]+)\)", style)) <= set(LIGHT)
