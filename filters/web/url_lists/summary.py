"""The summary of a list: its entries by kind, and its invalid lines."""

from dataclasses import dataclass, field

SHOWN_LINES = 5


@dataclass
class Summary:
    """Counted while a list is read."""

    lines: int = 0
    entries: dict[str, int] = field(default_factory=dict)  # distinct entries by the kind's name
    invalid: int = 0
    first_invalid: list[tuple[int, str]] = field(default_factory=list)  # line number and reason of the first few
    narrowed: int = 0
    first_narrowed: list[str] = field(default_factory=list)

    def refuse(self, line: int, why: str) -> None:
        """Count an invalid line."""
        self.invalid += 1
        self.first_invalid = sorted([*self.first_invalid, (line, why)])[:SHOWN_LINES]

    def narrow(self, host: str) -> None:
        """Count a public suffix that is read as a host."""
        self.narrowed += 1
        if len(self.first_narrowed) < SHOWN_LINES:
            self.first_narrowed.append(host)

    @property
    def total(self) -> int:
        """The number of all entries."""
        return sum(self.entries.values())

    def remarks(self) -> list[str]:
        """Warnings for the user, one line each; empty if all is well."""
        said = []
        if self.invalid:
            said.append(f"{self.invalid:,} of {self.lines:,} lines are not entries ({self.invalid_shown()})")
        if self.narrowed:
            more = ", …" if self.narrowed > len(self.first_narrowed) else ""
            said.append(
                f"{self.narrowed:,} are public suffixes, below which anybody may register: "
                f"{', '.join(self.first_narrowed)}{more}; each means only that host, write *.NAME for all below"
            )
        return said

    def invalid_shown(self) -> str:
        """The first invalid lines."""
        more = ", …" if self.invalid > len(self.first_invalid) else ""
        return ", ".join(f"line {number}: {why}" for number, why in self.first_invalid) + more
