"""The style of the report and its plots, for light and dark screens and for paper.

The tones are the colours of Okabe and Ito (2008), which colour-blind people can tell apart.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

LIGHT: Final = {
    "page": "#f6f7f9",
    "card": "#fff",
    "ink": "#1a2029",
    "soft": "#5b6573",
    "rule": "#dfe3e9",
    "track": "#eef1f5",
    "link": "#0a5fa5",
    "good": "#00795a",
    "bad": "#b3400a",
    "code": "#fff1d6",
    "tone-1": "#0072b2",
    "tone-2": "#e69f00",
    "tone-3": "#cc79a7",
    "tone-4": "#56b4e9",
    "tone-5": "#d55e00",
    "tone-6": "#8a7fd0",
    "tone-7": "#c9b100",
    "tone-8": "#7a8594",
    "kept": "#009e73",
    "dropped": "#e69f00",
    "quarantined": "#d55e00",
    "rest": "#a6afbb",
    "shade-1": "#fff6e5",
    "shade-2": "#ffe9c2",
    "shade-3": "#ffd794",
    "shade-4": "#ffc266",
    "shade-5": "#ffa940",
}
DARK: Final = {
    "page": "#0f1318",
    "card": "#181e26",
    "ink": "#e7ebf0",
    "soft": "#9aa6b4",
    "rule": "#2c3540",
    "track": "#232b35",
    "link": "#6bb8f5",
    "good": "#4fd0a5",
    "bad": "#ff9d66",
    "code": "#4a3a12",
    "tone-1": "#4aa3df",
    "tone-6": "#a49af0",
    "tone-7": "#e3d24a",
    "kept": "#2bbd92",
    "quarantined": "#ee7733",
    "rest": "#5f6b79",
    "shade-1": "#2a2619",
    "shade-2": "#3d3215",
    "shade-3": "#544012",
    "shade-4": "#6d4e0f",
    "shade-5": "#8a5f0b",
}
"""Those that differ on a dark screen."""

PLOT_STYLE: Final = "\n" + Path(__file__).with_name("plots.css").read_text("utf-8")
PAGE_STYLE: Final = "\n" + Path(__file__).with_name("page.css").read_text("utf-8")


def page_style() -> str:
    """The style of a page; its colours are variables, so that print can change them."""
    light, dark = (" ".join(f"--{name}: {colour};" for name, colour in colours.items()) for colours in (LIGHT, DARK))
    root = f":root {{ color-scheme: light dark; {light} }}"
    return f"\n{root}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}{PLOT_STYLE}{PAGE_STYLE}"


def file_style() -> str:
    """The style of a plot that stands alone, with every colour written out."""
    dark = _coloured(PLOT_STYLE, {**LIGHT, **DARK})
    return f"{_coloured(PLOT_STYLE, LIGHT)}@media (prefers-color-scheme: dark) {{{dark}}}\n"


def _coloured(style: str, colours: Mapping[str, str]) -> str:
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: colours[found[1]], style)
