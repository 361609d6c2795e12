"""Where peers live: each in a Python of its own, beside winnow's, because their packages contradict each other's."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from winnow.schemas.errors import WinnowError

FOLDER = Path(".cache/peers")


@dataclass(frozen=True, slots=True)
class Environment:
    """A peer's packages, in the versions that parity was proved with."""

    name: str
    imports: str  # what its Python must be able to import
    installs: tuple[tuple[str, ...], ...]  # the arguments of each `pip install`, in order

    def commands(self, folder: Path = FOLDER) -> tuple[tuple[str, ...], ...]:
        """What makes the environment, as typed into a shell."""
        python = str(folder / self.name / "bin" / "python")
        made = ("python3", "-m", "venv", str(folder / self.name))
        return (made, *((python, "-m", "pip", "install", *arguments) for arguments in self.installs))


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
    )
}


def find_python(name: str, given: str | None = None) -> Path:
    """The Python that has a peer: the one given, else winnow's own, else that of `.cache/peers`.

    Raises:
        WinnowError: None has; the lines say what makes one.
    """
    environment = ENVIRONMENTS[name]
    for python in _candidates(name, given):
        if _imports(python, environment.imports):
            return python
        if given:
            raise WinnowError(f"--peer-python {given}: cannot import {environment.imports}\n{_advice(environment)}")
    raise WinnowError(f"the peer {name} is not installed\n{_advice(environment)}")


def _candidates(name: str, given: str | None) -> Iterator[Path]:
    if given:
        yield Path(given)
        return
    yield Path(sys.executable)
    cached = FOLDER / name / "bin" / "python"
    if cached.exists():
        yield cached.absolute()


def _imports(python: Path, module: str) -> bool:
    try:
        found = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    except OSError:
        return False
    return found.returncode == 0


def _advice(environment: Environment) -> str:
    lines = "\n".join(f"  {shlex.join(command)}" for command in environment.commands())
    return f"these commands make it where winnow looks:\n{lines}"
