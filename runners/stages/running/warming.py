"""Compiling kernels before they are needed: once per machine and version, announced, and never in the middle of a run.

A kernel is compiled when it is first called, some 200 seconds of a core for all of them. Three processes at a time run
a few dozen texts through what a recipe may ask for: two through operators that need nothing but their settings, one
through deduplication, scores, a mixture and its exports. Neither a compiler nor a model gives its memory back, so each
step has a process that is forked from one that has imported everything. What they compile is kept for every process
after them (`winnow.schemas.kernels`). `winnow assets fetch` does this ahead; commands that run pipelines do it
where it is due.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.runners.terminal.console import TerminalConsole, is_drawn_on
from winnow.runners.terminal.progress.status import Status
from winnow.runners.terminal.progress.status_line import StatusLine
from winnow.schemas.errors import WinnowError
from winnow.schemas.kernels import all_kernels_key, kernel_folder, source_key
from winnow.schemas.problems import one_line

WARMING_VARIABLE = "WINNOW_WARMING"
"""Set in the processes that compile, and by people who want no compiling ahead."""

Warmed = Literal["already", "done", "partly"]
"""Whether all kernels were there, all are compiled now, or some could not be compiled ahead."""

_PARTS = ("stages", "operators/0", "operators/1")  # every other step through operators
_ERRORS = "errors.txt"
_PICTURES_FOLDER = "pictures"
_TOKENIZER = "tokenizer.json"
_OPERATORS_A_STEP = 2  # some 400 MiB
_IMPORTS = (  # of every step; none starts a thread
    "apache_beam.runners.portability.fn_api_runner",
    "duckdb",
    "numba",
    "pyarrow.parquet",
    "winnow.filters.text.language",
    "winnow.runners.commands.core.run",
    "winnow.runners.commands.main",
    "winnow.runners.stages.recipe_run",
)
_THIS = "winnow.runners.stages.running.warming"  # also where this file is run as `__main__`

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
_HASHES = f"{'0' * 63}1\n"  # of PDQ, each of which has half of its bits: near none
_PICTURE = (  # a white square, as PNG
    "89504e470d0a1a0a0000000d4948445200000010000000100802000000909168360000001a4944415478da63fcffff3f03298089814430aa61"
    "54c3d0d10000556d031df787d4620000000049454e44ae426082"
)


_HOUSE = Path(__file__).resolve().parents[3]
_ROOMS = ("filters", "scoring", "pipelines")
_KERNEL = re.compile(rb"^\s*@(?:kernel|arithmetic|leaf)\b", re.MULTILINE)

_SETTINGS = (  # of operators some of whose kernels run only with them
    "{url.blocklist: {list: sites.txt}}",
    "{text.madlad: {language_model: lid.176, cursed: cursed.txt}}",
    "{text.perplexity: {model: bigrams.arpa}}",
)
_CURSED = "lorem ipsum\n"
_SITES = "site1.example\n10.0.0.1\nsite2.example/2/1\n"
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
class KernelCount:
    """How many kernels the sources have as they are now, and where the machine code of each file is kept."""

    kernels: int
    folders: tuple[Path, ...]

    @classmethod
    def below(cls, kept: Path) -> "KernelCount":
        """Count the kernels whose machine code is kept below a folder."""
        sources = (one for room in _ROOMS for one in (_HOUSE / room).rglob("*.py"))
        found = {one: len(_KERNEL.findall(one.read_bytes())) for one in sources}
        return cls(sum(found.values()), tuple(kept / source_key(one) for one, count in found.items() if count))

    def compiled(self) -> int:
        """How many are compiled by now."""
        return sum(1 for folder in self.folders for _ in folder.glob("*.nbi"))


def warm_kernels(*, quiet: bool = False) -> Warmed:
    """Compile what is not compiled yet, and say so on stderr; nothing is done where it cannot be kept.

    A failure is no error: what could not be compiled ahead is compiled when it is called.
    """
    folder = kernel_folder()
    if folder is None or os.environ.get(WARMING_VARIABLE):
        return "already"
    mark = folder / f"{all_kernels_key()}.warm"
    if mark.exists():
        return "already"
    console = TerminalConsole(stderr=True, quiet=quiet)
    kernels, began = KernelCount.below(folder), time.monotonic()
    before = kernels.compiled()
    whole = max(kernels.kernels - before, 1)

    def status() -> Status:
        done = kernels.compiled() - before
        facts = (f"compiling for this machine, once: {done} of at most {whole}",)
        return Status("kernels", facts, min(done / whole, 0.99))  # those of missing extras are never compiled

    if not is_drawn_on(console):
        console.print(status().line(), soft_wrap=True)
    with temporary_folder("kernels") as scratch, StatusLine(console, status(), status):
        reasons = [_last_line(folder) for folder in _failed(Path(scratch))]
    mark.touch()  # also after a failure: trying again in each run would cost more than compiling what is called
    console.print(
        f"kernels  {kernels.compiled() - before} compiled in {time.monotonic() - began:.0f} s, kept in {folder}",
        markup=False,
        soft_wrap=True,
    )
    for reason in reasons:
        what = f"kernels  not all could be compiled ahead; the rest is compiled when it is called: {reason}"
        console.print(what, markup=False, soft_wrap=True)
    return "partly" if reasons else "done"


def _failed(scratch: Path) -> list[Path]:
    """Compile everything; returns the folders of the parts in which something failed."""
    for part in _PARTS:
        (scratch / part).mkdir(parents=True)
    running: dict[str, subprocess.Popen[bytes]] = {}
    failed = []
    try:
        for part in _PARTS:
            running[part] = _process(part, scratch / part)
        while running:
            for part, process in list(running.items()):
                try:
                    status = process.wait(timeout=0.1)
                except subprocess.TimeoutExpired:
                    continue
                del running[part]
                if status:
                    failed.append(scratch / part)
    finally:
        for process in running.values():  # interrupted: none may go on compiling, and writing to a folder that goes
            _end(process)
    return failed


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a part and the steps forked from it, however long a kernel keeps them from listening."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _process(part: str, folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / _ERRORS).open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", _THIS, part],
            cwd=folder,
            env={**os.environ, WARMING_VARIABLE: "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            process_group=0,  # with the processes forked from it
        )


def _last_line(folder: Path) -> str:
    """What a process said last before it failed."""
    lines = (folder / _ERRORS).read_text("utf-8", "replace").splitlines()
    return one_line(next((line for line in reversed(lines) if line.strip()), "no reason given"))


def _write_texts() -> None:
    """Texts in many scripts, with all that operators look for; some of them twice, or nearly."""
    from winnow.runners.demo.texts import declarations

    more = "\n\nanna@postamt.se, 8.8.8.8, see http://example.org/a?b=1. Tel. +49 30 123456\n- a list\n- of two\n"
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


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a part, on a recipe; or on those of some operators that run with what is here."""

    recipe: str
    command: str = "run"
    operators: tuple[str, ...] = ()

    def run(self) -> int:
        """Run the command in the working folder; returns its status."""
        from winnow.runners.commands.main import main as winnow

        recipe = self.recipe
        if self.operators:
            if not (found := [entry for entry in self.operators if _runs(entry)]):
                return 0
            recipe += _annotating(*found)
        Path("recipe.yaml").write_text(recipe)
        return winnow([self.command, "recipe.yaml", "--workers", "1"])


def _annotating(*entries: str) -> str:
    return f"annotate: [{', '.join(dict.fromkeys(['text.language', *entries]))}]\n"


def _runs(entry: str) -> bool:
    """Whether an operator runs with what is here of packages and assets."""
    return _is_ready(_OPERATORS + _annotating(entry))


def _is_ready(recipe: str) -> bool:
    """Whether the operators of a recipe run with what is here."""
    from winnow.pipelines.binding.bound_recipe import bind
    from winnow.pipelines.binding.operators import check_operators
    from winnow.schemas.recipe import load_recipe

    Path("one.yaml").write_text(recipe)
    try:
        check_operators(bind(load_recipe("one.yaml")).operators)
    except WinnowError:
        return False
    return True


def _operator_steps() -> list[Step]:
    """Steps through winnow's own operators."""
    from winnow.filters.operators import operator_names

    Path("sites.txt").write_text(_SITES)
    Path("bigrams.arpa").write_text(_BIGRAMS)
    Path("cursed.txt").write_text(_CURSED)
    extra = [entry.replace(": {", f": {{as: text.extra{number}, ", 1) for number, entry in enumerate(_SETTINGS)]
    entries = tuple(dict.fromkeys(["text.language", *operator_names(), *extra]))
    return [
        Step(_OPERATORS, operators=entries[start : start + _OPERATORS_A_STEP])
        for start in range(0, len(entries), _OPERATORS_A_STEP)
    ]


def _stage_steps() -> list[Step]:
    """Steps through all stages."""
    _write_pictures()
    _write_tokenizer()
    stages = _STAGES
    if Path(_TOKENIZER).exists():
        stages = stages.replace("tokenizer: bytes", f"tokenizer: {_TOKENIZER}")
    films = [Step(_COPIES)] if list(Path("texts").glob("*.webm")) else []
    pictures = []
    if Path(_PICTURES_FOLDER).exists():
        recipes = [_PICTURES + _HASHES_OF_PICTURES]
        recipes += [_PICTURES + _VECTORS_OF_PICTURES] if find_spec("faiss") else []
        pictures = [Step(recipe) for recipe in recipes if _is_ready(recipe)]
    return [Step(stages, "ingest"), Step(stages, "annotate"), Step(stages), *films, *pictures]


def main(part: str) -> int:
    """Run the steps of one part in the working folder."""
    _write_texts()
    _write_films()
    steps = _stage_steps() if part == "stages" else _operator_steps()[int(part[-1]) :: 2]
    for module in _IMPORTS:
        import_module(module)
    return int(sum(_status_of(step) for step in steps) > 0)


def _status_of(step: Step) -> int:
    """Run a step in a process forked from this one, which has imported what it needs and compiled nothing."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1]
    status = 1
    try:
        status = step.run()
    except BaseException:  # noqa: BLE001 – whatever it is, it is written where errors are told from
        traceback.print_exc()
    finally:
        os._exit(status)  # nothing of the process that forked may end twice


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit(main(sys.argv[1]))
    sys.exit(warm_kernels() == "partly")
