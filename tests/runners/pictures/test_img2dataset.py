"""What img2dataset itself downloads from a server on this machine is read alike in each of its layouts."""

import csv
import subprocess
import tarfile
import threading
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.measuring.environments import PEERS
from tests.faults.winnow import assert_clean, ended, run_here
from tests.runners.test_annotate import table

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

PYTHON = PEERS / "img2dataset" / "bin" / "python"
pytestmark = [
    pytest.mark.large,
    pytest.mark.skipif(
        not PYTHON.is_file(), reason=f"no {PYTHON}: `python -m benchmarks.images --quick` makes the environment"
    ),
]
LAYOUTS = ("webdataset", "parquet", "files")
CAPTIONS = ['A "quoted", cat', "Кошка\nна крыше", "猫", "Two  spaces ", "=1+1", "x" * 5000]
RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 4}
sources:
  webdataset: {root: webdataset, files: ["*.tar"], class: web, columns: {url: url}}
  parquet: {root: parquet, files: ["*.parquet"], class: web, key: key, columns: {media: jpg, captions: caption}}
  files: {root: files, files: ["*/*.jpg"], class: web, format: image_folder, columns: {url: url}}
annotate: [image.geometry, caption.length]
"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and objects to the training use of one file."""

    def end_headers(self) -> None:
        if self.path.endswith("refused.jpg"):
            self.send_header("X-Robots-Tag", "noai")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Downloads in every layout: six pictures, and three that cannot be had."""
    (tmp_path / "site").mkdir()
    for number in range(len(CAPTIONS)):
        Image.linear_gradient("L").resize((300 + number, 200)).save(tmp_path / "site" / f"{number}.jpg")
    (tmp_path / "site" / "text.jpg").write_text("no picture")
    Image.new("RGB", (80, 80)).save(tmp_path / "site" / "refused.jpg")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "site")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    names = [*(str(number) for number in range(len(CAPTIONS))), "text", "missing", "refused"]
    with (tmp_path / "urls.csv").open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["url", "caption"])
        site = f"http://127.0.0.1:{server.server_address[1]}"
        rows.writerows(zip((f"{site}/{name}.jpg" for name in names), [*CAPTIONS, *names[-3:]], strict=True))
    for layout in LAYOUTS:
        options = {
            "url_list": "urls.csv", "input_format": "csv", "url_col": "url", "caption_col": "caption",
            "output_format": layout, "output_folder": layout, "image_size": "64", "processes_count": "1",
            "thread_count": "4", "number_sample_per_shard": "5",
        }  # fmt: skip
        command = [str(PYTHON), "-m", "img2dataset.main", *(f"--{name}={value}" for name, value in options.items())]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    server.shutdown()
    server.server_close()
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def written(folder: Path) -> dict[str, set[str]]:
    """The hashes of the pictures of each layout, as other readers find them."""
    members = []
    for path in sorted((folder / "webdataset").glob("*.tar")):
        with tarfile.open(path) as tar:
            held = (tar.extractfile(one) for one in tar if one.name.endswith(".jpg"))
            members += [one.read() for one in held if one is not None]
    tables = pq.read_table(sorted((folder / "parquet").glob("*.parquet")))
    contents = {
        "webdataset": members,
        "parquet": [one for one in tables["jpg"].to_pylist() if one is not None],
        "files": [path.read_bytes() for path in (folder / "files").rglob("*.jpg")],
    }
    return {layout: {sha256(one).hexdigest() for one in found} for layout, found in contents.items()}


def test_every_layout_of_img2dataset_gives_the_same_pictures_with_their_captions(folder: Path) -> None:
    told = ended(run_here(folder, "run", "recipe.yaml", "--workers", "2"))
    rows = table(folder, "samples").to_pylist()
    sizes = table(folder, "image.geometry").to_pylist()
    found: dict[str, dict[str, tuple[str, str, int]]] = {layout: {} for layout in LAYOUTS}
    for row, size in zip(rows, sizes, strict=True):
        (medium,), (caption,) = row["media"], row["captions"]
        name = row["url"].rsplit("/", 1)[-1]
        found[row["source"]["name"]][name] = (caption["text"], medium["sha256"], size["shorter"][0])
    assert found["webdataset"] == found["parquet"] == found["files"]
    assert {name: text for name, (text, _, _) in found["files"].items()} == {
        f"{number}.jpg": text for number, text in enumerate(CAPTIONS)
    }
    assert {size for _, _, size in found["files"].values()} == {64}
    hashes = {one for _, one, _ in found["files"].values()}
    assert written(folder) == dict.fromkeys(LAYOUTS, hashes)
    # Tables list what could not be had, too: a text that is no picture, a missing one, and one that says `noai`.
    assert "missing_text 3" in told
    assert_clean(folder)
