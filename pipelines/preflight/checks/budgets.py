"""Whether a mixture's budget can be met, before anything is read: what the files hold at most, and about.

At most is proved by sizes, and so generous: a byte of text may become several (character sets, entities, edits), and a
compressed byte many thousands. What is inside archives and tables cannot be bounded by their size. About is measured: a
few windows of the files say how many rows and how much text a byte holds, as when tasks are planned.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.archives.inflate import codec_of
from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.sampling import sample_densities
from winnow.pipelines.preflight.check import Check, DecidedRules, Finding, NewInput
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.counts import byte_size
from winnow.schemas.problems import Place, Problem
from winnow.schemas.recipe import MixConfig
from winnow.schemas.recipe.mix import MAX_EPOCHS, StageConfig

UNITS_PER_BYTE: Final = 16  # of text that is not compressed: character sets, entities, replacements, ends of samples
EDITED: Final = 4  # how much longer replacements make a text at most: an address becomes `email@example.com`
RATIOS: Final = {"gz": 1032, "zst": 1 << 15, None: 1}
"""How much a byte can become: of deflate, and of a block of zstd that is one byte repeated."""

OPENED_FILES: Final = 64  # of a source; of more files it is not looked up whether they are compressed


def _impossible(about: NewInput) -> Iterator[Problem]:
    """Refuses a budget of a strict mixture that the files cannot hold, whatever is in them."""
    mix = about.recipe.config.mix
    if mix is None or not about.is_first or not mix.strict or not any(_budgets(mix)):
        return
    most = _most(about)
    if most is None:
        return
    size = byte_size(sum(plan.listing.bytes for plan in about.plans))
    for place, where, budget, epochs in _budgets(mix):
        if budget > most * epochs:
            said = (
                f"{budget:,} {mix.unit} are more than the sources can hold: {size} of files are {most:,} {mix.unit} at "
                f"most, each {epochs:g} times; lower the budget, or leave out 'strict'"
            )
            yield Problem(place, where, said)


def _doubtful(about: NewInput) -> Iterator[str]:
    """A note for each budget that is more than the sources hold by a sample of their files."""
    mix = about.recipe.config.mix
    if mix is None or not about.is_first or not any(_budgets(mix)):
        return
    held = sum(_about(about.context.sources[plan.name], plan.listing.files, mix) for plan in about.plans)
    then = "strict makes that an error, after everything is measured" if mix.strict else "what there is will be given"
    of = "samples" if mix.unit == "samples" else "bytes of text"
    for _, where, budget, epochs in _budgets(mix):
        if budget > held * epochs:
            yield (
                f"{where}: {budget:,} {mix.unit} are more than the sources seem to hold: about {_rounded(held)} {of} "
                f"before any rule, each at most {epochs:g} times; {then}"
            )


def _unkept(about: DecidedRules) -> Iterator[Finding]:
    """Compares budgets with what the rules keep: a note for each that is above it.

    A budget of a strict mixture is refused if it is above that by more than edits and ends of samples can add.
    """
    mix, rules = about.recipe.config.mix, about.rules
    if mix is None or (mix.unit != "samples" and rules.bytes_of != "text"):
        return
    kept, of = rules.kept.rows, "samples"
    most = kept
    if mix.unit != "samples":
        kept, of = rules.kept.bytes, "bytes of text"
        most = kept * EDITED + UNITS_PER_BYTE * rules.kept.rows
    for place, where, budget, epochs in _budgets(mix):
        line = f"{budget:,} {mix.unit} are more than the rules keep: {kept:,} {of}, each at most {epochs:g} times"
        if mix.strict and budget > most * epochs:
            yield Problem(place, where, f"{line}; lower the budget, or leave out 'strict'")
        elif budget > kept * epochs:
            then = (
                "strict makes that an error, once tokens are counted" if mix.strict else "what there is will be given"
            )
            yield f"{where}: {line}; {then}"


def _budgets(mix: MixConfig) -> Iterator[tuple[Place, str, int, float]]:
    """Each budget of a unit that grows with the text: its place, its path, its size, and how often a sample counts."""
    if mix.unit not in ("tokens", "bytes", "samples"):  # no tokenizer makes more tokens than there are bytes
        return
    if mix.budget is not None:
        yield mix.place, "mix.budget", mix.budget, _epochs(mix, mix)
    for stage in mix.stages:
        if stage.budget is not None:
            yield stage.place, f"mix.stages.{stage.name}.budget", stage.budget, _epochs(mix, stage)


def _epochs(mix: MixConfig, of: MixConfig | StageConfig) -> float:
    """The most that any level allows."""
    found = [mix.max_epochs]
    for config in (mix, of):
        for name in ("families", "languages"):
            unimax = getattr(getattr(config, name), "unimax", None)
            found += [] if unimax is None else [unimax]
        bands = config.bands
        if bands is not None and (bands.repeats is not None or bands.rehydrate is not None):
            found.append(float(MAX_EPOCHS))
    return max(found)


def _most(about: NewInput) -> int | None:
    """The most units of all files; None if their sizes do not bound them."""
    most = 0
    for plan in about.plans:
        source, files = about.context.sources[plan.name], plan.listing.files
        if source.clips is not None or not all(format_of(source.format, info.path).is_text for info in files):
            return None
        if len(files) > OPENED_FILES:
            most += plan.listing.bytes * RATIOS["zst"] * UNITS_PER_BYTE
        else:
            most += sum(info.size * _ratio(source, info) for info in files) * UNITS_PER_BYTE
    return most


def _ratio(source: IngestSource, info: ObjectInfo) -> int:
    try:
        with closing(source.objects.open(info.path)) as stream:
            return RATIOS[codec_of(read_range(stream, 0, min(8, info.size)))]
    except OSError:  # reading it will say what is wrong
        return RATIOS["zst"]


def _about(source: IngestSource, files: Sequence[ObjectInfo], mix: MixConfig) -> float:
    densities = sample_densities(source, files)
    if mix.unit == "samples":
        return sum(densities.rows(source.format, info) for info in files)
    return sum(info.size * densities.of(source.format, info.path).text for info in files)


def _rounded(amount: float) -> str:
    """Two digits, as more would pretend to know."""
    return f"{int(float(f'{amount:.2g}')):,}"


CHECKS = (
    Check("impossible-budgets", NewInput, _impossible, order=1),
    Check("doubtful-budgets", NewInput, _doubtful, order=7, of_plan=True),
    Check("unkept-budgets", DecidedRules, _unkept, "mix"),
)
