"""Links in the pages lead to files and headings that exist, and so do the pages that the code names."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP = sorted(page.name for page in ROOT.glob("*.md"))
PAGES = [*TOP, *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]


def anchors(page: Path) -> set[str]:
    """The names that a page's headings are linked by: lower case, spaces as hyphens, no punctuation."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_every_relative_link_leads_somewhere(name: str) -> None:
    page = ROOT / name
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        if ":" in path:  # another site's
            continue
        found = (page.parent / path).resolve() if path else page
        assert found.is_relative_to(ROOT), f"{name}: {target}"
        assert found.exists(), f"{name}: {target}"
        if anchor:
            assert anchor in anchors(found), f"{name}: {target}"


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("docs/") and name != "docs/README.md"])
def test_the_index_names_every_page(name: str) -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    assert index.count(f"]({name.removeprefix('docs/')})") == 1


def test_every_page_that_the_code_names_exists() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    sources = [name for name in listed if name.endswith((".py", ".yaml", ".toml", ".md")) or name == "Makefile"]
    if not sources:
        pytest.skip("not in a clone")
    named: dict[str, str] = {}
    for name in sources:
        file = ROOT / name
        text = file.read_text("utf-8") if file.exists() else ""  # removed and not yet committed
        named |= dict.fromkeys(re.findall(r"(?<![/\w])docs/[\w/-]+\.(?:md|csv|svg)\b", text), name)
    assert {page: name for page, name in named.items() if not (ROOT / page).exists()} == {}
