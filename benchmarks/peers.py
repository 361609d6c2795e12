"""Peers live in environments of their own, made once under `.cache/peers` by pip."""

import subprocess
import sys
import venv
from pathlib import Path

PEERS = Path(".cache/peers").absolute()

REQUIREMENTS = {
    # trafilatura as datatrove pins it; cchardet and magic as its WARC reader asks for
    "datatrove": (
        "datatrove==0.10.1",
        "trafilatura>=1.8,<1.12",
        "lxml_html_clean",
        "warcio",
        "faust-cchardet",
        "python-magic",
        "pyarrow",
        "orjson",
        "Resiliparse>=2.0.1",
    ),
}


def peer_python(name: str) -> Path:
    """The interpreter of a peer's environment."""
    folder = PEERS / name
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        venv.create(folder, with_pip=True, clear=True)
        installed = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", *REQUIREMENTS[name]],
            capture_output=True,
            text=True,
            check=False,
        )
        if installed.returncode:
            sys.exit(f"benchmarks: the peer {name} does not install: {installed.stderr.strip().splitlines()[-1]}")
        ready.touch()
    return python
