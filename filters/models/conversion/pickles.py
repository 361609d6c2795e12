"""Read pickles as data: nothing is imported, nothing is called.

A pickle is a program for a small stack machine. This interpreter knows only the instructions that build dictionaries,
lists, tuples, texts and numbers. Names stay names, and only those are taken that the reader expects; a call stays what
is to be called, and with what. All else is refused.
"""

import pickletools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Final

MAX_INSTRUCTIONS = 4_000_000  # the largest that is read, a tokenizer, has 2.3 million

_DICTIONARIES: Final = frozenset({"collections.OrderedDict", "collections.defaultdict"})
_VALUES: Final = frozenset({"BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1"})


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a class or function."""

    dotted: str


@dataclass(slots=True)
class Call:
    """A call that a pickle asks for, of a name, or of none for a value that is kept outside; and what is set then."""

    called: Name | None
    arguments: object
    state: object = None


class _Mark:
    """A marker on the stack before an instruction's items."""


def read_pickle(stream: BinaryIO, names: Collection[str]) -> object:
    """What the next pickle of a stream describes; calls that make empty dictionaries are such dictionaries.

    Args:
        stream: Where it begins.
        names: Which names it may have.

    Raises:
        ValueError: It is damaged or has something else in it; the message says where.
    """
    machine, at = _Machine(names), 0
    try:
        for number, (instruction, value, place) in enumerate(pickletools.genops(stream)):
            at = place or 0
            if number == MAX_INSTRUCTIONS:
                raise ValueError(f"more than {MAX_INSTRUCTIONS:,} instructions")
            machine.do(instruction.name, value)
        (found,) = machine.stack
    except (ValueError, IndexError, TypeError, KeyError, AttributeError) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0][:200]
        raise ValueError(f"{reason} (at byte {at:,})") from None
    return found


class _Machine:
    """The stack machine and its memo."""

    def __init__(self, names: Collection[str]) -> None:
        self.stack: list[object] = []
        self._names = names
        self._seen: dict[int, object] = {}
        push, pop = self.stack.append, self.stack.pop
        self._does: Mapping[str, Callable[[], None]] = {
            "MEMOIZE": lambda: self._seen.update({len(self._seen): self.stack[-1]}),
            "MARK": lambda: push(_Mark()),
            "EMPTY_DICT": lambda: push({}),
            "EMPTY_LIST": lambda: push([]),
            "EMPTY_TUPLE": lambda: push(()),
            "NONE": lambda: push(None),
            "NEWTRUE": lambda: push(True),
            "NEWFALSE": lambda: push(False),
            "TUPLE": lambda: push(tuple(self._items())),
            "TUPLE1": lambda: push((pop(),)),
            "TUPLE2": lambda: push((pop(), pop())[::-1]),
            "STACK_GLOBAL": lambda: self._name(*(pop(), pop())[::-1]),
            "BINPERSID": lambda: push(Call(None, pop())),
            "REDUCE": self._call,
            "NEWOBJ": self._call,
            "SETITEM": lambda: self._set([pop(), pop()][::-1]),
            "SETITEMS": lambda: self._set(self._items()),
            "APPEND": lambda: self._append([pop()]),
            "APPENDS": lambda: self._append(self._items()),
            "BUILD": self._state,
            **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda: None),
        }

    def do(self, name: str, value: object) -> None:
        """Execute one instruction."""
        if name in _VALUES:
            self.stack.append(value)
        elif name == "GLOBAL":
            self._name(*str(value).split(" ", 1))
        elif name in ("BINPUT", "LONG_BINPUT") and isinstance(value, int):
            self._seen[value] = self.stack[-1]
        elif name in ("BINGET", "LONG_BINGET") and isinstance(value, int):
            self.stack.append(self._seen[value])
        elif name in self._does:
            self._does[name]()
        else:
            raise ValueError(f"the instruction {name}, which is not needed")

    def _items(self) -> list[object]:
        items: list[object] = []
        while not isinstance(top := self.stack.pop(), _Mark):
            items.append(top)
        return items[::-1]

    def _name(self, module: object, last: object) -> None:
        dotted = f"{module}.{last}"
        if dotted not in self._names and dotted not in _DICTIONARIES:
            raise ValueError(f"the name {dotted[:80]!r}, which is not needed")
        self.stack.append(Name(dotted))

    def _call(self) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        if not isinstance(called, Name):
            raise ValueError("a call of something else than a name")
        if called.dotted in _DICTIONARIES and arguments not in ((), (Name("builtins.int"),)):
            raise ValueError("a dictionary that is not empty")
        self.stack.append({} if called.dotted in _DICTIONARIES else Call(called, arguments))

    def _set(self, items: list[object]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict) or len(items) % 2 or not all(isinstance(one, str | int) for one in items[::2]):
            raise ValueError("items of something other than a dictionary, or with keys of another kind")
        target.update(zip(items[::2], items[1::2], strict=True))

    def _append(self, items: list[object]) -> None:
        target = self.stack[-1]
        if not isinstance(target, list):
            raise ValueError("items of something other than a list")
        target += items

    def _state(self) -> None:
        state, built = self.stack.pop(), self.stack[-1]
        if isinstance(built, Call):
            built.state = state
        elif not isinstance(built, dict):  # what PyTorch sets of a dictionary are the versions of modules
            raise ValueError("the state of something else")
