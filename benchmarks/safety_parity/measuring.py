"""What safety rules do to known texts: how many clean ones each drops, and what is found of what is planted."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.parity.ours import Judgement, Preparation
from benchmarks.safety_parity.known import Known, with_codes
from benchmarks.safety_parity.listed_words import found_inside
from winnow.filters.operators import find_operator
from winnow.filters.presets import Preset, find_preset
from winnow.pipelines.binding.operators import configure
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import canonical_json
from winnow.schemas.problems import Problems
from winnow.schemas.recipe.model import OperatorEntry
from winnow.schemas.recipe.nodes import parse_yaml

BATCH = 256
LIKELY = 0.5
"""From here on a score counts as found."""

UNKNOWN = "unknown"
_LISTED_WORDS = "text.wordlist.hits"


@dataclass
class Hits:
    """How many texts there were, and how many of them were hit."""

    texts: int = 0
    hit: int = 0
    examples: list[str] = field(default_factory=list)  # names of documents

    def add(self, name: str, *, hit: bool, examples: int) -> None:
        """Count one text."""
        self.texts += 1
        self.hit += hit
        if hit and len(self.examples) < examples:
            self.examples.append(name)


@dataclass
class Naive:
    """What filters would drop that take any entry of a word list for a reason, where it is a word or anywhere."""

    words: int = 0
    anywhere: int = 0


@dataclass
class Recall:
    """What detectors of a subcategory say of texts; where something was planted, beyond what they said before."""

    texts: int = 0
    seen: int = 0  # a detector looked
    found: int = 0
    dropped: int = 0  # by any rule

    def __iadd__(self, other: "Recall") -> "Recall":
        self.texts += other.texts
        self.seen += other.seen
        self.found += other.found
        self.dropped += other.dropped
        return self


@dataclass
class Findings:
    """Everything that was counted, by language code."""

    rules: tuple[str, ...]
    detectors: dict[str, tuple[str, ...]]  # columns by subcategory
    clean: dict[str, Hits] = field(default_factory=dict)  # dropped by any rule
    dropped: dict[tuple[str, str], Hits] = field(default_factory=dict)  # by language and rule
    topics: dict[tuple[str, str], Hits] = field(default_factory=dict)  # by topic and rule, over all languages
    recall: dict[tuple[str, str, str], Recall] = field(default_factory=dict)  # by language, subcategory and variant
    alarms: dict[tuple[str, str], Recall] = field(default_factory=dict)  # in clean texts, by language and subcategory
    naive: dict[str, Naive] = field(default_factory=dict)  # of the clean texts


def joined(names: Sequence[str]) -> Preset:
    """Presets as one: their operators, which must agree, and all their rules."""
    operators: dict[str, object] = {}
    presets = [find_preset(name) for name in names]
    for preset in presets:
        for name, settings in preset.operators.items():
            if operators.setdefault(name, settings) != settings:
                raise RecipeError(f"{', '.join(names)}: these presets configure {name} differently; measure each alone")
    reasons = [rule.reason for preset in presets for rule in preset.rules]
    if twice := sorted({reason for reason in reasons if reasons.count(reason) > 1}):
        raise RecipeError(f"{', '.join(names)}: these presets share the reason {twice[0]!r}; measure each alone")
    return Preset(
        name="+".join(names),
        summary="",
        operators={name: settings for preset in presets for name, settings in preset.operators.items()},
        rules=tuple(rule for preset in presets for rule in preset.rules),
    )


def detectors_of(preset: Preset) -> dict[str, tuple[str, ...]]:
    """The columns of a preset's operators that look for something, by subcategory."""
    found: dict[str, list[str]] = {}
    for name, settings in preset.operators.items():
        problems = Problems()
        options = parse_yaml(canonical_json(dict(settings)), f"preset {preset.name}", problems)
        problems.stop_if_any()
        _, config = configure(OperatorEntry(name=name, options=options), f"preset {preset.name}")
        for column, subcategory in find_operator(name).detects(config).items():
            found.setdefault(subcategory, []).append(f"{name}.{column}")
    return {subcategory: tuple(columns) for subcategory, columns in found.items()}


def measured(
    preset: Preset,
    clean: Iterable[Known],
    plant: Callable[[Known, frozenset[str]], Iterable[Known]],
    per_language: int,
    examples: int = 3,
    progress: Callable[[int], None] = lambda _documents: None,
    *,
    naive: bool = False,
) -> Findings:
    """Count what the rules of a preset drop and what its detectors find.

    Args:
        preset: Operators and rules.
        clean: Texts that nothing is wrong with.
        plant: From a clean text and the subcategories that are looked for to copies with something planted.
        per_language: How many clean texts of each language are planted in: the first.
        examples: How many names of clean texts that were dropped are kept for each language and rule.
        progress: Is told how many documents are done.
        naive: Count, too, what filters would drop that take any listed word for a reason.
    """
    detectors = detectors_of(preset)
    values = tuple(dict.fromkeys(column for columns in detectors.values() for column in columns))
    made = Preparation(preset, values, by_language=True)
    findings = Findings(tuple(rule.reason for rule in preset.rules), detectors)
    wanted = frozenset(detectors)
    planted_in: dict[str, int] = {}
    done = 0

    def every() -> Iterator[Known]:
        for batch in _batches(clean):
            for one in with_codes(batch):
                language = one.document.language or UNKNOWN
                yield one
                if planted_in.setdefault(language, 0) < per_language:
                    planted_in[language] += 1
                    yield from plant(one, wanted)

    clean_one: Judgement | None = None
    for batch in _batches(every()):
        for one, judgement in zip(batch, made.judge([one.document for one in batch]), strict=True):
            if one.planted is None:
                clean_one = judgement
                _count_clean(findings, one, judgement, examples)
                if naive:
                    _count_naive(findings, one, judgement)
            else:  # it comes behind the text that it was planted in
                assert clean_one is not None
                _count_planted(findings, one, judgement, None if one.alone else clean_one)
        done += len(batch)
        progress(done)
    return findings


def _count_clean(findings: Findings, one: Known, judgement: Judgement, examples: int) -> None:
    language = one.document.language or UNKNOWN
    name = one.document.id
    findings.clean.setdefault(language, Hits()).add(name, hit=judgement.reason is not None, examples=examples)
    for subcategory, columns in findings.detectors.items():
        alarms = findings.alarms.setdefault((language, subcategory), Recall())
        alarms.texts += 1
        alarms.seen += any(judgement.values[column] is not None for column in columns)
        alarms.found += any(_is_found(judgement.values[column], None) for column in columns)
        alarms.dropped += judgement.reason is not None
    for rule in findings.rules:
        hit = judgement.rules[rule]
        findings.dropped.setdefault((language, rule), Hits()).add(name, hit=hit, examples=examples)
        findings.topics.setdefault((one.topic, rule), Hits()).add(name, hit=hit, examples=examples)


def _count_naive(findings: Findings, one: Known, judgement: Judgement) -> None:
    language = one.document.language
    count = findings.naive.setdefault(language or UNKNOWN, Naive())
    count.words += bool(judgement.values.get(_LISTED_WORDS))
    count.anywhere += found_inside(language, one.document.text)


def _count_planted(findings: Findings, one: Known, judgement: Judgement, clean: Judgement | None) -> None:
    assert one.planted is not None
    count = findings.recall.setdefault((one.document.language or UNKNOWN, one.planted, one.variant), Recall())
    columns = findings.detectors[one.planted]
    before = {column: None if clean is None else clean.values[column] for column in columns}
    count.texts += 1
    count.seen += any(judgement.values[column] is not None for column in columns)
    count.found += any(_is_found(judgement.values[column], before[column]) for column in columns)
    count.dropped += judgement.reason is not None and (clean is None or clean.reason is None)


def _is_found(value: float | bool | str | None, before: float | bool | str | None) -> bool:
    """Whether a detector says more of a text than it said before anything was planted."""
    if value is None or isinstance(value, str) or isinstance(before, str):
        return False
    if isinstance(value, bool):
        return value and not before
    return value > (before or 0) and (isinstance(value, int) or value >= LIKELY)


def _batches(known: Iterable[Known]) -> Iterator[list[Known]]:
    held: list[Known] = []
    for one in known:
        held.append(one)
        if len(held) >= BATCH:
            yield held
            held = []
    if held:
        yield held
