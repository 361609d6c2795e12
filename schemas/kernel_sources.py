"""What the machine code of a file's kernels is made of: what is compiled into it, not what its file imports.

The kernels of a file are its statements that use a decorator of `winnow.schemas.kernels`. From them names are followed:
to functions that are called, to constants with what computes them, to tables with the loops that fill them, in the same
file or in the one that a name is imported from. Data files beside these sources belong to them, as their tables are
constants of machine code. Messages, comments and callers do not.

Parsing all of this takes seconds, so the key of a file is kept under a hash of all files that it can come from.
"""

import ast
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numba

__all__ = ["DECORATORS", "all_kernels_key", "imports_digest", "source_key", "sources_of"]

DECORATORS = frozenset({"kernel", "arithmetic", "inlined", "leaf"})

_HOUSE = Path(__file__).resolve().parent.parent
_DECORATORS_FILE = "schemas/kernels.py"
_IMPORTED = re.compile(
    rb"^\s*(?:from\s+winnow\.([\w.]+)\s+import\s+(\([^)]*\)|.*)|import\s+winnow\.([\w.]+))", re.MULTILINE
)
_NAME = re.compile(rb"\w+")


def source_key(path: Path, kept_in: Path | None) -> str:
    """A hash of everything in winnow that is compiled into the kernels of a file.

    Args:
        path: The file.
        kept_in: A folder in which keys are kept, for processes after this one.
    """
    whole = _key_of_files(sources_of(path))
    kept = kept_in / f"{whole}.key" if kept_in else None
    if kept and kept.exists():
        return kept.read_text()
    key = _key_of_statements(path)
    if kept:
        unfinished = kept.with_name(f".{kept.name}.{os.getpid()}")
        unfinished.write_text(key)
        unfinished.replace(kept)
    return key


@cache
def all_kernels_key() -> str:
    """A hash of everything that the machine code of any kernel can depend on."""
    rooms = ("schemas", "filters", "scoring")
    return _key_of_files(frozenset(one for room in rooms for one in (_HOUSE / room).rglob("*.py")))


def sources_of(path: Path) -> frozenset[Path]:
    """A file and all files of winnow that it imports, directly or through others."""
    found: set[Path] = set()
    pending = [path]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += _imported(one)
    return frozenset(found)


@cache
def file_digest(path: Path) -> bytes:
    """A hash of a file's bytes."""
    return hashlib.blake2b(path.read_bytes(), digest_size=16).digest()


def imports_digest(path: Path) -> bytes:
    """A hash of what a file imports from winnow."""
    return hashlib.blake2b(repr(sorted(_IMPORTED.findall(path.read_bytes()))).encode(), digest_size=16).digest()


@cache
def _imported(path: Path) -> frozenset[Path]:
    """The files of winnow that a file names in its imports."""
    found = set()
    for package, names, module in _IMPORTED.findall(path.read_bytes()):
        parts = (package or module).decode().split(".")
        if source := _source(_HOUSE.joinpath(*parts)):
            found.add(source)
        for name in _NAME.findall(names):
            if source := _source(_HOUSE.joinpath(*parts, name.decode())):
                found.add(source)
    return frozenset(found)


@cache
def _source(module: Path) -> Path | None:
    """The file of a module or a package; None where there is none."""
    return next((one for one in (module.with_suffix(".py"), module / "__init__.py") if one.is_file()), None)


@cache
def _data(room: Path) -> frozenset[Path]:
    """The files beside sources that are none."""
    files = (one for one in (*room.iterdir(), *room.glob("data/*")) if one.is_file())
    return frozenset(one for one in files if one.suffix not in (".py", ".pyc"))


def _key_of_files(sources: frozenset[Path]) -> str:
    return _key({(one, file_digest(one)) for one in sources})


def _key_of_statements(path: Path) -> str:
    return _key({(one, _dumped(one, number)) for one, numbers in _compiled_in(path).items() for number in numbers})


@cache
def _dumped(path: Path, number: int) -> bytes:
    """What a statement of a file says, without comments and places."""
    return ast.dump(_module(path).body[number]).encode()


def _key(parts: set[tuple[Path, bytes]]) -> str:
    """A hash of parts of sources, and of the data files beside these."""
    beside = {file for room in {path.parent for path, _ in parts} for file in _data(room)}
    found = hashlib.blake2b(f"{numba.__version__} {unicodedata.unidata_version}".encode(), digest_size=12)
    for path, content in sorted(parts | {(one, file_digest(one)) for one in beside}):
        found.update(f"{path.relative_to(_HOUSE)}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


@dataclass(frozen=True, slots=True)
class _Module:
    """A file's statements, and where the names in them come from."""

    body: list[ast.stmt]
    names: list[set[str]]  # in each statement
    bound: dict[str, list[int]]  # statements that bind a name, or change what it stands for
    imported: dict[str, list[tuple[Path, str]]]  # the file and the name there; no name where it is the file itself
    kernels: list[int]


@cache
def _module(path: Path) -> _Module:
    body = ast.parse(path.read_bytes()).body
    module = _Module(body, [], {}, {}, [])
    for statement in body:
        names = set()
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for name, places in _imports(node):
                    module.imported.setdefault(name, []).extend(places)
        module.names.append(names)
    decorators = {name for name in DECORATORS if (_HOUSE / _DECORATORS_FILE, name) in module.imported.get(name, ())}
    for number, (statement, names) in enumerate(zip(body, module.names, strict=True)):
        if not decorators.isdisjoint(names):
            module.kernels.append(number)
        for name in _changed(statement, names):
            module.bound.setdefault(name, []).append(number)
    return module


def _imports(node: ast.AST) -> Iterator[tuple[str, list[tuple[Path, str]]]]:
    """The names that an import binds to what is winnow's."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("winnow."):
        folder = _HOUSE.joinpath(*(node.module or "").split(".")[1:])
        for one in node.names:
            file, package = _source(folder / one.name), _source(folder)
            yield one.asname or one.name, [(file, "")] if file else [(package, one.name)] if package else []
    elif isinstance(node, ast.Import):
        for one in node.names:
            file = _source(_HOUSE.joinpath(*one.name.split(".")[1:])) if one.name.startswith("winnow.") else None
            if file:
                yield (one.asname or "winnow"), [(file, "")]


def _changed(statement: ast.stmt, names: set[str]) -> set[str]:
    """The names that a statement binds; of one that may also change what names stand for, all names in it."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if isinstance(statement, ast.Assign | ast.AnnAssign) and all(isinstance(one, ast.Name) for one in targets):
        return {one.id for one in targets if isinstance(one, ast.Name)}
    defined = {one.name for one in ast.walk(statement) if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    return names | defined


def _compiled_in(path: Path) -> dict[Path, set[int]]:
    """The statements, by file, that the kernels of a file are compiled from."""
    found: dict[Path, set[int]] = {}
    pending = [(path, number) for number in _module(path).kernels]
    while pending:
        file, number = pending.pop()
        if number in found.setdefault(file, set()):
            continue
        found[file].add(number)
        if file == _HOUSE / _DECORATORS_FILE:  # where machine code is kept changes none of it
            continue
        for name in _module(file).names[number]:
            pending += _statements(file, name)
    return found


def _statements(file: Path, name: str) -> Iterator[tuple[Path, int]]:
    """The statements that say what a name in a file stands for; all of a file where it is the file."""
    module = _module(file)
    yield from ((file, number) for number in module.bound.get(name, ()))
    for place, there in module.imported.get(name, ()):
        if there:
            yield from _statements(place, there)
        else:
            yield from ((place, number) for number in range(len(_module(place).body)))
