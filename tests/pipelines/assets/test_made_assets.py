"""What converters make: the bytes of every made asset stay the same under its version, made in an empty cache.

`UPDATE_GOLDEN=1` writes the hashes anew; an asset whose hash changes needs another version.
"""

import hashlib
import json
import os
from pathlib import Path

import pytest

from winnow.pipelines.assets import all_assets, fetch
from winnow.pipelines.assets.cached import FOLDER_VARIABLE
from winnow.schemas.assets import BuiltAsset

GOLDEN = Path(__file__).parent / "golden" / "made.json"
MADE = {asset.name: asset for asset in all_assets() if isinstance(asset, BuiltAsset)}


def test_every_made_asset_has_its_hash() -> None:
    known = json.loads(GOLDEN.read_text("utf-8"))
    assert {name: asset.version for name, asset in MADE.items()} == {
        name: one["version"] for name, one in known.items()
    }


@pytest.mark.assets
@pytest.mark.parametrize("name", sorted(MADE))
def test_a_converter_makes_the_same_bytes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    asset = MADE[name]
    assert fetch(asset)
    made = hashlib.sha256((tmp_path / asset.file_name).read_bytes()).hexdigest()
    known = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {}
    if os.environ.get("UPDATE_GOLDEN") == "1":
        known[name] = {"version": asset.version, "sha256": made}
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n", "utf-8")
    assert known[name] == {"version": asset.version, "sha256": made}
