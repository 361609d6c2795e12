"""Pages in a real browser: pictures of them, and what their layout measures.

A page is shown in a frame, as a window of Chromium has at least 500 pixels across; to a page its frame is its window.
"""

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

Theme = Literal["light", "dark"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium; install Debian's package to look at pages")

_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_MEASURE = """<script>
addEventListener("load", () => {
  const page = document.documentElement, wide = innerWidth;
  const text = element => element.className + " " + element.textContent.trim().slice(0, 60);
  const inside = element => element.closest(".scroll") !== null;
  const beyond = [...document.querySelectorAll("body *")].filter(
    one => one.getClientRects().length && one.getBoundingClientRect().right > wide + 1 && !inside(one));
  const cut = [...document.querySelectorAll(".scroll")].filter(one => one.scrollWidth > one.clientWidth + 1);
  const faint = [...document.querySelectorAll("p, td, th, h1, h2, h3, summary, span, strong, li, code, a")].filter(
    one => one.getClientRects().length && [...one.childNodes].some(child => child.nodeType === 3 && child.data.trim()));
  const number = colour => (colour.match(/[0-9.]+/g) || [0, 0, 0, 0]).map(Number);
  const part = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * part(r / 255) + 0.7152 * part(g / 255) + 0.0722 * part(b / 255);
  const ground = one => { for (let at = one; at; at = at.parentElement) {
    const found = number(getComputedStyle(at).backgroundColor); if (found.length < 4 || found[3] > 0) return found; }
    return [255, 255, 255]; };
  const contrast = one => { const [a, b] = [light(number(getComputedStyle(one).color)), light(ground(one))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
  const worst = faint.map(one => [contrast(one), text(one)]).sort((a, b) => a[0] - b[0])[0];
  const broken = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const shown = node => !node.parentElement.closest("details:not([open]) > :not(summary)");
  const named = node => node.parentElement.closest("td, th, h1, h2, h3, summary") && shown(node);
  for (let node; (node = texts.nextNode());) if (named(node))
    for (const word of node.data.matchAll(/(?<![A-Za-z0-9])[A-Za-z]{3,20}(?![A-Za-z0-9])/g)) {
      const range = document.createRange(); range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(one => Math.round(one.top)));
      if (lines.size > 1) broken.push(word[0] + " in " + text(node.parentElement)); }
  const found = {wide, scroll: page.scrollWidth, tall: page.scrollHeight, broken: broken.slice(0, 5),
    beyond: beyond.slice(0, 5).map(text),
    cut: cut.map(one => one.firstElementChild.tagName.toLowerCase() + " " + text(one)),
    contrast: worst[0], faintest: worst[1]};
  parent.document.body.textContent = "@@" + JSON.stringify(found) + "@@";
});
</script>"""


@dataclass(frozen=True)
class Layout:
    """What a browser says of a page."""

    wide: int  # of the window
    scroll: int  # the page's width
    tall: int
    beyond: tuple[str, ...]  # what lies beyond the right edge
    cut: tuple[str, ...]  # "table …" or "svg …" that is wider than its place
    broken: tuple[str, ...]  # words of tables and headings that go on in the next line
    contrast: float  # the lowest of a text and its ground
    faintest: str


def measured(page: str, wide: int, theme: Theme, folder: Path) -> Layout:
    """The layout of a page in a window of this width; the policy is taken out, so that a script can measure."""
    framed = _framed(_POLICY.sub("", page).replace("</head>", f"{_MEASURE}</head>"), wide, 900, folder)
    found = re.search(r"@@(.*)@@", _run(framed, wide, 900, theme, folder, "--dump-dom"))
    assert found is not None
    read: dict[str, Any] = json.loads(html.unescape(found[1]))
    return Layout(**read | {name: tuple(read[name]) for name in ("beyond", "cut", "broken")})


def pictured(page: str, wide: int, tall: int, theme: Theme, target: Path) -> None:
    """Put a picture of the page as it is; one narrower than a window has the window's ground on its right."""
    _run(_framed(page, wide, tall, target.parent), wide, tall, theme, target.parent, f"--screenshot={target}")


def _framed(page: str, wide: int, tall: int, folder: Path) -> Path:
    frame = folder / "framed.html"
    frame.write_text(
        '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        "<style>body { margin: 0 } iframe { display: block; border: 0 }</style>"
        f'<iframe width="{wide}" height="{tall}" srcdoc="{html.escape(page)}"></iframe>'
    )
    return frame


def opened(page: str) -> str:
    """The page with everything unfolded."""
    return page.replace("<details", "<details open")


def _run(page: Path, wide: int, tall: int, theme: Theme, folder: Path, *flags: str) -> str:
    assert CHROMIUM is not None
    scheme = "--blink-settings=preferredColorScheme=" + ("0" if theme == "dark" else "1")
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", scheme]
    command += [f"--user-data-dir={folder / 'profile'}", f"--window-size={wide},{tall}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
