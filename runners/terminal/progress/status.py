"""The state of running work, as a line for a pipe and as a bar for a terminal."""

from dataclasses import dataclass

from rich.text import Text

NAME_CELLS = 16
BAR_CELLS = 24
LEAST_BAR_CELLS = 8


@dataclass(frozen=True, slots=True)
class Status:
    """Running work."""

    name: str  # of the stage
    facts: tuple[str, ...]  # such as the number of rows, the most important first
    share: float | None = None  # of the work, that is done; None if unknown
    more: tuple[str, ...] = ()  # for a second line on a terminal
    told_from: float = 0.0  # the share from which on its pace says when it will end

    def line(self, *times: str) -> str:
        """One line."""
        percent = () if self.share is None else (f"{int(100 * self.share)} %",)
        return "  ".join((f"{self.name:<{NAME_CELLS}}", *percent, *self.facts, *times, *self.more))

    def drawn(self, cells: int, unicode: bool, *times: str) -> Text:
        """One or two lines, none longer than a terminal of `cells` cells."""
        parts = [Text(f"{self.name:<{NAME_CELLS}}", "bold")]
        facts = Text("  ".join((*times, *self.facts)))
        if self.share is not None:
            room = cells - NAME_CELLS - len(facts) - 11  # the percent and what lies between
            parts.append(bar(self.share, max(LEAST_BAR_CELLS, min(BAR_CELLS, room)), unicode))
            parts.append(Text(f"{int(100 * self.share):>3} %"))
        lines = [Text("  ").join([*parts, facts])]
        if self.more:
            lines.append(Text(" " * (NAME_CELLS + 2) + "  ".join(self.more), "dim"))
        for line in lines:
            line.truncate(max(cells - 1, 1), overflow="ellipsis" if unicode else "crop")
        return Text("\n").join(lines)


def bar(share: float, cells: int, unicode: bool = True) -> Text:
    """A bar of `cells` cells, in half cells."""
    full, rest = ("━", "─") if unicode else ("#", ".")
    halves = min(2 * cells, max(0, int(2 * cells * share)))
    half = "╸" if unicode and halves % 2 else ""
    done = full * (halves // 2) + half
    return Text.assemble((done, "green"), (rest * (cells - len(done)), "bright_black"))
