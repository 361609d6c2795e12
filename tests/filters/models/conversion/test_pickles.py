"""A pickled tokenizer is read as data: whatever a pickle says to do, nothing is done."""

import os
import pickle
import pickletools
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.filters.models.conversion import pickles
from winnow.filters.models.conversion.toxicity import tokenizer_state
from winnow.schemas.errors import WinnowError

KERAS = "keras.src.legacy.preprocessing.text"


class Tokenizer:
    """As Keras names it."""

    def __init__(self, **state: object) -> None:
        self.__dict__.update(state)


@pytest.fixture(autouse=True)
def keras(monkeypatch: pytest.MonkeyPatch) -> None:
    names = KERAS.split(".")
    for end in range(1, len(names) + 1):  # a pickle is only written of what can be imported
        module = ModuleType(".".join(names[:end]))
        module.Tokenizer = Tokenizer  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(Tokenizer, "__module__", KERAS)


def refusal(raw: bytes) -> str:
    with pytest.raises(WinnowError) as caught:
        tokenizer_state(raw)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_fields_of_a_tokenizer_are_read() -> None:
    counts = OrderedDict([("the", 70_000), ("naïve", 3)])
    documents: defaultdict[str, int] = defaultdict(int, {"the": 3, "naïve": 2})
    made = Tokenizer(num_words=20_000, lower=True, char_level=False, oov_token=None, split=" ")
    made.word_counts, made.word_docs = counts, documents  # type: ignore[attr-defined]
    made.word_index = {"the": 1, "naïve": 2}  # type: ignore[attr-defined]
    found = tokenizer_state(pickle.dumps(made, protocol=5))
    assert found == {
        **{"num_words": 20_000, "lower": True, "char_level": False, "oov_token": None, "split": " "},
        **{"word_counts": counts, "word_docs": documents, "word_index": {"the": 1, "naïve": 2}},
    }
    assert type(found["word_counts"]) is dict  # no class of the pickle is used


class Runs:
    """An object that runs something when it is unpickled."""

    def __init__(self, call: Callable[..., Any], *arguments: object) -> None:
        self._does = call, arguments

    def __reduce__(self) -> Any:
        return self._does


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("hidden", [False, True])
def test_nothing_of_a_hostile_pickle_runs(tmp_path: Path, protocol: int, hidden: bool) -> None:
    trap = tmp_path / "ran"
    evil = Runs(os.mkdir, str(trap))
    whole = Tokenizer(num_words=20_000, word_index=evil, lower=True) if hidden else evil
    raw = pickle.dumps(whole, protocol=protocol)
    assert "nothing of it was run" in refusal(raw)
    assert not trap.exists()
    pickle.loads(raw)  # noqa: S301, the trap works
    assert trap.exists()


@pytest.mark.parametrize("call", [eval, exec, __import__, open, getattr], ids=lambda call: call.__name__)
def test_no_function_is_known(call: Callable[..., Any]) -> None:
    assert f"the name '{call.__module__}.{call.__name__}'" in refusal(pickle.dumps(Runs(call, "os"), protocol=5))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not enough|exhausted|not a pickled"),
        (b"garbage", "not a pickled Keras tokenizer"),
        (b"\x80\x05N.", "the pickle contains something else"),
        (b"\x80\x05cos\nsystem\n.", "the name 'os.system'"),
        (b"\x80\x05(S'id'\nios\nsystem\n.", "the instruction"),
        (b"\x80\x05Pkey\n.", "the instruction PERSID"),
        (b"\x80\x05\x82\x01.", "the instruction EXT1"),
        (b"\x80\x05}r\xff\xff\xff\x7f.", "something else"),
        (b"\x80\x05}h\x09.", "not a pickled"),
        (b"\x80\x05" + b"}" * 3 + b".", "not a pickled"),
        (b"\x80\x05)" + b"\x85" * 200_000 + b"}s.", "not a pickled"),
        (b"\x80\x05\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.", "not a pickled"),
        (b"\x80\x05)R.", "not a pickled"),
        (b"\x80\x05]}b.", "the state of something else"),
    ],
)
def test_what_is_no_tokenizer_is_refused_in_a_line(raw: bytes, why: str) -> None:
    assert any(part in refusal(raw) for part in why.split("|"))


def test_a_tokenizer_is_made_of_nothing_and_called_with_nothing() -> None:
    tokenizer = pickle.dumps(Tokenizer(lower=True, split=" "), protocol=5)
    assert tokenizer_state(tokenizer) == {"lower": True, "split": " "}
    place = next(at for code, _, at in pickletools.genops(tokenizer) if code.name == "EMPTY_TUPLE" and at)
    assert "something else" in refusal(tokenizer[:place] + b"}" + tokenizer[place + 1 :])


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = pickle.dumps(Tokenizer(word_index={str(number): number for number in range(100)}), protocol=5)
    monkeypatch.setattr(pickles, "MAX_INSTRUCTIONS", 100)
    assert "more than 100 instructions" in refusal(raw)


@settings(max_examples=scaled(150), deadline=None)
@given(st.data())
def test_a_damaged_pickle_is_read_or_refused(data: st.DataObject) -> None:
    raw = bytearray(pickle.dumps(Tokenizer(word_index={"the": 1, "of": 2}, lower=True), protocol=5))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    said = ""
    try:
        tokenizer_state(bytes(raw))
    except WinnowError as error:
        said = str(error)
    assert "\n" not in said
