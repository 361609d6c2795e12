"""Measures some rows of each source, and says by language what the proposed recipe would drop of them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.words.estimates import ESTIMATED
from winnow.filters.language.words.packages import PACKAGES
from winnow.filters.language.words.scripts import lacking_package
from winnow.filters.operators import TEXT, Kernel
from winnow.pipelines.annotate.one_layer import layer_of_batch
from winnow.pipelines.annotate.rows import BatchRows, Excluded
from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.binding.sources import decode_limits
from winnow.pipelines.ingest.caption_tables import is_caption_table
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.sampling import sample_densities
from winnow.pipelines.ingest.rows import page_batch, sample_batch
from winnow.pipelines.ingest.shards import extract
from winnow.pipelines.media.pictures import Pictures, PictureSource
from winnow.pipelines.media.references import media_sources
from winnow.pipelines.reading.chosen_text import text_of
from winnow.pipelines.reading.columns import MEDIA, leaf_of, leaves
from winnow.pipelines.rules.deciding import UNKNOWN, languages_of
from winnow.pipelines.rules.decisions import DecisionCounts, bits_of, count_block
from winnow.pipelines.rules.evaluation import Evaluator
from winnow.pipelines.rules.losses import RuleLoss, find_losses
from winnow.runners.first_look.proposal import Proposal, ProposedSource
from winnow.runners.first_look.recipe_text import measuring_recipe_text
from winnow.runners.first_look.sample_rows import SampledRows, sample_rows
from winnow.schemas.recipe import recipe_from_text

_EVERY_ROW = Excluded(None, None)

MISSING: Final = {package.reason: package for package in PACKAGES.values()}
"""The packages that find words, by the status of a text that lacks its own."""

MOST_ROWS = 2_000
"""Rows that are measured, of all sources together."""

CHINESE: Final = "cmn_Hani"
JAPANESE: Final = "jpn_Jpan"
ENOUGH: Final = 12
"""Han characters in a row of which no Japanese text has none of kana: with fewer and no other sign, nothing is said."""
_KANA: Final = re.compile("[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f]")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")


@dataclass(frozen=True, slots=True)
class SourceLook:
    """What a source holds."""

    source: ProposedSource
    rows: int  # about, in all files
    sampled: SampledRows
    characters: float | None  # the median of texts
    pictures: int  # of the sampled rows


@dataclass(frozen=True, slots=True)
class LanguageLook:
    """What was sampled of a language."""

    code: str
    rows: int
    kept: int
    dropped_by: tuple[str, int] | None  # the rule that drops most of it first


@dataclass(frozen=True, slots=True)
class Look:
    """What some files hold, by a sample of them."""

    sources: tuple[SourceLook, ...]
    languages: tuple[LanguageLook, ...]
    reasons: tuple[tuple[str, int], ...]  # rules, with the rows that each drops first
    losses: tuple[RuleLoss, ...]
    rows: int
    kept: int
    unsplit: Mapping[str, Mapping[str, int]]  # rows by language, by why their words could not be found


def look_at(proposal: Proposal, most_rows: int = MOST_ROWS) -> Look:
    """Reads and measures some rows of each source; writes nothing."""
    each = max(50, most_rows // len(proposal.sources))
    looks = [_look_at_medium(sources, each) for sources in proposal.by_medium.values()]
    totals = _Totals()
    for one in looks:
        totals.add(one)
    return Look(
        tuple(source for one in looks for source in one.sources),
        totals.languages(),
        tuple(sum(totals.dropped.values(), Counter()).most_common()),
        tuple(loss for one in looks for loss in one.losses),
        totals.rows.total(),
        totals.kept.total(),
        {reason: dict(counts.most_common()) for reason, counts in sorted(totals.unsplit.items())},
    )


@dataclass(frozen=True, slots=True)
class _MediumLook:
    """What the sources of one recipe hold."""

    sources: tuple[SourceLook, ...]
    counts: DecisionCounts
    reasons: tuple[str, ...]  # of its rules
    losses: tuple[RuleLoss, ...]
    unsplit: Mapping[str, Counter[str]]


@dataclass
class _Totals:
    """By language all rows, those kept, and those that each rule drops first."""

    rows: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    dropped: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    unsplit: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, look: _MediumLook) -> None:
        """Adds the outcomes of one recipe."""
        for reason, languages in look.unsplit.items():
            self.unsplit[reason] += languages
        for outcome, tally in look.counts:
            self.rows[outcome.language] += tally.rows
            if outcome.kept:
                self.kept[outcome.language] += tally.rows
                continue
            self.dropped[outcome.language][look.reasons[bits_of(outcome.fired)[0]]] += tally.rows

    def languages(self) -> tuple[LanguageLook, ...]:
        """The languages, those with most rows first."""
        return tuple(
            LanguageLook(code, count, self.kept[code], self._loudest(code))
            for code, count in sorted(self.rows.items(), key=lambda one: (-one[1], one[0]))
        )

    def _loudest(self, code: str) -> tuple[str, int] | None:
        return max(self.dropped[code].items(), key=lambda one: (one[1], one[0]), default=None)


def _look_at_medium(sources: Sequence[ProposedSource], most_rows: int) -> _MediumLook:
    recipe = bind(recipe_from_text(measuring_recipe_text(sources), "recipe.yaml"))
    program = recipe.rules
    kernels = {bound.layer: bound.operator.load(bound.config, bound.assets) for bound in recipe.operators}
    looks: list[SourceLook] = []
    counts: list[DecisionCounts] = []
    unsplit: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with Evaluator(program) as evaluator:
        for source in sources:
            read = recipe.sources.sources[source.name]
            sampled = sample_rows(read, source.group.files, most_rows)
            about = _rows_about(source, read)
            characters, pictures = None, 0
            if sampled.rows:
                columns = _columns(recipe, source.name, sampled, kernels)
                rows = len(sampled.rows)
                decided = evaluator.decide(rows, columns)
                codes = languages_of(columns, program.languages, rows).to_pylist()
                languages = pa.array(codes_by_characters(codes, _said(sampled)), pa.string()).dictionary_encode()
                counts.append(
                    count_block(source.name, languages, np.zeros(rows, np.int64), decided.fired, decided.null)
                )
                for reason, code in _unsplit(columns, languages):
                    unsplit[reason][code] += 1
                characters, pictures = _median(columns), _pictures(columns)
            looks.append(SourceLook(source, about, sampled, characters, pictures))
    merged = DecisionCounts.merged(counts)
    losses = find_losses(program.rules, merged, program.loss_alarms)
    return _MediumLook(tuple(looks), merged, program.reasons, losses, unsplit)


def _said(sampled: SampledRows) -> list[str]:
    """The text of each row, or its first caption; of a page nothing, which is long enough for any model."""
    return [
        row.text if isinstance(row.text, str) and row.text else next((caption.text for caption in row.captions), "")
        for row in sampled.rows
    ]


def _rows_about(source: ProposedSource, read: IngestSource) -> int:
    """How many rows all files have, about: one for each file that is not a table of captions, or by samples of them."""
    files = source.group.files
    if source.group.format.is_one_record:
        return sum(not is_caption_table(file.path) for file in files)
    densities = sample_densities(read, files)
    return round(sum(densities.rows(read.format, file) for file in files))


def _columns(
    recipe: BoundRecipe, source: str, sampled: SampledRows, kernels: Mapping[str, Kernel]
) -> dict[str, pa.Array]:
    """Every column of the recipe for the sampled rows."""
    bound_source = recipe.sources.sources[source]
    samples = sample_batch(sampled.rows, bound_source.rows)
    pages = page_batch([row.html for row in sampled.rows], [row.url for row in sampled.rows])
    columns = dict(_leaves("samples", samples))
    for extractor in recipe.sources.extractors:
        columns |= _leaves(extractor.layer, extract(extractor, samples, pages))
    if recipe.config.text:
        columns[TEXT] = text_of(recipe.config.text, columns)
    rows = BatchRows(columns)
    pictures = Pictures(
        PictureSource(media_sources(recipe.config), decode_limits(recipe.config)), source, columns[MEDIA.name]
    )
    for bound in recipe.operators:
        layer = layer_of_batch(bound, kernels[bound.layer], rows, _EVERY_ROW, pictures)
        own = dict(_leaves(bound.layer, layer))
        rows.add(own)
        columns |= own
    return columns


def _leaves(layer: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
    return ((f"{layer}.{leaf}", leaf_of(batch, leaf)) for leaf, _ in leaves(batch.schema))


def _unsplit(columns: Mapping[str, pa.Array], languages: pa.DictionaryArray) -> Iterator[tuple[str, str]]:
    """For each row whose words are estimated, as their package is not installed, its status and the row's language."""
    by = columns.get("text.fineweb2.segmentation")
    for found, code in zip([] if by is None else by.to_pylist(), languages.to_pylist(), strict=by is not None):
        package = lacking_package(code) if found == ESTIMATED else None
        if package is not None:
            yield package.reason, code


def _median(columns: Mapping[str, pa.Array]) -> float | None:
    lengths = pc.utf8_length(columns[TEXT]).drop_null() if TEXT in columns else None
    return float(np.median(lengths.to_numpy())) if lengths is not None and len(lengths) else None


def _pictures(columns: Mapping[str, pa.Array]) -> int:
    mimes = pc.struct_field(columns[MEDIA.name].flatten(), "mime")
    return int(pc.sum(pc.starts_with(mimes, "image/")).as_py() or 0)


def code_by_characters(code: str, text: str) -> str:
    """The language of a text that a model calls Chinese or Japanese; any other is left as it is."""
    if code not in (CHINESE, JAPANESE):
        return code
    if _KANA.search(text):
        return JAPANESE
    han = "".join(_HAN.findall(text))
    if not han:
        return code
    chinese = not _encodes(han, "cp932")  # the character set of Japan
    japanese = not _encodes(han, "gb2312") and not _encodes(han, "big5")
    if chinese != japanese:
        return CHINESE if chinese else JAPANESE
    return CHINESE if code == CHINESE or len(han) >= ENOUGH else UNKNOWN


def codes_by_characters(codes: Sequence[str], texts: Sequence[str]) -> list[str]:
    """`code_by_characters` of each row."""
    return [code_by_characters(code, text) for code, text in zip(codes, texts, strict=True)]


def _encodes(text: str, charset: str) -> bool:
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        return False
    return True
