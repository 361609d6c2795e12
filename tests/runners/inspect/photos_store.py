"""A store of three pictures."""

import shutil
from pathlib import Path

from PIL import Image

from winnow.runners.commands.main import main

PICTURES = Path("runners/demo/pictures").resolve()
RECIPE = """\
version: 1
store: {path: store}
sources: {photos: {root: photos, files: ["*.jpg"], format: image_folder, class: public}}
annotate: [image.geometry]
dedupe: {image_bytes: {}}
"""


def make_photos(folder: Path) -> None:
    """A picture twice, with words in its metadata, and a file that is none."""
    (folder / "photos").mkdir()
    with Image.open(PICTURES / "harbour.jpg") as image:
        image.save(folder / "photos" / "a.jpg", comment=b"<script>alert(1)</script>", quality=90)
    shutil.copy(folder / "photos" / "a.jpg", folder / "photos" / "b.jpg")
    (folder / "photos" / "c.jpg").write_bytes((PICTURES / "harbour.jpg").read_bytes()[:2000])
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1", "--quiet"]) == 0
