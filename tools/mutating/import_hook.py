"""Loads winnow's modules with one mutant in them, or so that they note which functions were called.

Nothing on the disk changes: a module's syntax tree is changed as it is imported, and its line numbers stay, so that
tests, tracebacks and the cache of compiled kernels see the file as it is. `WINNOW_MUTANT` is FILE:NUMBER, a file under
the repository and the number of a change in it, as `mutations` counts; `WINNOW_CALLED=1` notes calls.
"""

import ast
import builtins
import os
import sys
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("schemas", "filters", "scoring", "pipelines", "runners")
CALLED = "__winnow_called__"
COMPILED = {"kernel", "leaf", "inlined", "arithmetic", "intrinsic", "njit"}

Change = Callable[[], None]
Function = ast.FunctionDef | ast.AsyncFunctionDef

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult},
    **{ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift},
}
CALLS = {"sorted": "list", "min": "max", "max": "min", "any": "all", "all": "any"}


def compiled(function: Function) -> bool:
    """Whether numba compiles this function."""
    names = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    return any(isinstance(one, ast.Name) and one.id in COMPILED for one in names)


def functions(tree: ast.Module) -> list[Function]:
    """The functions and methods of a module, in order; those inside others belong to the outer one."""
    found: list[Function] = []
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        one = pending.pop(0)
        if isinstance(one, Function):
            found.append(one)
        elif isinstance(one, ast.ClassDef | ast.If):
            pending = [*one.body, *pending]
    return found


def mutations(tree: ast.Module) -> list[tuple[Function, ast.AST, str, Change]]:
    """Every change of a module's functions: where, what it is in words, and what makes it in this tree."""
    return [(function, *one) for function in functions(tree) for one in _changes(function)]


def _changes(function: Function) -> Iterator[tuple[ast.AST, str, Change]]:
    for statement in function.body:
        for node in ast.walk(statement):
            yield from _of_node(node)


def _of_node(node: ast.AST) -> Iterator[tuple[ast.AST, str, Change]]:
    def put(name: str, value: object) -> Change:
        return lambda: setattr(node, name, value)

    if isinstance(node, ast.Compare) and (new := COMPARED.get(type(node.ops[0]))):
        yield node, f"{_name(node.ops[0])} to {new.__name__}", put("ops", [new(), *node.ops[1:]])
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield node, f"{_name(node.op)} to {_name(other)}", put("op", other)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, "not taken away", _affirmed(node, node.operand)
    elif isinstance(node, ast.BinOp) and (computed := COMPUTED.get(type(node.op))):
        if not any(isinstance(one, ast.JoinedStr) for one in (node.left, node.right)):
            yield node, f"{_name(node.op)} to {computed.__name__}", put("op", computed())
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS and node.args:
        plain = CALLS[node.func.id]
        if plain != "list" or not node.keywords:
            yield node, f"{node.func.id} to {plain}", _renamed(node.func, plain)
        else:
            yield node, "sorted to list", _unsorted(node)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield node, f"{node.value} to {node.value + 1}", put("value", node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield node, f"{node.value} to {not node.value}", put("value", not node.value)
    elif isinstance(node, ast.If | ast.IfExp):
        yield node, "condition to its opposite", put("test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Continue):
        yield node, "continue to break", lambda: setattr(node, "__class__", ast.Break)


def _name(node: ast.AST) -> str:
    return type(node).__name__


def _affirmed(node: ast.UnaryOp, operand: ast.expr) -> Change:
    """`not x` to `bool(x)`."""

    def change() -> None:
        node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), operand)

    return change


def _renamed(name: ast.Name, new: str) -> Change:
    return lambda: setattr(name, "id", new)


def _unsorted(call: ast.Call) -> Change:
    def change() -> None:
        call.func, call.keywords = ast.Name("list", ast.Load()), []

    return change


def _noting(tree: ast.Module, file: str) -> None:
    for function in functions(tree):
        if not compiled(function):
            note = ast.parse(f"{CALLED}.add('{file}:{function.lineno}')").body[0]
            function.body.insert(1 if ast.get_docstring(function) is not None else 0, note)


class Loader(SourceFileLoader):
    """Compiles a module's source anew at each import, changed."""

    def get_code(self, fullname: str) -> CodeType:
        """The module's code; nothing is read from or written to caches of bytecode."""
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path))
        file = Path(path).resolve().relative_to(REPOSITORY).as_posix()
        chosen, _, number = os.environ.get("WINNOW_MUTANT", "").rpartition(":")
        if file == chosen:
            mutations(tree)[int(number)][3]()
        if os.environ.get("WINNOW_CALLED"):
            _noting(tree, file)
        code: CodeType = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
        return code


class Finder(MetaPathFinder):
    """Finds winnow's modules for the loader."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The usual place of a module of winnow's, with the loader that changes it."""
        if not fullname.startswith("winnow.") or path is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)  # type: ignore[arg-type]
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        file = Path(spec.loader.path).resolve()
        if any(file.is_relative_to(REPOSITORY / room) for room in ROOMS):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Change what is imported from now on, if the environment asks for it."""
    if os.environ.get("WINNOW_MUTANT") or os.environ.get("WINNOW_CALLED"):
        vars(builtins).setdefault(CALLED, set())
        sys.meta_path.insert(0, Finder())
