"""`winnow language-thresholds`: learns a table of thresholds by language from texts whose language is known."""

import argparse
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from winnow.filters.language.identification.codes import coded
from winnow.filters.language.identification.heads import heads_of
from winnow.filters.language.identification.scripts import script_names
from winnow.filters.language.thresholds.learning import Judged, Learnt, confused, learn
from winnow.filters.language.thresholds.learning_config import LearningConfig
from winnow.filters.operators import TEXT
from winnow.filters.text.language import OPERATOR, Config
from winnow.pipelines.assets import AssetFiles
from winnow.pipelines.query.training_texts import Losses, Text, texts_of_files
from winnow.runners.tables.table import Column, Table, heads, table
from winnow.runners.tables.units import COUNT, NAME, Unit
from winnow.runners.terminal.console import TerminalConsole
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.errors import WinnowError
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN, Label, macrolanguage, read_label, scheme_of
from winnow.schemas.problems import shown

SHOWN = 20
NO_LANGUAGE_GIVEN, NO_LABEL, NO_LETTERS = "no_language_given", "not_a_language", "no_letters"
SCORE = Unit(lambda one: f"{one:.3f}", absent="-")
_BATCH = 1_024
_MAX_BYTES = 1 << 20
_SHARE = Unit(lambda one: f"{one:.1%}", absent="-")
LEARNT: tuple[Column[Learnt], ...] = (
    Column("language", NAME, lambda one: one.code),
    Column("kept from", SCORE, lambda one: one.score),
    Column("texts", COUNT, lambda one: one.texts),
    Column("precision", _SHARE, lambda one: one.precision),
    Column("recall", _SHARE, lambda one: one.recall),
    Column("found at all", _SHARE, lambda one: one.found),
)


@dataclass(slots=True)
class _Answers:
    """The codes that texts have and are given; those of macrolanguages, such as `hbs_Latn`, beside them."""

    wanted: list[str] = field(default_factory=list)
    said: list[str | None] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def judged(self, macrolanguages: bool) -> Judged:
        """As numbers."""
        of = _of_macrolanguage if macrolanguages else str
        wanted, said = [of(code) for code in self.wanted], [None if code is None else of(code) for code in self.said]
        codes = sorted({*wanted, *(code for code in said if code is not None)})
        numbers: dict[str | None, int] = {code: number for number, code in enumerate(codes)} | {None: -1}
        return Judged(
            codes,
            np.array([numbers[code] for code in wanted], np.int64),
            np.array([numbers[code] for code in said], np.int64),
            np.array(self.scores),
        )


def language_thresholds(options: argparse.Namespace) -> int:
    """Write the table, and print the languages that lose most by it."""
    output = Path(options.output)
    if output.suffix != ".csv":
        raise WinnowError(f"--output {shown(options.output)}: expected a name that ends in .csv")
    if not output.parent.is_dir():
        raise WinnowError(
            f"--output {shown(options.output)}: the folder {output.parent} does not exist; create it first"
        )
    if not 0.01 <= options.beta <= 100:
        raise WinnowError(f"--beta {options.beta:g}: expected 0.01 to 100")
    if not 0 <= options.least_kept <= 1:
        raise WinnowError(f"--least-kept {options.least_kept:g}: expected 0 to 1")
    if options.least_texts < 1:
        raise WinnowError(f"--least-texts {options.least_texts}: expected at least 1")
    learning = LearningConfig(beta=options.beta, least_kept=options.least_kept, least_texts=options.least_texts)
    losses = Losses()
    config = Config(
        model=options.model or Config().model,
        normalise=options.normalise,
        alternatives=1,
        second_opinion=False,
        max_paragraphs=0,
    )
    answers = _asked(texts_of_files(options.texts, options.column, losses), config, options.macrolanguages, losses)
    learnt = [
        one
        for one in learn(answers.judged(options.macrolanguages), learning)
        if one.code.partition("_")[0] not in (UNKNOWN, NO_LANGUAGE)
    ]
    if not learnt:
        raise WinnowError(
            f"{options.texts}: no language has {options.least_texts} texts; expected the columns "
            f"{options.column!r} and 'language', with codes such as de, deu or deu_Latn"
        )
    if options.macrolanguages:
        learnt = _by_member(learnt, answers)
    output.write_text(_table_of(learnt, confused(answers.judged(False), learning)), encoding="utf-8")
    console = TerminalConsole()
    lost = Table("Records that are left out", heads("reason", ("records", COUNT)), sorted(losses.reasons.items()))
    least = sorted(learnt, key=lambda one: (one.recall, one.code))[:SHOWN]
    title = f"{len(learnt)} languages" + (f"; the {SHOWN} that lose most" if len(learnt) > SHOWN else "")
    print_tables(console, lost, table(title, LEARNT, least))
    rule = f"text.language.{'macrolanguage_' if options.macrolanguages else ''}score < thresholds.languages.score"
    console.print(f"table   {output}")
    console.print(f"next    thresholds: {{languages: {{file: {output}, key: text.language.code}}}}")
    console.print(f"        keep: [{{drop: {rule}, reason: language_score, when_null: keep}}]")
    return 0


def _asked(texts: Iterator[Text], config: Config, macrolanguages: bool, losses: Losses) -> _Answers:
    """What the model says of every text with a known language."""
    kernel, answers, names = OPERATOR.load(config, AssetFiles()), _Answers(), script_names()
    while some := list(islice(texts, _BATCH)):
        column = pa.array([text for text, _ in some], pa.large_string())
        scripts = heads_of(column, _MAX_BYTES).scripts
        found = kernel(pa.record_batch([column], [TEXT])).to_pydict()
        scores = found["macrolanguage_score" if macrolanguages else "score"]
        for row, (_, language) in enumerate(some):  # beside the model, a look-up for a text
            label = None if language is None else _label(language)
            script, second = int(scripts.numbers[row]), int(scripts.seconds[row])
            if label is None or script < 0:
                reason = NO_LETTERS if label is not None else NO_LABEL if language else NO_LANGUAGE_GIVEN
                losses.reasons[reason] += 1
                continue
            code = coded(label, names[script], names[second] if second >= 0 else None).code
            answers.wanted.append(code)
            answers.said.append(None if found["label"][row] == UNKNOWN else found["code"][row])
            answers.scores.append(scores[row])
    return answers


def _label(language: str) -> Label | None:
    """The language of a label with two letters, as Wikipedia's editions have, or three."""
    return read_label(language, scheme_of([language]))


def _of_macrolanguage(code: str) -> str:
    label, _, script = code.partition("_")
    return f"{macrolanguage(label)}_{script}"


def _by_member(learnt: list[Learnt], answers: _Answers) -> list[Learnt]:
    """The threshold of a macrolanguage, for each of its languages that a text has or is given."""
    codes = sorted({*answers.wanted, *(code for code in answers.said if code is not None)})
    by_code = {one.code: one for one in learnt}
    return [replace(one, code=code) for code in codes if (one := by_code.get(_of_macrolanguage(code))) is not None]


def _table_of(learnt: list[Learnt], taken_for: dict[str, dict[str, float]]) -> str:
    """The file: a row for each language; the last column says what else its texts are taken for, and how often."""
    stream = io.StringIO()
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(("code", "score", "texts", "precision", "recall", "found", "taken_for"))
    for one in learnt:
        others = " ".join(f"{code}:{share:.3f}" for code, share in taken_for.get(one.code, {}).items())
        rows.writerow(
            (one.code, f"{one.score:.4f}", one.texts, f"{one.precision:.4f}", f"{one.recall:.4f}",
             f"{one.found:.4f}", others)
        )  # fmt: skip
    return stream.getvalue()
