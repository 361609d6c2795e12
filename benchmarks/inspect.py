"""Use the page of `winnow inspect` on ten million rows: how long each step takes, and the server's memory.

    python -m benchmarks.inspect [--quick] [--json] [--shards [NUMBER] | --pictures]

A store of 10 M samples with texts in 153 shards of 65 536 rows, real objects, commits and manifests: languages with
their scores, lengths, tokens, 100,000 sites. The server is the command in a process of its own, asked as the page asks
it. Wanted: the first view within 2 s of the first request; a step of the rules' simulator (another threshold, never
asked before), and one of the linked charts (another choice, never made before), within 300 ms; a page of samples within
200 ms; at most 1 GiB of memory in all of that. Steps are medians of eleven
(`--quick`: five), after the rows have been decided, whose time is shown. `--pictures`: a page of fifty pictures of a
grid, never asked for before, within 1 s, of 20,000 photographs of 640 pixels in files of their own, over six
connections as browsers have. `--shards`: a store of 100,000 shards of four rows (`--quick`: 4,000), on which nothing
may take longer because of its shards but deciding: the first view, those that list shards, and the same steps.
"""

import http.client
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from benchmarks.inputs.made_stores import cached_store, made_samples
from benchmarks.inputs.pages import CACHE
from benchmarks.inputs.photographs import cached_photographs
from benchmarks.measuring.reporting import GIB, REPOSITORY, Limit, benchmark_arguments, judged, peak_resident
from benchmarks.mix import made_languages, made_tokens
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.store import layout
from winnow.schemas.recipe import Recipe, recipe_from_text

ROWS = 10_000_000
STEPS, QUICK_STEPS = 11, 5
SHARDS, QUICK_SHARDS, TINY_ROWS = 100_000, 4_000, 4
DECIDED_MS = 8.0  # a shard, of the time until all rows are decided, while which the page shows how far that is
OF_SHARDS = (("store", 20.0), ("shards", 20.0), ("quarantine", 20.0), ("words", 2.0))  # views, with seconds
PHOTOGRAPHS, COPIES = 2_000, 10
CELLS, CONNECTIONS = 50, 6  # of a page of a grid; that a browser has to a server at once
SITES = 100_000
WORDS = 5_000

RECIPE = """
version: 1
store: {{path: {store}}}
sources:
  crawl: {{root: {root}, files: ["*.warc.gz"], class: web}}
text: samples.text
annotate: [text.language, text.length]
keep:
  - {{drop: "text.language.score < 0.5", reason: language, when_null: drop}}
  - {{drop: text.length.characters < 120, reason: short, when_null: drop}}
mix: {{unit: tokens, tokenizer: bytes}}
"""


@dataclass
class Page:
    """The page's side: it asks as a browser does, over one connection."""

    port: int
    token: str
    process: int
    _connection: http.client.HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def get(self, path: str) -> bytes:
        """A file, or a picture."""
        self._connection.request("GET", path, headers=self._headers)
        return self._read(path)

    def ask(self, view: str, **asked: Any) -> Any:
        """What a view answers."""
        body, headers = orjson.dumps(asked), {**self._headers, "Content-Type": "application/json"}
        self._connection.request("POST", f"/api/{view}", body, headers)
        said = orjson.loads(self._read(view))
        if not said["ok"]:
            raise SystemExit(f"{view}: {said['why']}")
        return said["answer"]

    def _read(self, what: str) -> bytes:
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status >= 400:
            raise SystemExit(f"{what}: {answer.status} {body[:200]!r}")
        return body

    @property
    def _headers(self) -> dict[str, str]:
        return {"Cookie": f"winnow-{self.port}={self.token}", "Accept-Encoding": "gzip"}


def main() -> int:
    """Measure and print."""
    parser = benchmark_arguments(str(__doc__))
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--shards",
        type=int,
        nargs="?",
        const=SHARDS,
        metavar="NUMBER",
        help=f"open a store of {SHARDS:,} shards instead",
    )
    instead.add_argument("--pictures", action="store_true", help="turn over a grid of pictures instead")
    options = parser.parse_args()
    if options.pictures:
        return judged("inspect.pictures", _pictures(QUICK_STEPS if options.quick else STEPS), options.json)
    makers = {
        layout.SAMPLES: _samples,
        "text.language": made_languages,
        "text.length": _lengths,
        TOKENS_LAYER: made_tokens,
    }
    if options.shards:
        shards = QUICK_SHARDS if options.quick and options.shards == SHARDS else options.shards
        folder = cached_store("inspect-shards", TINY_ROWS * shards, _recipe, makers, TINY_ROWS)
        with inspecting(_written(folder)) as page:
            limits = []
            for limit in _of_shards(page, shards, QUICK_STEPS if options.quick else STEPS):
                limits.append(limit)
                print(f"{limit.what}: {limit.value:.3f} {limit.unit}", flush=True)
            limits.append(Limit("server's memory", peak_resident(page.process) / GIB, 1, "GiB"))
        return judged("inspect.shards", limits, options.json)
    folder = cached_store("inspect", ROWS, _recipe, makers)
    with inspecting(_written(folder)) as page:
        limits = []
        for limit in _steps(page, QUICK_STEPS if options.quick else STEPS):
            limits.append(limit)
            print(f"{limit.what}: {limit.value:.3f} {limit.unit}", flush=True)
        limits.append(Limit("server's memory", peak_resident(page.process) / GIB, 1, "GiB"))
    return judged("inspect", limits, options.json)


def _pictures(steps: int) -> list[Limit]:
    """Pages of a grid, whose cells are asked for at once."""
    with inspecting(_photographs()) as page:
        page.ask("rules")  # the rows are decided
        seconds = [_seconds(_grid_page, page, number) for number in range(steps + 1)]
        print(f"first page, which starts the decoder: {seconds[0]:.3f} s")
        return [
            _step(f"page of {CELLS} pictures", 1, seconds[1:]),
            Limit("server's memory", peak_resident(page.process) / GIB, 1, "GiB"),
        ]


def _grid_page(page: Page, number: int) -> None:
    rows = page.ask("samples", pictures=True, size=CELLS, page=number)["rows"]
    assert len(rows) == CELLS
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(lambda some: _cells(page, some), [rows[at::CONNECTIONS] for at in range(CONNECTIONS)]))


def _cells(page: Page, rows: Sequence[Mapping[str, Any]]) -> None:
    connection = replace(page)  # one of its own
    for row in rows:
        assert connection.get(f"/picture/{row['id']}/0?size=160&row={row['row']}")[:2] == b"\xff\xd8"


def _photographs() -> Path:
    """The recipe of a store of photographs, each of them under ten names."""
    folder = (CACHE / f"inspect-pictures-{PHOTOGRAPHS}").absolute()
    recipe = folder / "recipe.yaml"
    if not recipe.exists():
        (folder / "photographs").mkdir(parents=True, exist_ok=True)
        for file in sorted(cached_photographs(PHOTOGRAPHS).glob("*.jpg")):
            for copy in range(COPIES):
                (folder / "photographs" / f"{copy}-{file.name}").hardlink_to(file)
        (folder / "new.yaml").write_text(
            f"version: 1\nstore: {{path: {folder}/store}}\nsources:\n  photographs: {{root: {folder}/photographs, "
            'files: ["*.jpg"], format: image_folder, class: public}\n'
            "annotate: [image.geometry]\n"
            "keep: [{drop: list_max(image.geometry.width) < 300, reason: small, when_null: drop}]\n"
        )
        subprocess.run([sys.executable, "-m", "winnow", "run", str(folder / "new.yaml"), "--quiet"], check=True)
        (folder / "new.yaml").rename(recipe)
    return recipe


def _steps(page: Page, steps: int) -> Iterator[Limit]:
    yield Limit("first view", _seconds(page.ask, "store"), 2, "s")
    began = time.perf_counter()
    page.ask("rules")
    print(f"{ROWS:,} rows decided in {time.perf_counter() - began:.1f} s")
    yield from _moves(page, steps)


def _of_shards(page: Page, shards: int, steps: int) -> Iterator[Limit]:
    for view, most in OF_SHARDS:
        yield Limit(f"{view} of {shards:,} shards", _seconds(page.ask, view), most, "s")
    began = time.perf_counter()
    while (progress := page.ask("store")["progress"]["frame"])["done"] < progress["of"]:
        time.sleep(1)
    yield Limit("rows decided", 1e3 * (time.perf_counter() - began) / shards, DECIDED_MS, "ms a shard")
    yield from _moves(page, steps)


def _moves(page: Page, steps: int) -> Iterator[Limit]:
    rule = next(one for one in page.ask("rules")["rules"] if one["reason"] == "short")
    languages = [one["code"] for one in page.ask("store")["languages"]] or ["eng_Latn", "deu_Latn", "fra_Latn"]
    changes = [
        [{"reason": "short", "cut": rule["cuts"][0]["id"], "value": 130 + 3 * step}] for step in range(steps + 1)
    ]
    yield Limit("first threshold step", _seconds(page.ask, "simulate", changes=changes.pop()), 10, "s")
    for value in range(131, 141):  # rows are sorted by the column meanwhile
        page.ask("simulate", changes=[{"reason": "short", "cut": rule["cuts"][0]["id"], "value": value}])
    yield _step("simulator", 0.3, [_seconds(page.ask, "simulate", changes=one) for one in changes])
    dimensions: list[dict[str, str | int]] = [{"column": name} for name in ("source", "language", "reason", "domain")]
    dimensions += [{"column": name, "bins": 40} for name in ("text.language.score", "text.length.characters")]
    page.ask("linked", dimensions=dimensions, filters={})  # the same
    chosen = [
        {"language": [languages[step % len(languages)]], "text.length.characters": [100 + step, 900]}
        for step in range(steps)
    ]
    yield _step(
        "linked charts", 0.3, [_seconds(page.ask, "linked", dimensions=dimensions, filters=one) for one in chosen]
    )
    pages = [{"filter": {"language": languages[step % len(languages)]}, "page": step} for step in range(steps)]
    yield _step("page of samples", 0.2, [_seconds(page.ask, "samples", **one) for one in pages])


def _step(name: str, allowed: float, seconds: Sequence[float]) -> Limit:
    print(f"{name}: {', '.join(f'{one:.3f}' for one in seconds)} s", flush=True)
    return Limit(name, median(seconds), allowed, "s")


def _seconds(call: Any, *given: Any, **named: Any) -> float:
    began = time.perf_counter()
    call(*given, **named)
    return time.perf_counter() - began


@contextmanager
def inspecting(recipe: Path) -> Iterator[Page]:
    """The command, listening."""
    command = [sys.executable, "-m", "winnow", "inspect", str(recipe), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", line):
                    yield Page(int(found[1]), found[2], process.pid)
                    return
            raise SystemExit("winnow inspect did not start")
        finally:
            process.terminate()


def _written(folder: Path) -> Path:
    recipe = folder / "recipe.yaml"
    recipe.write_text(_recipe_text(folder))
    return recipe


def _recipe_text(folder: Path) -> str:
    return RECIPE.format(store=folder / "store", root=folder / "crawl")


def _recipe(folder: Path) -> Recipe:
    return recipe_from_text(_recipe_text(folder), str(folder / "recipe.yaml"))


def _samples(seed: int, count: int) -> pa.Table:
    """With texts of made-up words, and sites of which few have many pages."""
    chance = np.random.default_rng(seed)
    words = np.array(["".join(chance.choice(list("aeioubcdfglmnprst"), chance.integers(2, 9))) for _ in range(WORDS)])
    drawn = words[(chance.zipf(1.2, count * 40) - 1) % WORDS].reshape(count, 40)
    lengths = chance.integers(8, 41, count)
    texts = [" ".join(row[:length]) for row, length in zip(drawn, lengths, strict=True)]
    sites = [f"site-{number}.example" for number in (chance.zipf(1.1, count) - 1) % SITES]
    table = made_samples(seed, count)
    changed = {
        "text": pa.array(texts, pa.large_string()),
        "domain": pa.array(sites),
        "url": pa.array([f"https://{site}/{number}" for number, site in enumerate(sites)]),
    }
    for name, column in changed.items():
        table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), column)
    return table


def _lengths(seed: int, count: int) -> pa.Table:
    measured = next(one for one in bind(_recipe(Path("."))).operators if one.layer == "text.length")
    characters = np.random.default_rng(seed).lognormal(5.3, 0.6, count).astype(np.int64) + 1
    made = [pa.repeat("ok", count) if field.name == "status" else pa.array(characters) for field in measured.schema]
    columns = [column.cast(field.type) for column, field in zip(made, measured.schema, strict=True)]
    return pa.table(columns, schema=measured.schema)


if __name__ == "__main__":
    sys.exit(main())
