"""What rules decide on all rows together, kept in the store: commands that show it read one record, and no rows.

A record is found by a hash of everything that decides it: the conditions, what they are compared with, how
representatives are chosen, the values of every layer that is read, and which rows are forgotten. Where a rule, a
preset, a list of words or the store has changed, the hash is another one, so a record is never out of date; it is at
most not there, and made again.
"""

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from winnow.pipelines.binding.preferences import Choice
from winnow.pipelines.rules.coverage import Detector, LanguageCoverage
from winnow.pipelines.rules.decisions import DecisionCounts
from winnow.pipelines.rules.evaluation import Undecided
from winnow.pipelines.rules.near_thresholds import Sides
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.rules.representatives.candidates import LargeCluster
from winnow.pipelines.rules.representatives.replaced import UnequalTexts
from winnow.pipelines.rules.score_overlaps import ScoreOverlap
from winnow.pipelines.rules.sites import SiteCounts
from winnow.pipelines.store import layout
from winnow.pipelines.store.kept_facts import fact_inputs, find_facts, put_facts
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.records import FactInputs, Generation

VERSION = 6
"""The version of everything that turns rows into a record; raise it when the same rows give another one."""


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """The number of samples, or of media, with each outcome, as columns."""

    source: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    fired: tuple[str, ...] = ()  # bit masks of rules, in hexadecimal
    null: tuple[str, ...] = ()
    textless: tuple[bool, ...] = ()
    rows: tuple[int, ...] = ()
    bytes: tuple[int, ...] = ()
    words: tuple[int, ...] = ()  # of texts that guarded edits were measured for
    cut: tuple[int, ...] = ()  # of these, what the edits cut

    @classmethod
    def of(cls, counts: DecisionCounts) -> "OutcomeCounts":
        """The same counts."""
        columns = {name: counts.table[name].to_pylist() for name in counts.table.schema.names}
        masks = {name: tuple(mask.hex() for mask in columns[name]) for name in ("fired", "null")}
        return cls(**{name: masks.get(name, tuple(values)) for name, values in columns.items()})

    @property
    def counts(self) -> DecisionCounts:
        """The same counts."""
        schema = DecisionCounts.empty().table.schema
        columns = {name: getattr(self, name) for name in schema.names}
        columns |= {name: tuple(map(bytes.fromhex, columns[name])) for name in ("fired", "null")}
        return DecisionCounts(pa.Table.from_pydict(columns, schema=schema))


@dataclass(frozen=True, slots=True)
class KeptDecisions:
    """`decisions/rules/<key>.json`: what rules decide on the rows of a generation."""

    basis: FactInputs
    undecided: Undecided | None  # why rules cannot be decided; then there are no outcomes
    outcomes: OutcomeCounts
    sites: SiteCounts
    items: OutcomeCounts  # of media, where the recipe has rules of `items`
    large: tuple[LargeCluster, ...]  # clusters above the cap that are not accepted, the largest first
    large_count: int  # how many there are in all
    addresses: UnequalTexts
    coverage: tuple[LanguageCoverage, ...]
    overlaps: tuple[ScoreOverlap, ...]
    thresholds: tuple[Sides, ...]  # in the order of the rules' conditions


@dataclass(frozen=True)
class DecisionRequest:
    """What a record is about."""

    pinned: PinnedProgram
    generation: Generation
    detectors: tuple[Detector, ...] | None  # whose layers the generation has; None: nothing is to be detected
    scores: tuple[str, ...]  # layers of scores whose drops are compared

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that are read."""
        program = self.pinned.program
        columns = [*self.pinned.described, *(one.column for one in self.detectors or ())]
        read = (layout.SAMPLES, *program.layers, *(column.layer for column in columns), *self.scores)
        return tuple(sorted(set(read)))

    @property
    def basis(self) -> FactInputs:
        """The rows that are read."""
        return fact_inputs(self.pinned.store, self.generation, self.layers)

    @property
    def key(self) -> str:
        """Equal keys mean equal records."""
        pinned, program = self.pinned, self.pinned.program
        settings: dict[str, Json] = {
            "version": VERSION,
            "engine": duckdb.__version__,  # of the conditions
            "rules": [[rule.phase, rule.rule.drop, rule.rule.when_null] for rule in program.rules],
            "no_items_left": program.no_items_left,
            "tables": [table.to_json() for table in program.tables],
            "choice": None if program.choice is None else _choice(program.choice),
            "languages": [column.name for column in pinned.languages],
            "size": None if pinned.size is None else pinned.size.name,
            "text_statuses": [column.name for column in pinned.text_statuses],
            "guarded_edits": [edit.layer for edit in pinned.guarded_edits],
            "detectors": None if self.detectors is None else [_detector(detector) for detector in self.detectors],
            "scores": list(self.scores),
            "basis": self.basis.to_json(),
        }
        return fingerprint_of(settings)


def find_decisions(asked: DecisionRequest) -> KeptDecisions | None:
    """Return the record, if it is there and whole."""
    return find_facts(asked.pinned.store.objects, KeptDecisions, layout.rule_decisions(asked.key))


def keep_decisions(asked: DecisionRequest, record: KeptDecisions) -> None:
    """Store the record."""
    put_facts(asked.pinned.store.objects, layout.rule_decisions(asked.key), record)


def _detector(detector: Detector) -> Json:
    return [detector.subcategory, detector.column.name, detector.counted]


def _choice(choice: Choice) -> Json:
    preferences: Json = [
        [preference.order, None if preference.column is None else preference.column.name]
        for preference in choice.preferences
    ]
    accepted: Json = {cluster.name: cluster.max_cluster for cluster in choice.config.guard.clusters}
    return {
        "kinds": list(choice.kinds),
        "preferences": preferences,
        "sources": list(choice.sources),
        "max_cluster": dict(choice.max_cluster.items()),
        "accepted": accepted,
    }
