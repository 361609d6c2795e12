"""How far a run has come: which stages are done, and which one runs. A report of an unfinished run says so."""

from dataclasses import dataclass, field


@dataclass
class Reached:
    """The stages of a run that have begun."""

    done: list[str] = field(default_factory=list)
    now: str | None = None  # None before the first stage

    def begin(self, stage: str) -> None:
        """Note that a stage begins, so that the one before it is done."""
        if self.now is not None:
            self.done.append(self.now)
        self.now = stage
