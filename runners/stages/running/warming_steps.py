"""The steps that compile kernels ahead: small recipes that between them call what usual recipes call.

Each step that has ended leaves a mark beside the machine code, which names the files of kernels that it called, with
the hash of their sources. So only steps are run again whose kernels have changed, and a killed command goes on where it
was. A recipe's command runs only the steps that call what the recipe names.
"""

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.schemas.errors import WinnowError
from winnow.schemas.kernel_sources import imports_digest, sources_of
from winnow.schemas.kernels import source_key

if TYPE_CHECKING:
    from winnow.schemas.recipe import Recipe

PARTS = ("stages", "extraction and media", "operators/0", "operators/1")
"""What is compiled side by side, in about equal parts; of the operators every other step."""

_PICTURES_FOLDER = "pictures"
_TOKENIZER = "tokenizer.json"
_OPERATORS_A_STEP = 2  # some 400 MiB

_STAGES = """\
version: 1
store: {path: store, seed: 1, shard_rows: 32}
sources: {texts: {root: texts, files: ["*.jsonl"], class: web, key: id}}
annotate: [text.language, text.length, {text.gopher: {preset: gopher@datatrove}}, {text.pii: {kinds: [email, ip]}}]
dedupe:
  {exact: {}, url: {}, near: {preset: fineweb, min_similarity: 0.75}, representative: [source, longest],
   guard: {max_unequal: 1}}
score:
  mimic: {task: next_byte, buckets: 256, reference: {train_on: "samples.source.record < '5'"}}
  head:
    {task: linear_head, label: samples.metadata, label_key: kind, labels: [even, odd],
     reference: {train_on: "samples.source.record < '5'"}}
keep: [{preset: gopher@datatrove}]
edits: [{text.pii: {replace: placeholder}}]
mix:
  {unit: tokens, tokenizer: bytes, budget: 20_000, languages: {temperature: 3.3}, split: {validation: 0.05},
   bands: {by: dedupe.near.size, rehydrate: fineweb2, nulls: keep}}
export: [{parquet: {path: out/hf}}, {webdataset: {path: out/wds}}, {megatron: {path: out/ids, end_token: 256}}]
"""
_OPERATORS = """\
version: 1
store: {path: store, seed: 1}
sources:
  texts: {root: texts, files: ["*.jsonl"], class: web, key: id}
  pages: {root: texts, files: ["*.html", "*.png", "*.webm"], class: web}
"""
_MAIN = """\
version: 1
store: {path: extracted, seed: 1}
sources: {pages: {root: texts, files: ["*.html"], class: web}}
extract: {main: {}}
text: extract.main.text
"""
_COPIES = """\
version: 1
store: {path: copies, seed: 1}
sources: {films: {root: texts, files: ["*.webm"], class: web}}
annotate: [video.vpdq]
dedupe: {vpdq: {}}
"""
_PICTURES = """\
version: 1
store: {path: seen, seed: 1}
known_harm: {own: {path: hashes.txt, kind: pdq}}
sources: {pictures: {root: pictures, files: ["*.jpg"], class: web}}
"""
_HASHES_OF_PICTURES = "annotate: [image.pdq, {image.contamination: {list: hashes.txt}}]\ndedupe: {pdq: {}}\n"
_VECTORS_OF_PICTURES = "annotate: [image.embedding]\ndedupe: {embedding: {min_similarity: 0.5}}\n"
_VECTORS_OF_TEXTS = """\
version: 1
store: {path: meanings, seed: 1}
sources: {texts: {root: texts, files: ["*.jsonl"], class: web, key: id}}
annotate: [{text.embedding: {languages: [any]}}]
dedupe: {semantic: {min_similarity: 0.5}}
"""
_HASHES = f"{'0' * 63}1\n"  # of PDQ, each of which has half of its bits: near none
_PICTURE = (  # a white square, as PNG
    "89504e470d0a1a0a0000000d4948445200000010000000100802000000909168360000001a4944415478da63fcffff3f03298089814430aa61"
    "54c3d0d10000556d031df787d4620000000049454e44ae426082"
)


_HOUSE = Path(__file__).resolve().parents[3]
_ROOMS = ("filters", "scoring", "pipelines")
COMMAND_LINE = "winnow.runners.commands.main"  # imported by its name where it is run: stages know no commands
_KERNEL = re.compile(rb"^\s*@(?:kernel|arithmetic|leaf)\b", re.MULTILINE)
_OPERATOR = re.compile(r"[a-z]+\.\w+")
_ALL = "*"  # stands for which files have kernels

_SETTINGS = (  # of operators some of whose kernels run only with them
    "{url.blocklist: {list: sites.txt}}",
    "{text.madlad: {language_model: lid.176, cursed: cursed.txt}}",
    "{text.perplexity: {model: bigrams.arpa}}",
    "{text.contamination: {min_item_words: 2, sets: {cursed: {file: cursed.txt}}}}",
    *(f"{{text.gopher: {{style: {style}}}}}" for style in ("paper", "dolma", "dolma_v1")),
    "{text.c4: {require_end_mark: false}}",
)
_CURSED = "lorem ipsum\n"
_SITES = "site1.example\n10.0.0.1\nsite2.example/2/1\nword:none\nsoft:tel\nsoft:list\npart:nowhere\n"
_BIGRAMS = """\
\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.0\t<unk>\t0
-99.0\t<s>\t-0.3
-0.7\tthe\t-0.2
-0.5\t</s>

\\2-grams:
-0.4\t<s> the
-0.6\tthe </s>

\\end\\
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a part, on a recipe; or on those of some operators that run with what is here."""

    recipe: str
    command: str = "run"
    operators: tuple[str, ...] = ()
    needs: str = ""  # a file, without which it cannot run
    serves: tuple[str, ...] = ()  # what a recipe names that needs it; all recipes do where this is empty
    whole: "Step | None" = None  # the step for all recipes, of whose operators this one has those that a recipe names

    def is_for(self, named: frozenset[str] | None) -> bool:
        """Whether a recipe that names these operators, extractors and kinds of duplicates needs it; None for all."""
        return named is None or not self.serves or not named.isdisjoint(self.serves)

    def of(self, named: frozenset[str] | None) -> "Step":
        """It with those of its operators that a recipe names."""
        found = tuple(entry for entry in self.operators if named is None or _operator(entry) in named)
        return self if found == self.operators else replace(self, operators=found, whole=self)

    @property
    def mark(self) -> str:
        """The name of its mark."""
        what = repr((self.recipe, self.command, self.operators)).encode()
        return f"{blake2b(what, digest_size=12).hexdigest()}.step"

    def run(self) -> None:
        """Run the command in the working folder, or what of it runs with what is here."""
        if self.needs and not list(Path().glob(self.needs)):
            return
        recipe = self.recipe
        if Path(_TOKENIZER).exists():
            recipe = recipe.replace("tokenizer: bytes", f"tokenizer: {_TOKENIZER}")
        found = [entry for entry in self.operators if _runs(entry)]
        if self.operators:
            if not found:
                return
            recipe += _annotating(*found)
        elif not _is_ready(recipe):
            return
        Path("recipe.yaml").write_text(recipe)
        if import_module(COMMAND_LINE).main([self.command, "recipe.yaml", "--workers", "1"]):
            raise WinnowError(f"the step of {', '.join(found) or self.command} failed")


@dataclass(frozen=True, slots=True)
class KernelFiles:
    """The files of kernels as they are now: how many each has, and where their machine code is kept."""

    folder: Path
    kernels: Mapping[str, int]  # by path inside of the house

    @classmethod
    def below(cls, folder: Path) -> "KernelFiles":
        """Those whose machine code is kept below a folder."""
        sources = (one for room in _ROOMS for one in (_HOUSE / room).rglob("*.py"))
        found = {str(one.relative_to(_HOUSE)): len(_KERNEL.findall(one.read_bytes())) for one in sources}
        return cls(folder, {path: count for path, count in sorted(found.items()) if count})

    def compiled(self, path: str) -> int:
        """How many kernels of a file are compiled."""
        return sum(1 for _ in (self.folder / source_key(_HOUSE / path)).glob("*.nbi"))

    def missing(self, paths: Iterable[str]) -> int:
        """How many kernels of these files are not compiled."""
        return sum(max(self.kernels[path] - self.compiled(path), 0) for path in paths)

    def marked(self, step: Step) -> Mapping[str, str] | None:
        """What the mark of a step says: the files whose kernels it called, with hashes of their sources."""
        try:
            found = json.loads((self.folder / step.mark).read_bytes())
        except (OSError, ValueError):
            return self.marked(step.whole) if step.whole else None
        return found if isinstance(found, dict) else None

    def is_due(self, step: Step) -> bool:
        """Whether a step calls what has changed since it ran, or has not run."""
        marked = self.marked(step)
        return marked is None or any(self._key(path) != key for path, key in marked.items())

    def mark(self, step: Step, called: Iterable[str]) -> None:
        """Mark a step as done."""
        marked = {path: self._key(path) for path in (*sorted(called), *_own_files(step))}
        unfinished = self.folder / f".{step.mark}.{os.getpid()}"
        unfinished.write_text(json.dumps(marked))
        unfinished.replace(self.folder / step.mark)

    def called_by(self, steps: Iterable[Step]) -> set[str]:
        """The files of kernels that steps call: all of them where that is not known."""
        found: set[str] = set()
        for step in steps:
            if (marked := self.marked(step)) is None:
                return {*self.kernels}
            found.update(marked)
        return found & self.kernels.keys()

    def _key(self, path: str) -> str:
        if path == _ALL:  # a new file of kernels may be called by any stage
            return blake2b("".join(self.kernels).encode(), digest_size=12).hexdigest()
        file = _HOUSE / path
        if path in self.kernels or not file.is_file():
            return source_key(file) if file.is_file() else ""
        reached = sorted(self.kernels.keys() & {str(one.relative_to(_HOUSE)) for one in sources_of(file)})
        return blake2b(imports_digest(file) + "".join(reached).encode(), digest_size=12).hexdigest()


def due_steps(steps: Sequence[Step], files: KernelFiles) -> list[Step]:
    """The steps that are to run, with those before them on the same store."""
    due: list[Step] = []
    for step in reversed(steps):
        goes_on = bool(due) and not step.operators and due[-1].recipe == step.recipe
        if goes_on or files.is_due(step):
            due.append(step)
    return due[::-1]


def run_step(step: Step, files: KernelFiles) -> int:
    """Run a step in a process forked from this one, which has imported what it needs and compiled nothing."""

    def run() -> None:
        step.run()
        files.mark(step, called_kernels() & files.kernels.keys())

    return forked(run)


def forked(work: Callable[[], None]) -> int:
    """The status of a process forked from this one to do some work; this one must have no threads."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1]
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001 – whatever it is, it is written where errors are told from
        traceback.print_exc()
    finally:
        os._exit(status)  # nothing of the process that forked may end twice


def called_kernels() -> set[str]:
    """The files whose kernels this process has called."""
    from numba.core.dispatcher import Dispatcher

    found = set()
    for name, module in list(sys.modules.items()):
        if name.startswith("winnow."):
            for one in list(vars(module).values()):
                if isinstance(one, Dispatcher) and one.signatures:
                    found.add(Path(one.py_func.__code__.co_filename).resolve())
    return {str(path.relative_to(_HOUSE)) for path in found if path.is_relative_to(_HOUSE)}


def _own_files(step: Step) -> list[str]:
    """Files that may come to call other kernels: the operators of a step, or whichever files of kernels there are."""
    if not step.operators:
        return [_ALL]
    modules = [f"filters/{name.replace('.', '/')}" for name in dict.fromkeys(map(_operator, step.operators))]
    return [file for one in modules for file in (f"{one}.py", f"{one}/__init__.py") if (_HOUSE / file).is_file()]


def steps_of(part: str, named: frozenset[str] | None = None) -> list[Step]:
    """The steps of a part, for recipes that name these operators, extractors and kinds of duplicates; None for all."""
    if part == PARTS[0]:
        steps = [Step(_STAGES, command) for command in ("ingest", "annotate", "run")]
    else:
        steps = _media_steps() if part == PARTS[1] else _operator_steps()[int(part[-1]) :: 2]
    return [step.of(named) for step in steps if step.is_for(named)]


def named_in(recipe: "Recipe") -> frozenset[str]:
    """What a recipe names that steps are for: operators, extractors and kinds of duplicates."""
    from winnow.pipelines.binding.duplicates import asked_kinds
    from winnow.pipelines.binding.operators import measurements

    measured = {one.operator.name for one in measurements(recipe)}
    extracted = {f"extract.{one.name}" for one in recipe.extract}
    return frozenset(measured | extracted | {f"dedupe.{one.kind.name}" for one in asked_kinds(recipe)})


def write_inputs() -> None:
    """Write what the steps read into the working folder."""
    _write_texts()
    _write_films()
    _write_pictures()
    _write_tokenizer()
    Path("sites.txt").write_text(_SITES)
    Path("bigrams.arpa").write_text(_BIGRAMS)
    Path("cursed.txt").write_text(_CURSED)


def _operator_steps() -> list[Step]:
    """Steps through winnow's own operators."""
    from winnow.filters.operators import operator_names

    extra = [entry.replace(": {", f": {{as: text.extra{number}, ", 1) for number, entry in enumerate(_SETTINGS)]
    entries = tuple(dict.fromkeys(["text.language", *operator_names(), *extra]))
    pairs = (entries[start : start + _OPERATORS_A_STEP] for start in range(0, len(entries), _OPERATORS_A_STEP))
    return [Step(_OPERATORS, operators=pair, serves=tuple(map(_operator, pair))) for pair in pairs]


def _operator(entry: str) -> str:
    """The operator that an entry of `annotate` names."""
    found = _OPERATOR.search(entry)
    assert found is not None
    return found[0]


def _media_steps() -> list[Step]:
    """Steps through main content, and through what is alike in pictures, videos and meanings."""
    some = f"{_PICTURES_FOLDER}/*"
    of_pictures, of_texts = ("image.embedding", "dedupe.embedding"), ("text.embedding", "dedupe.semantic")
    pictures = Step(_PICTURES + _VECTORS_OF_PICTURES, needs=some, serves=of_pictures)
    vectors = [pictures, Step(_VECTORS_OF_TEXTS, serves=of_texts)] if find_spec("faiss") else []
    return [
        Step(_MAIN, "ingest", serves=("extract.main",)),
        Step(_COPIES, needs="texts/*.webm", serves=("video.vpdq", "dedupe.vpdq")),
        Step(_PICTURES + _HASHES_OF_PICTURES, needs=some, serves=("image.pdq", "image.contamination", "dedupe.pdq")),
        *vectors,
    ]


def _write_texts() -> None:
    """Texts in many scripts, with all that operators look for; some of them twice, or nearly."""
    from winnow.runners.demo.texts import declarations

    more = "\n\nanna@postamt.se, 8.8.8.8, see http://example.org/a?b=1. Tel. +49 30 123456\n"
    more += "So they say [citation needed].\n- a list\n- of two\n"
    rows = []
    for number, one in enumerate(declarations().values()):
        page = one.pages[0].body + more
        near = [page[: int(len(page) * share)] for share in (0.92, 0.86, 0.8, 0.76)]  # alike, and near the threshold
        for place, text in enumerate((page, page, *near, *(other.body + more for other in one.pages[1:3]))):
            url = f"http://www.site{number % 7}.example/{number}/{place % 3}"
            rows.append({"id": f"{number}/{place}", "text": text, "url": url, "kind": ("even", "odd")[number % 2]})
    rows.append({"id": "odd", "text": more, "url": "http://bücher.example/wörter"})
    Path("texts").mkdir()
    Path("texts/rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("texts/page.html").write_text("<!DOCTYPE html><title>A page</title><p>Its text.")
    Path("texts/square.png").write_bytes(bytes.fromhex(_PICTURE))


def _write_films() -> None:
    """A film of two shots and a smaller copy of it; none where nothing here can make or read them."""
    from winnow.runners.demo.films.filming import Film, Shot, encoded

    shots = (Shot("lake", "a lake", seconds=2), Shot("sea", "a sea", seconds=2, faded=True))
    try:
        films = [encoded(Film(shots, "vp9", "webm", half_size=half)) for half in (False, True)]
    except WinnowError:
        return
    for number, film in enumerate(films):
        Path(f"texts/film{number}.webm").write_bytes(film)


def _write_pictures() -> None:
    """A picture and a smaller copy of it; none where nothing here can make or read them."""
    from winnow.runners.demo.photos.drawing import halved, jpeg, landscape

    scene = landscape("lake", "a lake")
    try:
        pictures = [jpeg(scene), jpeg(halved(scene))]
    except WinnowError:
        return
    Path(_PICTURES_FOLDER).mkdir()
    for number, picture in enumerate(pictures):
        Path(f"{_PICTURES_FOLDER}/{number}.jpg").write_bytes(picture)
    Path("hashes.txt").write_text(_HASHES)


def _write_tokenizer() -> None:
    """A tokenizer whose tokens are bytes, which works word by word as large ones do; none without its package."""
    from winnow.filters.extras import required_package

    try:
        package = required_package("a tokenizer.json", "tokenizers", "tokens")
    except WinnowError:
        return
    bytewise = package.pre_tokenizers.ByteLevel
    vocabulary = {letter: number for number, letter in enumerate(sorted(bytewise.alphabet()))}
    tokenizer = package.Tokenizer(package.models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = bytewise(add_prefix_space=False)
    tokenizer.save(_TOKENIZER)


def _annotating(*entries: str) -> str:
    return f"annotate: [{', '.join(dict.fromkeys(['text.language', *entries]))}]\n"


def _runs(entry: str) -> bool:
    """Whether an operator runs with what is here of packages and assets."""
    return _is_ready(_OPERATORS + _annotating(entry))


def _is_ready(recipe: str) -> bool:
    """Whether the operators of a recipe run with what is here."""
    from winnow.pipelines.binding.bound_recipe import bind
    from winnow.pipelines.preflight.check import AskedOperators, preflight
    from winnow.schemas.recipe import load_recipe

    Path("one.yaml").write_text(recipe)
    try:
        one = bind(load_recipe("one.yaml"))
        preflight(AskedOperators(recipe=one, operators=(), untried=one.operators))
    except WinnowError:
        return False
    return True
