"""Read the vocabulary of a pickled Keras tokenizer without unpickling.

A pickle is a program for a small stack machine. This interpreter knows only the instructions that build dictionaries,
text and numbers: class names stay names, "call" makes an empty dictionary for the three names that mean one, and
everything else is refused. Nothing is imported, nothing is called.
"""

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from winnow.schemas.errors import WinnowError

MAX_BYTES = 64 << 20
MAX_INSTRUCTIONS = 4_000_000  # the published tokenizer has 2.3 million

_TOKENIZERS = frozenset(
    f"{package}.Tokenizer"
    for package in ("keras.src.legacy.preprocessing.text", "keras.preprocessing.text", "keras_preprocessing.text")
)
_DICTIONARIES = frozenset({"collections.OrderedDict", "collections.defaultdict"})
_NAMES = _TOKENIZERS | _DICTIONARIES | {"builtins.int"}


class PickledTokenizerError(WinnowError):
    """A pickle that is not a Keras tokenizer, or does more than one needs."""


@dataclass(frozen=True, slots=True)
class _Name:
    """The name of a class in the pickle; nothing is imported."""

    dotted: str


@dataclass(slots=True)
class _Tokenizer:
    """The object that the pickle describes."""

    state: dict[object, object] = field(default_factory=dict)


class _Mark:
    """A marker on the stack before an instruction's items."""


_Stack = list[object]


def tokenizer_state(raw: bytes) -> Mapping[object, object]:
    """The fields of the pickled tokenizer.

    Raises:
        PickledTokenizerError: The pickle contains something else; the message says what and where.
    """
    if len(raw) > MAX_BYTES:
        raise PickledTokenizerError(f"a pickled tokenizer of {len(raw):,} bytes; expected at most {MAX_BYTES:,}")
    machine = _Machine()
    at = 0
    try:
        for number, (instruction, value, place) in enumerate(pickletools.genops(raw)):
            at = place or 0
            if number == MAX_INSTRUCTIONS:
                machine.refuse(f"more than {MAX_INSTRUCTIONS:,} instructions")
            machine.do(instruction.name, value)
    except (ValueError, IndexError, TypeError, KeyError) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise PickledTokenizerError(
            f"not a pickled Keras tokenizer: {reason} (at byte {at:,} of {len(raw):,}); nothing of it was run"
        ) from None
    return machine.result()


class _Machine:
    """The stack machine and its memo."""

    def __init__(self) -> None:
        self._stack: _Stack = []
        self._seen: _Stack = []
        self._does: Mapping[str, Callable[[], None]] = {
            "MEMOIZE": lambda: self._seen.append(self._stack[-1]),
            "MARK": lambda: self._stack.append(_Mark()),
            "EMPTY_DICT": lambda: self._stack.append({}),
            "EMPTY_TUPLE": lambda: self._stack.append(()),
            "TUPLE1": self._arguments,
            "NONE": lambda: self._stack.append(None),
            "NEWTRUE": lambda: self._stack.append(True),
            "NEWFALSE": lambda: self._stack.append(False),
            "STACK_GLOBAL": self._name,
            "REDUCE": self._dictionary,
            "NEWOBJ": self._tokenizer,
            "SETITEMS": self._items,
            "BUILD": self._state,
            "PROTO": lambda: None,
            "FRAME": lambda: None,
            "STOP": lambda: None,
        }

    def do(self, name: str, value: object) -> None:
        """Execute one instruction."""
        if name in ("BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2"):
            self._stack.append(value)
        elif name in ("BINGET", "LONG_BINGET") and isinstance(value, int):
            self._stack.append(self._seen[value])
        elif name in self._does:
            self._does[name]()
        else:
            self.refuse(f"the instruction {name}")

    def refuse(self, what: str) -> NoReturn:
        """Stop with an error; `tokenizer_state` adds the position."""
        raise ValueError(f"{what}, which a tokenizer does not need")

    def result(self) -> Mapping[object, object]:
        """The value on the stack at the end."""
        if len(self._stack) != 1 or not isinstance(self._stack[0], _Tokenizer):
            raise PickledTokenizerError("not a pickled Keras tokenizer: the pickle contains something else")
        return self._stack[0].state

    def _name(self) -> None:
        last, module = self._stack.pop(), self._stack.pop()
        dotted = f"{module}.{last}"
        if dotted not in _NAMES:
            self.refuse(f"the name {dotted[:80]!r}")
        self._stack.append(_Name(dotted))

    def _arguments(self) -> None:
        # Only of names: deeply nested tuples crash the process when hashed.
        if not isinstance(argument := self._stack.pop(), _Name):
            self.refuse("a tuple")
        self._stack.append((argument,))

    def _dictionary(self) -> None:
        arguments, called = self._stack.pop(), self._stack.pop()
        plain = arguments in ((), (_Name("builtins.int"),))
        if not (isinstance(called, _Name) and called.dotted in _DICTIONARIES and plain):
            self.refuse("a call")
        self._stack.append({})

    def _tokenizer(self) -> None:
        arguments, called = self._stack.pop(), self._stack.pop()
        if not (isinstance(called, _Name) and called.dotted in _TOKENIZERS and arguments == ()):
            self.refuse("a call")
        self._stack.append(_Tokenizer())

    def _items(self) -> None:
        items: _Stack = []
        while not isinstance(top := self._stack.pop(), _Mark):
            items.append(top)
        items.reverse()
        target = self._stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            self.refuse("items of something other than a dictionary")
        target.update(zip(items[::2], items[1::2], strict=True))

    def _state(self) -> None:
        state, built = self._stack.pop(), self._stack[-1]
        if not (isinstance(built, _Tokenizer) and isinstance(state, dict)):
            self.refuse("the state of something else")
        built.state = state
