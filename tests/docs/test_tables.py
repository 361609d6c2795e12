"""Tables in the pages that say what the project is made of are complete: licences, packages, extras."""

import re
import subprocess
import tomllib
from pathlib import Path

from winnow.pipelines.assets import all_assets
from winnow.schemas.assets import Asset

ROOT = Path(__file__).resolve().parents[2]
LICENCES = (ROOT / "docs" / "reference" / "licences.md").read_text("utf-8")
INSTALLING = (ROOT / "docs" / "reference" / "installing.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NO_DATA = {".py", ".yaml", ".md", ".xml"}


def test_the_licence_of_every_asset_is_listed_as_declared() -> None:
    rows = []
    for one in all_assets():
        packages = sorted({one.package} if isinstance(one, Asset) else {source.package for source in one.of})
        named = ", ".join(f"`{package}`" for package in packages)
        rows.append(f"| `{one.name}` | {one.summary} | {named} | {one.licence} |")
    assert LICENCES.partition("## Fetched files")[2].count("\n| `") == len(rows)
    for row in rows:
        assert row in LICENCES, f"docs/reference/licences.md lacks: {row}"


def test_all_bundled_data_are_listed() -> None:
    folders = ["schemas", "filters", "scoring", "pipelines", "runners", "recipes"]
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    bundled = LICENCES.partition("## Bundled data")[2].partition("## Fetched files")[0]
    for name in listing:
        path = Path(name)
        if path.suffix in NO_DATA or path.name.startswith(("Dockerfile", "SOURCES")):
            continue
        if name.startswith("runners/inspect/web/"):  # the page's own code; what is built of it lists its packages
            continue
        named = f"{path.name}`" in bundled or f"`{path.parent.name}/`" in bundled
        assert named, f"docs/reference/licences.md lacks {name}"


def test_every_package_of_the_core_and_every_extra_has_a_reason() -> None:
    core, _, extras = INSTALLING.partition("## Extras")
    packages = [re.split(r"[^\w.-]", one)[0] for one in PROJECT["dependencies"]]
    assert re.findall(r"^\| `([\w.-]+)`", core, re.MULTILINE) == packages
    assert re.findall(r"^\| `([\w-]+)` \| \S", extras, re.MULTILINE) == list(PROJECT["optional-dependencies"])
