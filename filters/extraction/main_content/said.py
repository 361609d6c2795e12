"""What the tags of a page say in their attributes, by name: of equal names the first that has a value, decoded."""

from collections.abc import Iterable
from html import unescape
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.attributes import named_values
from winnow.filters.extraction.main_content.names import hash_of
from winnow.filters.extraction.main_content.scan import Page


class Names(NamedTuple):
    """Names of attributes, at most 64, and what they hash to."""

    names: tuple[str, ...]
    keys: npt.NDArray[np.uint64]


def names_of(names: Iterable[str]) -> Names:
    """Names in lower case to look for."""
    listed = tuple(names)
    return Names(listed, np.array([hash_of(name) for name in listed], np.uint64))


def said(page: Page, source: bytes, elements: npt.NDArray[np.int64], names: Names) -> list[dict[str, str]]:
    """Of each element, the values of its attributes of these names."""
    found: list[dict[str, str]] = [{} for _ in range(len(elements))]
    if found:
        tags = np.ascontiguousarray(page.attributes[:, elements])
        for which, name, begin, end in named_values(page.source, tags, names.keys).tolist():
            found[which][names.names[name]] = decoded(source[begin:end])
    return found


def first_said(page: Page, source: bytes, elements: npt.NDArray[np.int64], names: Names) -> str:
    """The first value that is not empty of an attribute of these names, in elements that may have it."""
    return next((value for one in said(page, source, elements, names) for value in one.values() if value), "")


def decoded(written: bytes) -> str:
    """A value as a reader of the page has it."""
    value = written.decode("utf-8", "replace")
    if "&" in value:
        value = value.replace("&amp;", "&") if value.count("&") == value.count("&amp;") else unescape(value)
    return value
