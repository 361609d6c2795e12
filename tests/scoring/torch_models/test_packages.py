"""Without PyTorch the tasks can be listed and described; what needs it says how to install it."""

import importlib.util
import math
import subprocess
import sys
from typing import Any, get_type_hints

import pytest

from tests.messages import assert_refused
from tests.scoring.torch_models.samples import NoFiles
from winnow.schemas.errors import ScoreError
from winnow.scoring.tasks import find_task
from winnow.scoring.tasks.alignment import AlignmentConfig
from winnow.scoring.tasks.image_classifier import ImageClassifierConfig
from winnow.scoring.tasks.language_model import LanguageModelConfig
from winnow.scoring.tasks.linear_head import LinearHeadConfig
from winnow.scoring.tasks.pairs import PairsConfig
from winnow.scoring.torch_models.files import read_checkpoint

CONFIGS = {
    "image_classifier": ImageClassifierConfig(label="label", labels=("a", "b")),
    "language_model": LanguageModelConfig(),
    "pairs": PairsConfig(),
}
without_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is here")


@pytest.mark.parametrize("name", CONFIGS)
def test_a_task_says_what_it_reads_and_depends_on_without_being_loaded(name: str) -> None:
    kind, config = find_task(name), CONFIGS[name]
    assert kind.config is type(config)
    assert kind.depends(config)[0].startswith("torch ")
    assert kind.reads(config)[0] in ("image", "text")
    assert kind.files(config) == ()
    assert kind.resource == "model"


@without_torch
@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_missing_is_named_with_the_command_that_installs_it(name: str) -> None:
    with assert_refused(ScoreError, "'winnow[torch]'"):
        find_task(name).load(CONFIGS[name], NoFiles())


@without_torch
@pytest.mark.parametrize("features", ["minilm", "efficientnet"])
def test_so_it_is_where_a_head_reads_a_frozen_network(features: Any) -> None:
    config = LinearHeadConfig(label="label", labels=("a", "b"), features=features)
    with assert_refused(ScoreError, "linear_head", "'winnow[torch]'"):
        find_task("linear_head").load(config, NoFiles())


@without_torch
def test_so_it_is_where_a_checkpoint_is_read(tmp_path: Any) -> None:
    with pytest.raises(ScoreError, match="needs the package torch"):
        read_checkpoint(str(tmp_path / "a.pt"))


def test_nothing_of_pytorch_is_loaded_before_a_task_is() -> None:
    program = (
        "import sys; from winnow.scoring.tasks import find_task, task_names; "
        "[find_task(name) for name in task_names()]; sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize("config", [ImageClassifierConfig, PairsConfig, AlignmentConfig])
@pytest.mark.parametrize(("key", "value"), [("mean", math.nan), ("mean", math.inf), ("size", 4)])
def test_numbers_that_images_cannot_be_read_by_are_refused(config: type, key: str, value: float) -> None:
    (check,) = get_type_hints(config, include_extras=True)[key].__metadata__
    assert "is out of range" in check.complaint(value)
