"""Weights of another model are refused, and what is wrong is named parameter by parameter."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.filters.models.test_tensors import told_with_little_memory
from tests.messages import assert_refused, assert_told
from tests.scoring.torch_models.samples import NoFiles
from winnow.schemas.errors import ScoreError
from winnow.scoring.tasks.image_classifier import TASK, ImageClassifier, ImageClassifierConfig
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.files import read_checkpoint, read_safetensors
from winnow.scoring.torch_models.runtime import TorchRuntime

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

SAMPLES = "tests.scoring.torch_models.samples"
CONFIG = ImageClassifierConfig(label="label", labels=("cat", "dog"), size=16, patch=4, network=Size(8, 1, 2))
USERS = replace(CONFIG, architecture=f"{SAMPLES}:user_classifier")


def loaded(config: ImageClassifierConfig = CONFIG) -> ImageClassifier:
    found = TASK.load(config, NoFiles())
    assert isinstance(found, ImageClassifier)
    return found


def refused(weights: Any, task: ImageClassifier | None = None) -> str:
    with pytest.raises(ScoreError) as found:
        (task or loaded()).check(weights, "there.safetensors")
    assert "\n" not in str(found.value)
    return str(found.value)


@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, architecture="patches"), USERS])
def test_a_networks_own_weights_are_its_own(config: ImageClassifierConfig) -> None:
    task = loaded(config)
    for seed in (0, 1):
        task.check(task.initial(seed), "here")


def test_untrained_weights_follow_from_the_seed() -> None:
    for config in (CONFIG, replace(CONFIG, architecture="patches"), USERS):
        first, again, other = (loaded(config).initial(seed) for seed in (0, 0, 1))
        assert all(first[name].tobytes() == again[name].tobytes() for name in first)
        assert any(first[name].tobytes() != other[name].tobytes() for name in first)
        assert {value.dtype for value in first.values()} == {np.dtype(np.float32)}


def test_every_kind_of_mismatch_is_named_at_once() -> None:
    weights = dict(loaded().initial(0))
    weights["head.bias"] = np.zeros(3, np.float32)
    weights["0.bias"] = weights["0.bias"].astype(np.int32)
    weights["2.bias"] = weights["2.bias"].astype(np.float64)
    weights["tail.bias"] = weights.pop("1.bias")
    assert refused(weights) == (
        "there.safetensors: these weights do not fit this model: missing 1.bias; unexpected tail.bias; "
        "head.bias has shape (3,), expected (2,); 0.bias is int32, expected float32; 2.bias is float64, expected "
        "float32"
    )


def test_at_most_six_are_named_and_the_rest_counted() -> None:
    task = loaded(replace(CONFIG, architecture="patches"))
    assert "and 5 more" in refused({}, task)
    assert refused({f"{number:02}": np.zeros(1) for number in range(9)}).count("and 3 more") == 1


def test_numbers_that_are_none_are_refused() -> None:
    weights = {name: value.copy() for name, value in loaded().initial(0).items()}
    weights["1.weight"][0, 0, 0, 0] = np.nan
    weights["head.bias"][1] = np.inf
    assert "not finite: 1.weight, head.bias" in refused(weights)


def test_the_scorer_and_the_training_check_as_well() -> None:
    task = loaded()
    good = task.initial(0)
    bad = {**good, "head.bias": np.full(2, np.nan, np.float32)}
    with pytest.raises(ScoreError, match=r"the reference: not finite: head.bias"):
        task.scorer(good, bad, ("*",))
    with pytest.raises(ScoreError, match="the weights that are scored at: not finite"):
        task.scorer(bad, good, ("*",))


def test_halves_are_widened_and_64_bits_are_for_a_model_of_64() -> None:
    weights = loaded().initial(0)
    loaded().check({name: value.astype(np.float16) for name, value in weights.items()}, "here")
    wide = {name: value.astype(np.float64) for name, value in weights.items()}
    loaded(replace(CONFIG, running=TorchRuntime(compute="float64"))).check(wide, "here")
    assert "is float64, expected float32" in refused(wide)


def test_what_a_module_keeps_beside_its_parameters_is_a_weight_and_its_counters_may_be_there() -> None:
    task = loaded(USERS)
    weights = dict(task.initial(0))
    assert {"1.running_mean", "1.running_var"} <= weights.keys()
    task.check({**weights, "1.num_batches_tracked": np.array(7)}, "here")
    assert task.network.trained == ("1.weight", "1.bias", "5.weight", "5.bias")
    weights["1.running_mean"] = weights["1.running_mean"] + 1
    pixels = torch.zeros(1, 3, 16, 16)
    said: Any = [
        task.network.forward({name: torch.from_numpy(one) for name, one in many.items()}, pixels)
        for many in (weights, task.initial(0))
    ]
    assert not torch.equal(*said)


def test_a_tied_parameter_is_one_weight_whose_other_name_may_be_there() -> None:
    from winnow.scoring.tasks.language_model import TASK as TEXTS
    from winnow.scoring.tasks.language_model import LanguageModelConfig

    task: Any = TEXTS.load(LanguageModelConfig(architecture=f"{SAMPLES}:user_language_model"), NoFiles())
    weights = task.initial(0)
    assert list(weights) == ["0.weight"]
    task.check({**weights, "1.weight": weights["0.weight"]}, "here")


def test_a_checkpoint_of_tensors_is_read_and_one_of_half_widened(tmp_path: Path) -> None:
    path = str(tmp_path / "a.pt")
    torch.save({"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([0.5], dtype=torch.bfloat16)}, path)
    found = read_checkpoint(path)
    assert {name: (value.tolist(), str(value.dtype)) for name, value in found.items()} == {
        "a": ([1.0, 2.0], "float32"),
        "b": ([0.5], "float32"),
    }
    torch.save({"state_dict": {"a": torch.ones(1)}, "epoch": 3}, path)
    assert read_checkpoint(path)["a"].tolist() == [1.0]


class Payload:
    """Runs code where a file of it is unpickled."""

    def __reduce__(self) -> Any:
        return (print, ("it ran",))


@pytest.mark.parametrize("content", [Payload(), {"a": Payload()}, torch.nn.Linear(2, 2)])
def test_a_checkpoint_that_would_run_code_is_refused(
    tmp_path: Path, content: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.pt"
    torch.save(content, path)
    with pytest.raises(ScoreError, match=r"it holds more than tensors.*save it as safetensors") as found:
        read_checkpoint(str(path))
    assert "\n" not in str(found.value)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "content", [b"", b"no checkpoint", b"PK\x03\x04" + bytes(100), b"\x80\x04N."], ids=["empty", "text", "zip", "none"]
)
def test_what_is_no_checkpoint_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.pt"
    path.write_bytes(content)
    with pytest.raises(ScoreError, match="safetensors") as found:
        read_checkpoint(str(path))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("content", [[torch.ones(1)], {}, {"a": 3}, {"a": torch.ones(1).to_sparse()}])
def test_a_checkpoint_of_something_else_is_one_line(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "a.pt"
    torch.save(content, path)
    with pytest.raises(ScoreError, match="safetensors"):
        read_checkpoint(str(path))


def test_a_checkpoint_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="No such file"):
        read_checkpoint(str(tmp_path / "a.pt"))


def test_an_array_in_two_files_of_an_index_is_one_line(tmp_path: Path) -> None:
    save: Any = pytest.importorskip("safetensors.torch", reason="needs the extra `torch`").save_file
    save({"a": torch.zeros(2)}, tmp_path / "1.safetensors")
    save({"b": torch.ones(2), "a": torch.ones(2)}, tmp_path / "2.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}')
    with assert_refused(ScoreError, index.name, "two of its files hold the same array"):
        read_safetensors(str(index))


def test_a_name_that_would_turn_a_terminals_colours_is_escaped() -> None:
    assert "unexpected \\x1b[31mtail" in refused({**loaded().initial(0), "\x1b[31mtail": np.zeros(3, np.float32)})


def test_weights_that_do_not_fit_into_memory_are_one_line(tmp_path: Path) -> None:
    reads = ("scoring.torch_models.files", "read_safetensors", "import torch, safetensors.torch")
    assert_told(told_with_little_memory(tmp_path, *reads), "ScoreError", "large.safetensors", "do not fit into memory")
