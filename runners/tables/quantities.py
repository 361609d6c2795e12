"""Formats numbers for people: thousands separated, bytes in binary units, shares in percent."""

from winnow.schemas.counts import byte_size as byte_size
from winnow.schemas.summary import Number


def grouped(number: Number) -> str:
    """`1,234,567`; a float with four significant digits at most."""
    if isinstance(number, int) or (number.is_integer() and abs(number) < 1e15):
        return f"{int(number):,}"
    return f"{number:,.4g}" if abs(number) < 1e4 else f"{number:,.0f}" if abs(number) < 1e15 else f"{number:.3e}"


def share(part: int, whole: int) -> str:
    """`12.3 %`; only nothing reads as 0.0 %, and only all as 100 %."""
    if whole == 0:
        return "-"
    if 0 < part * 2000 < whole:
        return "< 0.1 %"
    if part < whole and part * 2000 > whole * 1999:
        return "> 99.9 %"
    return f"{100 * part / whole:.1f} %"
