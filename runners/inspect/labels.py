"""What a person thinks of samples: `good` or `bad`, by id, in a file beside the recipe; never in the store.

The file, `NAME.labels.jsonl` for `NAME.yaml`, has a line for each labelled sample. `winnow train-quality --labels`
reads it as it is: a good sample has the label 1, a bad one 0.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.forgetting.outputs import LABELS
from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.query.recipe_rules import edits_as_exported
from winnow.pipelines.reading.chosen_text import text_of
from winnow.pipelines.reading.columns import Column, leaf_of
from winnow.pipelines.reading.text_edits import Edits
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.tables import read_batches, read_rows
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.runners.stages.lists.whole_file import registered_file, require_writable, whole_file
from winnow.schemas.errors import RecipeError, SourceError, WinnowError

VALUES: Final[Mapping[str, int]] = {"bad": 0, "good": 1}
MOST: Final = 100_000
ID_DIGITS: Final = 32

_NAMES: Final = {value: name for name, value in VALUES.items()}


@dataclass(frozen=True)
class LabelsFile:
    """The labels beside a recipe."""

    path: Path
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    @property
    def nbytes(self) -> int:
        """It keeps nothing."""
        return 0

    @classmethod
    def of(cls, opened: Opened) -> "LabelsFile":
        """Those of what is shown; UnavailableError without a recipe."""
        if opened.recipe is None:
            raise UnavailableError("labels are kept beside a recipe; run: winnow inspect RECIPE")
        recipe = Path(opened.recipe.file)
        return opened.kept.get("labels", lambda: cls(recipe.with_name(f"{recipe.stem}.labels.jsonl")))

    def read(self) -> dict[str, str]:
        """The label of each sample, by id, in the order in which they were given."""
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return {}
        found: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                found[_require_id(row["id"])] = _NAMES[row["label"]]
            except (ValueError, KeyError, TypeError, AskedError):
                line = f'{self.path}:{number}: expected {{"id": "…", "label": 0 or 1}}; correct the line or remove it'
                raise SourceError(line) from None
        return found

    def set(self, sample: str, label: str | None) -> None:
        """Labels a sample, or takes its label back."""
        with self._lock:
            labels = self.read()
            labels.pop(_require_id(sample), None)
            if label is not None:
                if label not in VALUES:
                    raise AskedError(f"label: expected {' or '.join(VALUES)}, or null for none")
                labels[sample] = label
            if len(labels) > MOST:
                raise AskedError(f"{self.path}: has {MOST:,} labels, the most that it may have")
            _write(self.path, (_line({"id": one, "label": VALUES[name]}) for one, name in labels.items()))

    def export(self, opened: Opened, name: str, kind: str) -> Path:
        """Writes the labels into a new file beside the recipe, with the texts of samples that are still there.

        The file is registered, so that `winnow forget` names it; its texts have the recipe's edits, as in exports.
        """
        if Path(name).name != name or name.startswith(".") or not name.endswith(".jsonl"):
            raise AskedError(f"path: expected the name of a file beside {self.path.name}, such as labels-1.jsonl")
        target = self.path.with_name(name)
        if target.exists() or target.is_symlink():
            raise WinnowError(f"{target}: exists already; choose another name")
        labels = self.read()
        wanted = [sample for sample, label in labels.items() if kind == "train-quality" or label == "good"]
        if not wanted:
            raise WinnowError(f"{self.path}: no sample is labelled {'good' if kind == 'reference' else 'yet'}")
        texts = dict(texts_of(opened, wanted, _edits(opened) if kind == "reference" else None))
        there = [sample for sample in wanted if texts.get(sample)]
        if not there:
            raise WinnowError(f"{self.path}: none of its samples has a text in the store as it is now")
        rows = ({"id": sample, "text": texts[sample], "label": VALUES[labels[sample]]} for sample in there)
        if kind == "train-quality":
            rows = ({"id": row["id"], "label": row["label"]} for row in rows)
        require_writable("path", target)
        with registered_file(opened.store.objects, LABELS, target, opened.generation.number):
            _write(target, map(_line, rows))
        return target


def texts_of(opened: Opened, samples: list[str], edits: Edits | None = None) -> Iterator[tuple[str, str | None]]:
    """The texts of samples, by id, with edits if there are any; forgotten ones are left out."""
    store, generation = opened.store, opened.generation
    wanted = pa.array([bytes.fromhex(sample) for sample in samples], pa.binary(16))
    hidden = hidden_rows(store, generation)
    columns = _text_columns(opened)
    every = (*columns, *(edits.columns if edits is not None else ()))
    objects = {column.layer: store.manifest(generation, column.layer).objects for column in every}
    for shard in store.manifest(generation, layout.SAMPLES):
        check_cancelled()
        rows = _rows_with(store, shard.object, wanted)
        if shard.shard in hidden:
            unseen = set(hidden[shard.shard].rows.tolist())
            rows = [row for row in rows if row not in unseen]
        if not rows:
            continue
        ids = read_rows(store.objects, shard.object, rows, ["id"])["id"].to_pylist()
        found: dict[str, pa.Array] = {}
        for column in every:
            path, top = objects[column.layer][shard.shard], column.leaf.partition(".")[0]
            read = read_rows(store.objects, path, rows, [top]).combine_chunks()
            found[column.name] = leaf_of(read.to_batches()[0], column.leaf)
        texts = text_of([column.name for column in columns], found)
        if edits is not None:
            texts = edits.apply(texts, found).texts
        yield from zip((sample.hex() for sample in ids), texts.to_pylist(), strict=True)


def _rows_with(store: Store, path: str, wanted: pa.Array) -> list[int]:
    rows: list[int] = []
    at = 0
    for batch in read_batches(store.objects, path, ["id"]):
        marks = pc.is_in(batch["id"], value_set=wanted)
        rows += [at + row for row in pc.indices_nonzero(marks).to_pylist()]
        at += batch.num_rows
    return rows


def _text_columns(opened: Opened) -> list[Column]:
    """The recipe's texts, as far as they are there."""
    assert opened.recipe is not None  # without a recipe there are no labels
    named = (opened.tables.column(name) for name in opened.recipe.config.text if name in opened.tables.columns)
    return list(named) or [Column(layout.SAMPLES, "text")]


def _edits(opened: Opened) -> Edits:
    """Those of the recipe, as an export applies them; a text for which one is not measured is left out."""
    assert opened.recipe is not None  # without a recipe there are no labels
    try:
        return edits_as_exported(opened.recipe, opened.store, opened.generation)
    except RecipeError as error:
        raise UnavailableError(str(error).splitlines()[0]) from None


def _require_id(sample: object) -> str:
    if not isinstance(sample, str) or len(sample) != ID_DIGITS or not set(sample) <= set("0123456789abcdef"):
        raise AskedError(f"id: expected {ID_DIGITS} hexadecimal digits")
    return sample


def _line(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _write(path: Path, lines: Iterator[str]) -> None:
    try:
        with whole_file(path) as unfinished, unfinished.open("w", encoding="utf-8") as stream:
            stream.writelines(lines)
    except OSError as error:
        raise WinnowError(f"{path}: cannot be written: {error.strerror}") from None
