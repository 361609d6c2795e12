"""Rates: the speed of one virtual CPU in each part of the work, the size of its output, and the overhead of engines.

The built-in file names the machine it was measured on. A user's file overrides it by name, so it needs only what
differs; `winnow stats --measured` prints such a file from past runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated

from winnow.filters.duplicates.kind import kind_names
from winnow.filters.operators import operator_names
from winnow.pipelines.export.formats import formats
from winnow.runners.engines.names import RUNNERS
from winnow.runners.estimating.contents import Contents
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import Problems, suggestion
from winnow.schemas.recipe.build import build_config
from winnow.schemas.recipe.checks import NOT_WRITTEN, Between, ByName, Matching
from winnow.schemas.recipe.nodes import MAX_FILE_BYTES, MapNode, parse_yaml
from winnow.scoring.tasks import task_names

OTHER = "other"
COMMAND = "command"  # the command itself: checks, rules, drawing, the report
_NAME = Matching(r"[a-z0-9_]+(\.[a-z0-9_]+)*", "a part of a stage, such as text.gopher or ingest.main")
_ENGINE = Matching("|".join(RUNNERS), f"an engine; known: {', '.join(RUNNERS)}")
_MACHINE = Matching(r"[^\x00-\x1f\x7f]{1,200}", "the name of a machine")
_RATIO = Between(0, 1000)
_SLOWEST, _FASTEST = 0.000001, 1_000_000.0


@dataclass(frozen=True)
class Rate:
    """The rate of one part of a stage: its time follows from the texts, as they are once they are decompressed."""

    name: str = field(metadata=NOT_WRITTEN)
    mb_per_second: Annotated[float, Between(_SLOWEST, _FASTEST)] = 10.0  # millions of bytes of text, of one vCPU
    written: Annotated[float, _RATIO] = 0.0  # bytes written per byte read, both compressed
    shuffled: Annotated[float, _RATIO] = 0.0
    row_microseconds: Annotated[float, Between(0, 1_000_000_000)] = 0.0  # that each row takes besides

    def seconds(self, contents: Contents) -> float:
        """What one vCPU takes for them."""
        return contents.text / (self.mb_per_second * 1e6) + contents.rows * self.row_microseconds / 1e6

    def slower(self, times: float) -> "Rate":
        """The rate of a machine that takes so many times as long."""
        speed = min(max(self.mb_per_second / times, _SLOWEST), _FASTEST)
        return replace(self, mb_per_second=speed, row_microseconds=self.row_microseconds * times)


@dataclass(frozen=True)
class EngineRate:
    """The overhead of an engine."""

    name: str = field(metadata=NOT_WRITTEN)
    work: Annotated[float, Between(0.01, 1000)] = 1.0  # vCPU-seconds per vCPU-second of work without an engine
    start_seconds: Annotated[float, Between(0, 100_000)] = 0.0  # per worker and stage
    measured: bool = False  # whether measured or assumed


@dataclass(frozen=True)
class Rates:
    """The rates of all parts and engines."""

    machine: Annotated[str, _MACHINE] = "an unknown machine"  # where the rates were measured
    engines: Annotated[tuple[EngineRate, ...], ByName(_ENGINE)] = ()
    rates: Annotated[tuple[Rate, ...], ByName(_NAME)] = ()

    def of(self, part: str) -> Rate:
        """The rate of a part; a part that was not measured has the rate of its kind."""
        known = {rate.name: rate for rate in self.rates}
        for name in (part, f"{part.partition('.')[0]}.{OTHER}", OTHER):
            if name in known:
                return known[name]
        return Rate(OTHER)

    def over(self, base: "Rates") -> "Rates":
        """These rates, completed with those that only the base has."""
        engines = {one.name: one for one in (*base.engines, *self.engines)}
        rates = {one.name: one for one in (*base.rates, *self.rates)}
        return replace(self, engines=tuple(engines.values()), rates=tuple(rates.values()))


@cache
def shipped_rates() -> Rates:
    """The built-in rates."""
    return _parsed(resources.files("winnow.recipes").joinpath("rates.yaml").read_text("utf-8"), "rates.yaml")


def read_rates(path: str | None) -> Rates:
    """Read a file of rates that overrides the built-in ones; without a file, return the built-in ones.

    WinnowError, which names the line, for an invalid entry.
    """
    if path is None:
        return shipped_rates()
    file = Path(path)
    if not file.is_file():
        raise WinnowError(f"--rates {path}: no such file; 'winnow stats STORE --measured' prints one")
    raw = file.read_bytes()
    if len(raw) > MAX_FILE_BYTES:
        raise WinnowError(f"--rates {path}: more than {MAX_FILE_BYTES:,} bytes; expected a short YAML file of rates")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise WinnowError(f"--rates {path}: not UTF-8; expected a YAML file of rates") from None
    return _parsed(text, path, part_names()).over(shipped_rates())


@cache
def part_names() -> frozenset[str]:
    """All names of parts, including the default part of each kind."""
    found = {"ingest.none", "ingest.resiliparse", "ingest.main", "ingest.trafilatura", "mix.tokens"}
    found |= {f"dedupe.{kind}" for kind in kind_names()}
    found |= {f"export.{name}" for name in formats()} | {f"score.{name}" for name in task_names()}
    found |= set(operator_names())
    return frozenset({COMMAND, *found, *(f"{name.partition('.')[0]}.{OTHER}" for name in found), OTHER})


def _parsed(text: str, name: str, known: frozenset[str] | None = None) -> Rates:
    problems = Problems()
    root = parse_yaml(text, name, problems, "a file of rates", "rates:")
    problems.stop_if_any()
    rates = build_config(Rates, root, "")
    written = root.get("rates")
    for entry in written.entries if isinstance(written, MapNode) else ():
        if known is not None and entry.key not in known:
            message = f"no stage has a part of this name{suggestion(entry.key, known)}"
            problems.add(entry.place, f"rates.{entry.key}", message)
    problems.stop_if_any()
    return rates


def ingest_part(extractors: Iterable[str]) -> str:
    """The part name of an ingest, which depends on the slowest extractor; the others hardly matter."""
    names = set(extractors)
    quick = "main" if "main" in names else "resiliparse" if names else "none"
    return f"ingest.{'trafilatura' if names - {'main', 'resiliparse'} else quick}"
