"""What crosses between host and device, and where tensors are; no GPU is needed.

What goes to a device begins as an array or a list of the host: calls that make tensors of these are counted, and bytes
that the host reads. A GPU without one is PyTorch's fake tensors: they have a device and shapes, and operators refuse to
mix devices.
"""

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.scoring.tasks.test_language_model import loaded as loaded_texts
from tests.scoring.tasks.test_language_model import rows as text_rows
from tests.scoring.tasks.test_pairs import ARCHITECTURES, loaded, moved, some
from tests.scoring.tasks.test_pairs import CONFIG as PAIRS
from tests.scoring.torch_models.test_training import CONFIG as IMAGES
from tests.scoring.torch_models.test_training import METHODS, SETTINGS, ten
from tests.scoring.torch_models.test_training import loaded as loaded_images
from winnow.scoring.mimic.determinism import deterministic
from winnow.scoring.mimic.direction import direction
from winnow.scoring.mimic.exact import derivative
from winnow.scoring.mimic.models import BatchModel, SampleModel
from winnow.scoring.protocol import Method, TrainingSettings
from winnow.scoring.torch_models import vision
from winnow.scoring.torch_models.base import TorchTask
from winnow.scoring.torch_models.layouts import LAYOUTS
from winnow.scoring.torch_models.parts import losses_of, parts_of, slopes_of
from winnow.scoring.torch_models.runtime import TorchRuntime
from winnow.scoring.torch_models.toward import unit_towards
from winnow.scoring.torch_models.training import ahead

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")
FakeTensorMode: Any = importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode

pytestmark = pytest.mark.torch

FLOAT64 = TorchRuntime(compute="float64")
OWN: dict[str, Any] = {"size": 16, "tokenizer": "bytes", "start": "", "end": "", "clean": "none", "max_tokens": 12}


@contextmanager
def read_by_the_host() -> Iterator[Counter[str]]:
    """The bytes of tensors that the host reads."""
    ways = [getattr(torch.Tensor, name) for name in ("cpu", "item", "tolist", "__float__", "__bool__", "__int__")]
    found: Counter[str] = Counter()

    class Counting(importlib.import_module("torch.overrides").TorchFunctionMode):  # type: ignore[misc, name-defined, unused-ignore]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found["bytes"] += args[0].nbytes if func in ways else 0
            return func(*args, **(kwargs or {}))

    with Counting():
        yield found


@contextmanager
def made_of_arrays() -> Iterator[Counter[str]]:
    """How many tensors are made of what the host has."""
    found: Counter[str] = Counter()

    def see(_frame: Any, event: str, called: Any) -> None:
        found["tensors"] += event == "c_call" and called in (torch.from_numpy, torch.tensor)

    sys.setprofile(see)
    try:
        yield found
    finally:
        sys.setprofile(None)


INPUTS = 4  # of pairs: pixels, tokens, their number, and which companions have the same contents


def weight_bytes(task: TorchTask) -> int:
    return sum(one.nbytes for one in task.initial(0).values())


@pytest.mark.parametrize("checkpoints", [1, 3])
def test_a_part_moves_its_inputs_once_and_no_weights(checkpoints: int) -> None:
    task = loaded()
    reference, at = task.initial(9), [task.initial(seed) for seed in range(checkpoints)]
    made = []
    for parts in (1, 5):
        among = task.among(task.companions(some(task, 4)))
        scorers = among.scorers(at, reference, ("*",))
        among.losses(reference, some(task, 3))  # the reference is moved with the first part
        examples = [some(task, 4) for _ in range(parts)]
        with made_of_arrays() as found:
            for one in examples:
                assert len(scorers(one)) == checkpoints
                among.losses(reference, one)
                among.alignments(reference, one)
        made.append(found["tensors"])
    assert made == [INPUTS, 5 * INPUTS]


def test_what_does_not_fit_is_moved_anew_and_gives_the_same() -> None:
    small = loaded(replace(PAIRS, running=TorchRuntime(memory_bytes=1 << 10)))
    large = loaded()
    found = []
    for task in (small, large):
        among = task.among(task.companions(some(task, 4)))
        scores = among.scorers([task.initial(1)], task.initial(9), ("*",))(some(task, 9))
        found.append(scores[0].score)
        assert (among._inputs is None) == (task is small)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_reads_as_few_numbers_whatever_the_weights(method: Method) -> None:
    per_step = []
    for width in (4, 64):
        task = loaded_images(replace(IMAGES, network=replace(IMAGES.network, width=width)))
        settings = replace(SETTINGS, method=method, batch=5)
        read = []
        for epochs in (1, 3):
            with read_by_the_host() as found:
                begun = task.train(ten(task), 10, replace(settings, epochs=epochs), task.initial(9), None)
                next(begun)
            read.append(found["bytes"] - 2 * weight_bytes(task) - 8 * len(task.network.trained))
        per_step.append((read[1] - read[0]) // 4)
    assert per_step[0] == per_step[1] < 1_000


def test_the_direction_on_the_device_is_that_of_arrays_to_the_last_bit() -> None:
    task = loaded()
    at, reference = task.initial(1), task.initial(9)
    names = task.network.trained
    tensors = [{name: torch.from_numpy(one[name]) for name in names} for one in (at, reference)]
    found = unit_towards(tensors[0], tensors[1], names)
    wanted = direction(at, reference, names).unit
    assert all(found[name].numpy().tobytes() == wanted[name].tobytes() for name in names)


def on_a_gpu(tensors: dict[Any, Any]) -> dict[Any, Any]:
    """Fake tensors of these shapes; inside a mode of fake tensors, which no other may have left some in."""
    vision._on_device.cache_clear()
    return {name: torch.empty(one.shape, dtype=one.dtype, device="cuda") for name, one in tensors.items()}


@pytest.fixture(autouse=True)
def without_fake_numbers() -> Iterator[None]:
    yield
    vision._on_device.cache_clear()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_losses_of_pairs_are_computed_where_the_weights_are(architecture: str) -> None:
    task = loaded(replace(PAIRS, architecture=architecture, layout=replace(LAYOUTS["clip"], **OWN)))
    among = task.among(task.companions(some(task, 4)))
    assert isinstance(among.model, BatchModel)
    assert among.model.companions is not None
    parts = [
        dict(enumerate(one)) for one in (task.batch(some(task, 3)), among.model.companions, among.batch(some(task, 3)))
    ]
    held = {name: torch.from_numpy(one) for name, one in task.initial(0).items()}
    with FakeTensorMode(allow_non_fake_inputs=False):
        weights = on_a_gpu(held)
        batch, companions, rows = (tuple(on_a_gpu(part).values()) for part in parts)
        assert losses_of(task.model, weights, [batch]).device.type == "cuda"
        embedded = zip(*(among.model.embed(weights, part) for part in (companions, rows)), strict=True)
        told = tuple(torch.cat(column) for column in embedded)
        assert among.model.losses(weights, told).device.type == "cuda"


def test_losses_of_images_and_texts_are_computed_where_the_weights_are() -> None:
    texts = loaded_texts()
    some_texts = texts.encode(text_rows(["a text", "another one"])).examples
    for task, examples in ((loaded_images(), ten(loaded_images())), (texts, some_texts)):
        assert isinstance(task.model, SampleModel)
        held = {name: torch.from_numpy(one) for name, one in task.initial(0).items()}
        inputs = dict(enumerate(task.batch(examples)))
        with FakeTensorMode(allow_non_fake_inputs=False):
            assert task.model.losses(on_a_gpu(held), tuple(on_a_gpu(inputs).values())).device.type == "cuda"


def test_only_forward_derivatives_ask_for_plain_attention_and_whole_products() -> None:
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.flash_sdp_enabled()
    with deterministic(exact=False):
        assert (torch.backends.cudnn.allow_tf32, torch.backends.cuda.flash_sdp_enabled()) == before
        assert torch.are_deterministic_algorithms_enabled()
        with deterministic():
            assert not torch.backends.cudnn.allow_tf32
            assert not torch.backends.cuda.flash_sdp_enabled()
    assert (torch.backends.cudnn.allow_tf32, torch.backends.cuda.flash_sdp_enabled()) == before


@pytest.mark.parametrize("beside", [False, True])
def test_batches_come_in_order_beside_the_steps_or_not(beside: bool) -> None:
    made: list[int] = []

    def maker(number: int) -> Any:
        def make() -> Any:
            made.append(number)
            return (torch.tensor([number]),)

        return make

    found = ahead((maker(number) for number in range(5)), beside)
    assert int(next(found)[0]) == 0
    assert [int(one[0]) for one in found] == [1, 2, 3, 4]
    assert made == [0, 1, 2, 3, 4]


def test_an_error_while_a_batch_is_made_beside_a_step_is_raised() -> None:
    def fails() -> Any:
        raise ValueError("no batch")

    with pytest.raises(ValueError, match="no batch"):
        list(ahead(iter([fails]), True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parameters", [("*",), ("image.*",)])
def test_a_batch_of_pairs_in_parts_has_the_gradient_of_the_whole(method: Method, parameters: tuple[str, ...]) -> None:
    settings = TrainingSettings(epochs=2, batch=9, learning_rate=0.01, seed=5, method=method, parameters=parameters)
    ends = []
    for accumulate in (0, 2):
        task = loaded(replace(PAIRS, running=replace(FLOAT64, accumulate=accumulate)))
        (last,) = task.train(some(task, 9), 9, settings, moved(task.initial(5)), None)
        ends.append(last.weights)
    for name, whole in ends[0].items():
        np.testing.assert_allclose(ends[1][name], whole, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_of_images_in_parts_has_the_gradient_of_the_whole(method: Method) -> None:
    settings = replace(SETTINGS, batch=10, method=method, parameters=("head.*",))
    ends = []
    for accumulate in (0, 3):
        task = loaded_images(replace(IMAGES, running=replace(FLOAT64, accumulate=accumulate)))
        (last,) = task.train(ten(task), 10, settings, task.initial(9), None)
        ends.append(last.weights)
    for name, whole in ends[0].items():
        np.testing.assert_allclose(ends[1][name], whole, rtol=1e-9, atol=1e-11)


def test_derivatives_of_parts_are_those_of_the_whole() -> None:
    task = loaded(replace(PAIRS, running=FLOAT64))
    at = {name: torch.from_numpy(one) for name, one in task.initial(0).items()}
    unit = {name: torch.from_numpy(np.asarray(one)) for name, one in moved(task.initial(0)).items()}
    batch = task.batch(some(task, 7))
    with deterministic():
        whole, parts = (slopes_of(task.model, at, unit, parts_of(batch, size)) for size in (0, 3))
        direct = derivative(lambda weights: losses_of(task.model, weights, [batch]), at, unit)[1]
    assert [len(one[0]) for one in parts_of(batch, 3)] == [3, 3, 1]
    assert torch.equal(whole, direct)
    np.testing.assert_allclose(parts.numpy(), whole.numpy(), rtol=1e-10)
