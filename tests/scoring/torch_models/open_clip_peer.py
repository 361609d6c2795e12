"""Run in the peer's environment: what open_clip itself makes of pictures and captions.

`python open_clip_peer.py FOLDER`: `pictures/` are read in order of their names; `captions.json` is a list of texts.
Writes `pictures.json`, the SHA-256 of each picture's numbers by layout, and `tokens.json`.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

WAYS: dict[str, dict[str, Any]] = {  # as `open_clip.pretrained` has them
    "clip": {"image_size": 224},
    "siglip": {"image_size": 224, "mean": (0.5,) * 3, "std": (0.5,) * 3, "resize_mode": "squash"},
    "mobileclip": {"image_size": 256, "mean": (0.0,) * 3, "std": (1.0,) * 3, "interpolation": "bilinear"},
}


def main(folder: Path) -> None:
    import open_clip  # type: ignore[import-not-found, unused-ignore]
    from open_clip.tokenizer import get_clean_fn  # type: ignore[import-not-found, unused-ignore]
    from PIL import Image

    found: dict[str, list[str]] = {}
    for name, options in WAYS.items():
        given: dict[str, Any] = {"interpolation": "bicubic", "resize_mode": "shortest", **options}
        seen = open_clip.image_transform(is_train=False, **given)
        files = sorted((folder / "pictures").iterdir())
        found[name] = [hashlib.sha256(seen(Image.open(file)).numpy().tobytes()).hexdigest() for file in files]
    (folder / "pictures.json").write_text(json.dumps(found))
    captions = json.loads((folder / "captions.json").read_text())
    clip = open_clip.get_tokenizer("ViT-B-32")
    said = {
        "clip": clip(captions).tolist(),
        "canonicalize": [get_clean_fn("canonicalize")(one) for one in captions],
    }
    (folder / "tokens.json").write_text(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
