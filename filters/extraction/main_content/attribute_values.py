"""Decoded values of the attributes of a page's tags, by name; of equal names the first with a value counts."""

from collections.abc import Iterable
from html import unescape
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.attributes import named_values
from winnow.filters.extraction.main_content.names import hash_of
from winnow.filters.extraction.main_content.scan import Page


class AttributeNames(NamedTuple):
    """At most 64 attribute names, and their hashes."""

    names: tuple[str, ...]
    keys: npt.NDArray[np.uint64]


def attribute_names(names: Iterable[str]) -> AttributeNames:
    """Prepare lower-case names for a look-up."""
    listed = tuple(names)
    return AttributeNames(listed, np.array([hash_of(name) for name in listed], np.uint64))


def attribute_values(
    page: Page, source: bytes, elements: npt.NDArray[np.int64], names: AttributeNames
) -> list[dict[str, str]]:
    """For each element, the values of its attributes with these names."""
    found: list[dict[str, str]] = [{} for _ in range(len(elements))]
    if found:
        tags = np.ascontiguousarray(page.attributes[:, elements])
        for which, name, begin, end in named_values(page.source, tags, names.keys).tolist():
            found[which][names.names[name]] = decoded_value(source[begin:end])
    return found


def first_attribute_value(page: Page, source: bytes, elements: npt.NDArray[np.int64], names: AttributeNames) -> str:
    """The first non-empty value of an attribute with one of these names, over these elements."""
    return next(
        (value for one in attribute_values(page, source, elements, names) for value in one.values() if value), ""
    )


def decoded_value(written: bytes) -> str:
    """A value with its character references decoded."""
    value = written.decode("utf-8", "replace")
    if "&" in value:
        value = value.replace("&amp;", "&") if value.count("&") == value.count("&amp;") else unescape(value)
    return value
