"""A peer is looked for where the user says, in winnow's own Python and in the cache; else one error says what to do."""

import sys
from pathlib import Path

import pytest

from benchmarks.parity.environments import ENVIRONMENTS, find_python
from winnow.schemas.errors import WinnowError


def test_a_python_that_lacks_the_peer_is_answered_with_the_commands_that_make_one() -> None:
    with pytest.raises(WinnowError) as raised:
        find_python("dolma", sys.executable)
    first, second, *commands = str(raised.value).splitlines()
    assert first == f"--peer-python {sys.executable}: cannot import dolma.taggers.gopher"
    assert second == "these commands make it where winnow looks:"
    assert commands[0] == "  python3 -m venv .cache/peers/dolma"
    assert commands[1] == "  .cache/peers/dolma/bin/python -m pip install --no-deps dolma==1.2.1"


def test_a_path_that_is_no_python_is_one_that_lacks_the_peer(tmp_path: Path) -> None:
    with pytest.raises(WinnowError, match="cannot import"):
        find_python("dolma", str(tmp_path / "none"))


def test_nothing_found_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WinnowError, match="the peer tfds is not installed"):
        find_python("tfds")


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_every_peer_is_pinned(name: str) -> None:
    assert any("==" in argument for arguments in ENVIRONMENTS[name].installs for argument in arguments)
