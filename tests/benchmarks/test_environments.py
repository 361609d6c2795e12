"""A peer's environment is made once, where it is first needed; what fails is one line."""

import sys
from pathlib import Path

import pytest

from benchmarks.measuring import environments
from benchmarks.measuring.environments import ENVIRONMENTS, Environment, imports, installed_python, peer_python
from benchmarks.parity.__main__ import find_python
from winnow.schemas.errors import WinnowError


@pytest.fixture
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for environments, and a peer that needs no package."""
    monkeypatch.setattr(environments, "PEERS", tmp_path)
    monkeypatch.setitem(ENVIRONMENTS, "json", Environment("json", "json", ()))
    monkeypatch.setitem(ENVIRONMENTS, "broken", Environment("broken", "no_such_module", ()))
    return tmp_path


def test_an_environment_is_made_once_and_said_so(peers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = peer_python("json")
    assert python == peers / "json/bin/python"
    assert imports(python, "json")
    assert capsys.readouterr().err == f"benchmarks: making the environment of the peer json, once, in {peers}/json\n"
    assert peer_python("json") == python
    assert capsys.readouterr().err == ""


def test_what_cannot_be_made_is_one_line(peers: Path) -> None:
    (peers / "broken").write_text("a file stands where the environment should")
    with pytest.raises(SystemExit, match=r"^benchmarks: the environment broken cannot be made: .* -m venv .*") as end:
        peer_python("broken")
    assert "\n" not in str(end.value)


def test_a_peer_that_winnow_brings_needs_no_environment(peers: Path) -> None:
    assert installed_python("json") == Path(sys.executable)
    assert installed_python("broken") is None
    assert not list(peers.iterdir())


@pytest.mark.parametrize("given", [sys.executable, "none"])
def test_a_python_that_lacks_the_peer_is_refused(given: str) -> None:
    with pytest.raises(WinnowError, match=f"--peer-python {given}: cannot import dolma.taggers.gopher"):
        find_python("dolma", given)


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_every_peer_is_pinned(name: str) -> None:
    packages = [argument for arguments in ENVIRONMENTS[name].installs for argument in arguments]
    assert any("==" in package for package in packages)
