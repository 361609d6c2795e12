"""Mutants: each change is one, can be compiled, and is what other Pythons load too."""

import ast
import os
import subprocess
import sys

import pytest

from tools.mutants import HOOKS, drawn, mutants_of
from tools.mutating.import_hook import REPOSITORY, functions, mutations

SOURCE = """
LIMIT = 3

def outer(given, other):
    '''Words.'''
    if not given and other < 3:
        return sorted(given, key=len)
    for one in given:
        if one in other:
            continue
        yield max(one, 1) + 2 if one else False
    def inner():
        return other is None

class Kind:
    def method(self):
        return 1 | 2
"""
CHANGED = {
    *(
        "condition to its opposite",
        "And to Or",
        "not taken away",
        "Lt to LtE",
        "3 to 4",
        "sorted to list",
        "In to NotIn",
    ),
    *("continue to break", "max to min", "1 to 2", "Add to Sub", "2 to 3", "False to True", "Is to IsNot"),
    "BitOr to BitAnd",
}


def test_each_change_is_one_and_compiles() -> None:
    plain = ast.unparse(ast.parse(SOURCE))
    seen = set()
    for number in range(len(mutations(ast.parse(SOURCE)))):
        tree = ast.parse(SOURCE)
        _, _, what, change = mutations(tree)[number]
        change()
        compile(ast.fix_missing_locations(tree), "one", "exec")
        assert ast.unparse(tree) != plain
        seen.add(what)
    assert seen == CHANGED


def test_functions_are_those_of_modules_and_classes() -> None:
    assert [one.name for one in functions(ast.parse(SOURCE))] == ["outer", "method"]


def test_a_sample_is_the_same_whatever_the_order_of_files() -> None:
    files = ["schemas/errors.py", "schemas/kernels.py", "schemas/identity.py"]
    assert drawn(files, 6, 1) == drawn(files[::-1], 6, 1) != drawn(files, 6, 2)


@pytest.mark.parametrize("on", [False, True])
def test_a_python_that_tests_start_loads_the_mutant(on: bool) -> None:
    mutant = next(one for one in mutants_of("schemas/problems.py") if "opposite" in one.what)
    code = "import winnow.schemas.problems as it; print(type(it.__loader__).__name__)"
    environment = os.environ | {"PYTHONPATH": f"{HOOKS}{os.pathsep}{REPOSITORY}"}
    if on:
        environment["WINNOW_MUTANT"] = f"{mutant.file}:{mutant.number}"
    said = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == ("Loader" if on else "SourceFileLoader")
