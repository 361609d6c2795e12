"""What operators take of memory for one long text: never more than they say, and what happens if there is less."""

import subprocess
import sys
from importlib import import_module
from typing import cast

import pyarrow as pa
import pytest

from tests.messages import assert_refused
from tests.pipelines.annotate.test_rows import LENGTH, run, texts
from winnow.filters.operators import MAX_KERNEL_BYTES, TextOperator, find_operator, operator_names
from winnow.schemas.errors import RecipeError, StageError

MEASURE = """
import resource, sys
import pyarrow as pa
from winnow.filters.operators import find_operator
from winnow.pipelines.assets.cached import AssetFiles

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

name, size, piece = sys.argv[1], int(sys.argv[2]), sys.argv[3]
operator = find_operator(name)
config = operator.config()
kernel = operator.load(config, AssetFiles())

def measured(text):
    columns = {"text": pa.array([text], pa.large_string()), "text.language.code": pa.array(["eng_Latn"])}
    columns["samples.domain"] = pa.array(["e.org"])
    columns["samples.id"] = pa.array([bytes(16)], pa.binary(16))
    batch = pa.RecordBatch.from_pydict({column: columns[column] for column in operator.reads(config)})
    before = peak()
    kernel(batch)
    return peak() - before

measured(piece * 8)  # compiles, and reads tables
words = "".join(f"{number:x} " for number in range(1 << 20)) if piece == "WORDS" else piece
text = (words * (size // len(words) + 1))[:size]
taken = measured(text)
assert taken <= operator.memory * size + (24 << 20), f"{taken / size:.1f} bytes a byte, not {operator.memory}"
"""


def worst(name: str) -> str | None:
    """The text that takes most of an operator's kernel, which its own test says: None if it needs a model."""
    module = import_module(f"tests.filters.text.test_{name.removeprefix('text.')}")
    return cast(str | None, module.WORST)


TEXTS = [name for name in operator_names() if name.startswith("text.")]
WORST = {name: text for name in TEXTS if (text := worst(name))}


def child(name: str, size: int) -> str:
    command = [sys.executable, "-c", MEASURE, name, str(size), WORST[name]]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.mark.processes
@pytest.mark.parametrize("name", ["text.gopher", "text.pii"])
def test_a_kernel_takes_no_more_memory_than_its_operator_says(name: str) -> None:
    assert child(name, 3 << 20) == ""


@pytest.mark.large
@pytest.mark.parametrize("name", WORST)
def test_the_longest_text_that_is_measured_fits(name: str) -> None:
    operator = find_operator(name)
    assert isinstance(operator, TextOperator)
    assert child(name, min(64 << 20, MAX_KERNEL_BYTES // operator.memory)) == ""


class NoFiles:
    """Assets of which none is there."""

    def path(self, name: str) -> str:
        raise RecipeError(f"no {name}")


def load_without_files(name: str) -> None:
    operator = find_operator(name)
    config = operator.config()
    operator.assets(config)  # some ask here for what the recipe must name
    operator.load(config, NoFiles())


@pytest.mark.parametrize("name", sorted({*TEXTS} - {*WORST}))
def test_only_operators_that_need_a_model_are_not_tried(name: str) -> None:
    with pytest.raises(RecipeError):
        load_without_files(name)


def test_a_kernel_without_memory_is_one_line() -> None:
    def greedy(_batch: pa.RecordBatch) -> pa.RecordBatch:
        raise MemoryError

    with assert_refused(StageError, "text.length", "MiB", "--workers") as raised:
        run(texts("a"), kernel=greedy, of=LENGTH)
    assert "\n" not in str(raised.value)
