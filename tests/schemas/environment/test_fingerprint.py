"""The environment that values depend on is named without loading what it names."""

import subprocess
import sys
from importlib import metadata

import pytest

from winnow.schemas.environment.fingerprint import current_fingerprint


@pytest.mark.parametrize("package", ["pillow", "simplejpeg"])
def test_other_decoders_are_another_environment(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = current_fingerprint()
    assert here.packages[package] == metadata.version(package)
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.0" if name == package else version(name))
    current_fingerprint.cache_clear()
    try:
        assert current_fingerprint().name != here.name
    finally:
        current_fingerprint.cache_clear()


def test_nothing_is_imported_to_learn_its_version() -> None:
    code = (
        "import sys; from winnow.schemas.environment.fingerprint import current_fingerprint; current_fingerprint(); "
        "print(*{'PIL', 'simplejpeg', 'onnxruntime', 'torch', 'numba'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()
