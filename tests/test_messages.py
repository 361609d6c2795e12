"""The golden files of messages are of tests that there are, and in the form in which they are written."""

import ast
from pathlib import Path

import pytest

from tests.messages import (
    GOLDEN,
    TESTS,
    assert_refused,
    assert_told,
    assert_told_each,
    known_sentences,
    shown_sentences,
)

GOLDENS = pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.txt")), ids=lambda golden: golden.stem)


@GOLDENS
def test_each_sentence_is_of_a_test_that_there_is(golden: Path) -> None:
    functions: dict[str, set[str]] = {}
    for file, function in known_sentences(golden):
        if file not in functions:
            path = TESTS.parent / file
            nodes = ast.walk(ast.parse(path.read_text("utf-8"))) if path.exists() else ()
            functions[file] = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        assert function in functions[file], f"{golden}: remove the sentences of {file}: {function}"


@GOLDENS
def test_a_golden_is_as_it_is_written(golden: Path) -> None:
    assert golden.read_text("utf-8") == shown_sentences(known_sentences(golden))


def test_what_is_not_named_is_missed() -> None:
    with pytest.raises(AssertionError, match="nothing names b, a"):
        assert_told("a b\nb c a"[:5], "b", "a")
    with pytest.raises(AssertionError, match="2 texts"):
        assert_told_each(["a", "b"], "a")
    with pytest.raises(AssertionError, match="nothing names a … c"), assert_refused(ValueError, "a … c"):
        raise ValueError("a b")
