"""What a model's file is, is told by its content: nothing that runs code when it is read is taken."""

import pickle
import zipfile
from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow.filters.models.formats import format_of
from winnow.schemas.errors import RecipeError


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(RecipeError) as caught:
        format_of(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ["model.onnx", "model.safetensors", "pytorch_model.bin"])
def test_pickles_are_refused_whatever_they_are_called(tmp_path: Path, protocol: int, name: str) -> None:
    assert "a pickle" in refusal(tmp_path / name, pickle.dumps({"weight": [1.0, 2.0]}, protocol=protocol))


def test_checkpoints_and_torchscript_are_zips_with_pickles(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps([]))
    assert_told(refusal(path, path.read_bytes()), "PyTorch", "TorchScript")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file"),
        (b"\x89HDF\r\n\x1a\n....", "an HDF5 file"),
        (b"GGUF\x03\0\0\0", "a GGUF file"),
        (b"\x1f\x8b\x08....", "a gzip archive"),
        (b"\x18\0\0\0ORTM....", "ONNX Runtime's own format"),
    ],
)
def test_other_formats_are_named(tmp_path: Path, content: bytes, said: str) -> None:
    assert said in refusal(tmp_path / "model.onnx", content)


def test_safetensors_and_onnx_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes((2).to_bytes(8, "little") + b"{}")
    (tmp_path / "b.onnx").write_bytes(b"\x08\x09\x12\x07pytorch")
    assert format_of(str(tmp_path / "a.bin")) == "safetensors"
    assert format_of(str(tmp_path / "b.onnx")) == "onnx"


def test_a_missing_file_is_a_line(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="No such file"):
        format_of(str(tmp_path / "none.onnx"))
