"""Counts of things in messages."""


def count_of(count: int, one: str, several: str = "") -> str:
    """`1 file`, `1,234 files`; `several` where the plural has no plain `s`."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"
