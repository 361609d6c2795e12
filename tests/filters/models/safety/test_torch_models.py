"""Models in PyTorch: the user's function builds the module, the weights come out of a safetensors file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra `torch`")
pytest.importorskip("tokenizers", reason="needs the extra `onnx`")
pytest.importorskip("onnx", reason="`models` writes a model of it, too")

from tests.filters.models.safety.models import VALUES, model, tokenizer_json
from tests.filters.text.test_safety_model import batch_of, config_of
from winnow.filters.models.tensors import tensors_bytes
from winnow.filters.text.safety_model import OPERATOR
from winnow.schemas.errors import RecipeError

pytestmark = pytest.mark.torch

NET = "tests.filters.models.safety.torch_net"


class Files:
    def path(self, name: str) -> str:
        return name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(tensors_bytes({"values.weight": VALUES}, {}))
    (tmp_path / "model.onnx").write_bytes(model().SerializeToString())
    return tmp_path


def config(folder: Path, architecture: str = "mean") -> Any:
    return config_of(folder, model=str(folder / "model.safetensors"), architecture=f"{NET}:{architecture}")


def refusal(folder: Path, architecture: str = "mean") -> str:
    with pytest.raises(RecipeError) as caught:
        OPERATOR.load(config(folder, architecture), Files())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_same_model_says_the_same_in_both_formats(folder: Path) -> None:
    texts = batch_of(["you are rude", "du bist nett", "", "kind rude gemein"])
    in_torch = OPERATOR.load(config(folder), Files())(texts)
    in_onnx = OPERATOR.load(config_of(folder), Files())(texts)
    assert in_torch.to_pylist() == in_onnx.to_pylist()


def test_every_parameter_that_does_not_fit_is_named(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(tensors_bytes({"other.weight": VALUES}, {}))
    assert f"these weights do not fit {NET}:mean: missing values.weight; unexpected other.weight" in refusal(folder)
    path.write_bytes(tensors_bytes({"values.weight": VALUES[:3]}, {}))
    assert "values.weight has shape (3, 2), expected (12, 2)" in refusal(folder)
    path.write_bytes(path.read_bytes()[:-1])
    assert "not a safetensors file, or a damaged one" in refusal(folder)


def test_functions_that_make_no_such_module_are_refused(folder: Path) -> None:
    assert "made a NoneType; expected a torch.nn.Module" in refusal(folder, "nothing")
    assert "cannot be called: " in refusal(folder, "absent")
    assert "takes pixels; texts provide only input_ids" in refusal(folder, "pixels")
    (folder / "model.safetensors").write_bytes(tensors_bytes({"values.weight": np.zeros((12, 2), np.float32)}, {}))
    with pytest.raises(RecipeError, match="set `architecture`"):
        OPERATOR.load(config_of(folder, model=str(folder / "model.safetensors")), Files())
