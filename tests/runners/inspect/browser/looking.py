"""The page in the system's Chromium, watched: what it complains of, what it asks for, and what runs that should not."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.runners.inspect.asking import TOKEN, Asker
from tests.runners.report.chromium import CHROMIUM
from winnow.runners.inspect.serving.page_build import WEB, built_of, sources_digest
from winnow.runners.inspect.serving.page_files import BUILT

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright; run: pip install playwright")

needs_page = pytest.mark.skipif(
    CHROMIUM is None or built_of(BUILT) != sources_digest(WEB),
    reason="no chromium (apt-get install chromium), or the page is not built from these sources (make web)",
)

_PWNED = "window.ran = []; window.pwned = name => { (window.top || window).ran.push(String(name)); };"


@dataclass
class Watched:
    """One tab."""

    tab: Any  # of playwright, which is found at run time
    port: int
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def open(self, place: str) -> None:
        """Goes to a place of the page, and waits until it asks for nothing more."""
        self.tab.goto(f"http://127.0.0.1:{self.port}/#/{place}")
        self.tab.wait_for_selector("h1, h2, [role=alert]")
        self.tab.wait_for_load_state("networkidle")

    def dismiss(self, dialog: Any) -> None:
        """A box that a script opened."""
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    @property
    def ran(self) -> list[str]:
        """What ran of the store's texts."""
        return list(self.tab.evaluate("window.ran"))


@contextmanager
def watching(page: Asker, *, width: int = 1400, theme: str = "light") -> Iterator[Watched]:
    """A browser with one tab, which has exchanged the token."""
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        context.add_init_script(_PWNED)
        tab = context.new_page()
        watched = Watched(tab, page.port)
        own = re.compile(rf"(http://(127\.0\.0\.1|localhost):{page.port}/|data:|blob:http://127)")
        context.on("request", lambda sent: None if own.match(sent.url) else watched.foreign.append(sent.url))
        context.on("page", lambda other: watched.complaints.append(f"another tab: {other.url}"))
        tab.on("dialog", watched.dismiss)
        tab.on("pageerror", lambda error: watched.complaints.append(f"error: {error}"))
        tab.on("download", lambda one: watched.complaints.append(f"download: {one.url}"))
        tab.on("console", lambda said: watched.complaints.append(said.text) if said.type == "error" else None)
        tab.goto(f"http://127.0.0.1:{page.port}/?token={TOKEN}")
        yield watched
        browser.close()
