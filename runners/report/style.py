"""The style of the report and its plots, for light and dark screens and for paper.

The tones are the colours of Okabe and Ito (2008), which colour-blind people can tell apart.
"""

import re
from collections.abc import Mapping
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

PLOT_STYLE: Final = """
svg text { font: 13px system-ui, "Noto Sans", sans-serif; }
svg text { fill: var(--ink); font-variant-numeric: tabular-nums; }
svg .value, svg .axis { fill: var(--soft); }
svg .axis { font-size: 11.5px; }
svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg .rule { stroke: var(--rule); }
svg .median { stroke: var(--ink); stroke-dasharray: 3 3; }
.track { fill: var(--track); }
.kept { fill: var(--kept); background: var(--kept); }
.dropped { fill: var(--dropped); background: var(--dropped); }
.quarantined { fill: var(--quarantined); background: var(--quarantined); }
.tone-1 { fill: var(--tone-1); background: var(--tone-1); }
.tone-2 { fill: var(--tone-2); background: var(--tone-2); }
.tone-3 { fill: var(--tone-3); background: var(--tone-3); }
.tone-4 { fill: var(--tone-4); background: var(--tone-4); }
.tone-5 { fill: var(--tone-5); background: var(--tone-5); }
.tone-6 { fill: var(--tone-6); background: var(--tone-6); }
.tone-7 { fill: var(--tone-7); background: var(--tone-7); }
.tone-8 { fill: var(--tone-8); background: var(--tone-8); }
.tone-rest { fill: var(--rest); background: var(--rest); }
.area { opacity: .25; }
svg .trace { fill: none; stroke-width: 2; }
svg .mark { stroke: var(--card); stroke-width: .8; }
.card { fill: var(--card); }
svg .trace.tone-1 { stroke: var(--tone-1); }
svg .trace.tone-2 { stroke: var(--tone-2); }
svg .trace.tone-3 { stroke: var(--tone-3); }
svg .trace.tone-4 { stroke: var(--tone-4); }
svg .trace.tone-5 { stroke: var(--tone-5); }
svg .trace.tone-6 { stroke: var(--tone-6); }
svg .trace.tone-7 { stroke: var(--tone-7); }
svg .trace.tone-8 { stroke: var(--tone-8); }
"""
PAGE_STYLE: Final = """
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 70rem; padding: 2rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif; overflow-wrap: anywhere;
}
h1 { margin: .1rem 0; font-size: 1.9rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 0 0 1rem; font-size: 1.25rem; }
h3 { margin: 0 0 .5rem; font-size: 1rem; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Noto Sans Mono", monospace; font-size: .88em; }
a { color: var(--link); }
.note { margin: .4rem 0; color: var(--soft); font-size: .88rem; overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: 1rem 0 0; padding: 0; list-style: none; }
main > section, .part {
  margin-top: 1.25rem; padding: 1.35rem 1.5rem; background: var(--card);
  border: 1px solid var(--rule); border-radius: 10px;
}
.part { margin-bottom: 0; padding: .8rem 1.5rem; }
.part + .part { margin-top: .6rem; }
.part > summary { color: var(--ink); }
.part > summary h2 { display: inline; margin: 0 .8rem 0 0; font-size: 1.05rem; }
.part > section { padding: 1rem 0 .5rem; }
.funnel { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 1.1rem 1rem;
  margin: 0 0 1.1rem; padding: 0; list-style: none; }
.funnel .step { color: var(--soft); font-size: .88rem; }
.funnel strong { display: block; font-size: 1.7rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.funnel .note { margin: 0; }
.verdict { margin: 1.25rem 0 0; color: var(--good); }
.verdict.bad { color: var(--bad); font-weight: 600; }
.alarm { margin: .4rem 0; color: var(--bad); overflow-wrap: anywhere; }
svg { display: block; width: 100%; min-width: 30rem; height: auto; margin: .25rem 0; }
svg.small { min-width: 0; }
svg.meter { width: 100%; min-width: 3.5rem; height: .45rem; margin: .35rem 0; border-radius: 3px; }
.multiples { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: 1.1rem;
  margin: 0 0 1rem; }
.multiples figure { max-width: none; }
figcaption { color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
figcaption strong { display: block; color: var(--ink); font-weight: 600; }
.shade { padding: 0 .3em; border-radius: 3px; }
.shade-1 { background: var(--shade-1); }
.shade-2 { background: var(--shade-2); }
.shade-3 { background: var(--shade-3); }
.shade-4 { background: var(--shade-4); }
.shade-5 { background: var(--shade-5); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 0 0 .5rem; padding: 0; list-style: none; }
.legend li { color: var(--soft); font-size: .88rem; }
.swatch { display: inline-block; width: .8em; height: .8em; margin-right: .45em; border-radius: 2px; }
.scroll { margin: 0 0 1.2rem; overflow-x: auto; background-attachment: local, local, scroll, scroll;
  background-image: linear-gradient(to right, var(--card) 40%, transparent),
    linear-gradient(to left, var(--card) 40%, transparent),
    linear-gradient(to right, var(--rest), transparent), linear-gradient(to left, var(--rest), transparent);
  background-position: left, right, left, right; background-repeat: no-repeat;
  background-size: 2rem 100%, 2rem 100%, .6rem 100%, .6rem 100%; }
.note + .scroll { margin-top: 1.1rem; }
table { width: 100%; border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
table { overflow-wrap: break-word; }
caption { padding-bottom: .35rem; font-weight: 600; text-align: left; }
th, td { padding: .32rem .55rem; border-bottom: 1px solid var(--rule); vertical-align: top; }
thead th { color: var(--soft); font-weight: 500; }
tbody th { font-weight: 500; }
tfoot th, tfoot td { border-bottom: 0; font-weight: 600; }
.name { min-width: 4.5rem; max-width: 26rem; text-align: left; }
.name.long { overflow-wrap: anywhere; }
.condition { display: block; color: var(--soft); }
.name:has(wbr) { min-width: 7.5rem; }
.whole { display: block; white-space: nowrap; }
.number { text-align: right; white-space: nowrap; }
th.number { white-space: normal; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
details { margin-bottom: .7rem; }
summary { color: var(--link); font-size: .88rem; cursor: pointer; }
.ranking + .ranking { margin-top: 1.75rem; }
article { padding: .9rem 0; border-top: 1px solid var(--rule); }
article:first-of-type { padding-top: 0; border-top: 0; }
article p { margin: 0; }
.url { font-weight: 500; overflow-wrap: anywhere; }
pre { margin: .5rem 0 0; padding: .75rem .9rem; border-radius: 6px; background: var(--track);
  overflow-wrap: anywhere; white-space: pre-wrap; }
.pictures { display: flex; flex-wrap: wrap; gap: .75rem; margin: 0 0 1rem; }
#contact-sheets .pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.25rem, 1fr)); }
.pictures figure.wide { grid-column: 1 / -1; max-width: 30rem; }
@media (min-width: 40rem) { #contact-sheets .pictures figure.wide { grid-column: span 3; } }
figure { max-width: 11rem; margin: 0; color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
figure img { display: block; max-width: 100%; height: auto; border-radius: 4px; background: var(--track); }
.no-picture { display: block; padding: 1.5rem .75rem; border-radius: 4px; background: var(--track); }
.code { padding: 0 .15em; border-radius: 3px; background: var(--code); color: var(--ink); }
.code { font-family: ui-monospace, monospace; }
@media (max-width: 50rem) {
  body { padding: 1.2rem .8rem 3rem; }
  main > section { padding: 1rem .9rem; }
  .part { padding: .7rem .9rem; }
  th, td { padding: .3rem .4rem; }
  table { font-size: .82rem; }
  .funnel { grid-template-columns: repeat(3, 1fr); }
}
@media (max-width: 34rem) {
  .funnel { grid-template-columns: 1fr 1fr; }
  h1 { font-size: 1.5rem; }
  th:empty, td:has(> svg.meter) { display: none; }
  .name { min-width: 4.2rem; }
  tbody th.name { min-width: 5.4rem; }
  table.wide, table.wide caption, table.wide tbody, table.wide tfoot { display: block; }
  table.wide thead, table.wide td:empty { display: none; }
  table.wide tr { display: flex; flex-wrap: wrap; gap: 0 .9rem; padding: .35rem 0; }
  table.wide tr { border-bottom: 1px solid var(--rule); }
  table.wide th, table.wide td { min-width: 0; padding: 0; border: 0; text-align: left; overflow-wrap: anywhere; }
  table.wide th { flex: 0 0 100%; font-weight: 600; }
  table.wide td::before { content: attr(data-of) " "; color: var(--soft); }
  table.wide .condition { font-weight: 400; }
  .whole { display: inline; }
}
@media print {
  details::details-content { content-visibility: visible; height: auto; }
  :root { --page: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #bbb; --track: #f2f2f2; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  main > section, .part { padding: 0; border: 0; }
  svg, table, article, .ranking { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  svg rect, .swatch { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .scroll { overflow: visible; }
}
"""


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
