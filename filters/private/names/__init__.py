"""Names of persons and street addresses, found by untrusted models of other packages."""

from winnow.filters.private.names.checking import ByteSpan, byte_spans
from winnow.filters.private.names.models import ENTRY_POINTS, KINDS, FoundModel, NameModel, Recognised, find_model

__all__ = [
    "ENTRY_POINTS",
    "KINDS",
    "ByteSpan",
    "FoundModel",
    "NameModel",
    "Recognised",
    "byte_spans",
    "find_model",
]
