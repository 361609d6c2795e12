"""Modules of the user's: the same in every process, and what they depend on."""

import importlib
import random
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.scoring.torch_models.samples import NoFiles, noise, squares
from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.exact import derivative
from winnow.scoring.tasks.image_classifier import TASK, ImageClassifier, ImageClassifierConfig
from winnow.scoring.torch_models.identity import function_identity
from winnow.scoring.torch_models.networks import Network, compiled
from winnow.scoring.torch_models.runtime import TorchRuntime

SAMPLES = "tests.scoring.torch_models.samples"
CONFIG = ImageClassifierConfig(
    label="label", labels=("cat", "dog"), size=16, architecture=f"{SAMPLES}:drawn", running=TorchRuntime()
)


def loaded() -> ImageClassifier:
    found = TASK.load(CONFIG, NoFiles())
    assert isinstance(found, ImageClassifier)
    return found


def said(task: ImageClassifier) -> Any:
    import pyarrow as pa

    examples = task.encode(pa.record_batch({"image": squares([noise(0), noise(1)]), "label": ["cat", "dog"]})).examples
    return task.losses(loaded().initial(0), examples)


@pytest.mark.torch
def test_what_a_module_draws_while_it_is_built_is_the_same_in_every_process() -> None:
    torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        before = [float(torch.rand(1)), random.random(), np.random.random()]
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        found.append(said(loaded()))
        assert [float(torch.rand(1)), random.random(), np.random.random()] == before
    np.testing.assert_array_equal(*found)


@pytest.mark.torch
def test_whole_numbers_that_a_file_keeps_have_to_be_those_that_the_module_is_built_with() -> None:
    pytest.importorskip("torch", reason="needs the extra `torch`")
    task = loaded()
    weights = task.initial(0)
    assert "places" not in weights
    task.check({**weights, "places": task.network.constant["places"]}, "here")
    with pytest.raises(ScoreError, match="integers that differ from the model's constants: places"):
        task.check({**weights, "places": np.arange(8)[::-1]}, "here")


def test_a_name_without_a_function_is_no_module_whatever_lies_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "decoder.py").write_text("1")
    monkeypatch.syspath_prepend(tmp_path)
    assert function_identity("decoder") == function_identity("") == function_identity(":f") == ()
    assert function_identity("decoder:f") != ()
    assert function_identity("there_is_no_such_module:f") == ()


def test_the_identity_is_of_all_code_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "of_the_user" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "of_the_user" / "__init__.py").write_text("raise RuntimeError('it is not run')")
    monkeypatch.syspath_prepend(tmp_path)
    seen = {function_identity("of_the_user.inner.model:f")}
    for name in ("model.py", "blocks.py", "__init__.py"):
        (inner / name).write_text("1")
        seen.add(function_identity("of_the_user.inner.model:f"))
    (inner / "blocks.py").write_text("2")
    seen.add(function_identity("of_the_user.inner.model:f"))
    assert len(seen) == 5
    (inner / "notes.txt").write_text("2")
    (inner / "again").symlink_to(inner)
    assert function_identity("of_the_user.inner.model:f") in seen
    assert "of_the_user" not in sys.modules


def test_it_names_the_version_of_what_the_package_was_installed_from() -> None:
    assert function_identity("numpy:f")[1:] == (f"numpy {version('numpy')}",)


def test_what_finds_modules_may_fail_and_that_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_spec(self, *_: object) -> None:
            raise KeyError("the user's\nown")

    monkeypatch.setattr(sys, "meta_path", [Finder()])
    importlib.invalidate_caches()
    with pytest.raises(ScoreError, match="its code cannot be read") as found:
        TASK.depends(replace(CONFIG, architecture="nobody_has_this:f"))
    assert "\n" not in str(found.value)


@pytest.mark.torch
def test_a_compiled_network_says_the_same_and_has_forward_derivatives() -> None:
    torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

    def forward(parameters: Any, given: Any) -> Any:
        return torch.tanh(given @ parameters["weight"])

    plain = Network(lambda seed: {"weight": torch.full((3, 2), float(seed))}, forward, {"weight": (3, 2)})
    fast, given = compiled(plain), torch.arange(12, dtype=torch.float32).reshape(4, 3) / 10
    weights, step = plain.initial(1), {"weight": torch.ones(3, 2)}
    torch.testing.assert_close(fast.forward(weights, given), forward(weights, given))
    with torch.no_grad():
        both = [derivative(_of(one, given), weights, step) for one in (plain, fast)]
    torch.testing.assert_close(both[0], both[1])


def _of(network: Network, given: Any) -> Any:
    return lambda parameters: network.forward(parameters, given)
