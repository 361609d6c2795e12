"""Counts of things in messages."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def count_of(count: int, one: str, several: str = "") -> str:
    """`1 file`, `1,234 files`; `several` where the plural has no plain `s`."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def byte_size(count: int) -> str:
    """`512 B`, `1.5 KiB`, `23 GiB`."""
    size, unit = float(count), 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return (
        f"{count:,} B" if unit == 0 else f"{size:.1f} {_UNITS[unit]}" if size < 99.95 else f"{size:,.0f} {_UNITS[unit]}"
    )
