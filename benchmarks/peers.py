"""Peers live in environments of their own, made once under `.cache/peers` by pip."""

import shlex
import subprocess
import sys
from pathlib import Path

from benchmarks.parity.environments import ENVIRONMENTS, FOLDER, Environment

PEERS = FOLDER.absolute()

MORE = {
    # trafilatura as datatrove pins it; cchardet and magic as its WARC reader asks for
    "datatrove": (
        "trafilatura>=1.8,<1.12",
        "lxml_html_clean",
        "warcio",
        "faust-cchardet",
        "python-magic",
        "pyarrow",
        "orjson",
        "Resiliparse>=2.0.1",
        "pyahocorasick",  # its filter of addresses
        "fasteners",
        "tokenizers",  # its search for duplicates imports them, whatever it searches for
    ),
}
"""What a benchmark needs of a peer beside what parity does."""


OWN = {
    "minhash": Environment("minhash", "rensa", (("rensa>=0.5,<0.6", "datasketch==2.0.0", "pyarrow"),)),
    "text-dedup": Environment(
        "text-dedup",
        "text_dedup.minhash",
        # without Spark and others that only its other scripts need
        (
            ("--no-deps", "text-dedup==0.4.0"),
            ("datasets", "click>=8.1.7,<9", "click-option-group>=0.5.6,<0.6", "rich>=13.7.1,<14", "scipy"),
            ("ftfy", "regex", "xxhash", "numpy", "tqdm", "pyarrow"),
        ),
    ),
    "presidio": Environment(
        "presidio",
        "presidio_analyzer",
        (("presidio-analyzer==2.2.366", "tldextract", "phonenumbers==9.0.43", "pyarrow"),),
    ),
}
"""Peers that no preset follows, so that only benchmarks know them."""


def peer_python(name: str) -> Path:
    """The interpreter of a peer's environment, made anew where what it should hold has changed."""
    folder = PEERS / name
    ready = folder / "ready"
    made, *installs = (OWN | ENVIRONMENTS)[name].commands(PEERS)
    if name in MORE:
        installs.append((*installs[0][:4], *MORE[name]))
    wanted = "\n".join(shlex.join(command[4:]) for command in installs)
    if not ready.exists() or ready.read_text() != wanted:
        _run(name, (sys.executable, *made[1:-1], "--clear", made[-1]))
        for command in installs:
            _run(name, (*command[:4], "--quiet", *command[4:]))
        ready.write_text(wanted)
    return folder / "bin" / "python"


def _run(name: str, command: tuple[str, ...]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"benchmarks: the peer {name} does not install: {(done.stderr.strip().splitlines() or [''])[-1]}")
