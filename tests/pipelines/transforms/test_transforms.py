"""winnow's stages as Beam transforms in another pipeline: the values of a store, and clear lines for wrong input."""

import importlib.util
import json
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.transforms.window import FixedWindows
from apache_beam.typehints.decorators import TypeCheckError

import winnow
from tests.faults.winnow import ended, run_here
from tests.inline_engine import InlineRunner
from tests.messages import assert_told
from tests.pipelines.ingest.made_archives import Capture, write_warc
from winnow.pipelines.transforms import Annotate, FromBatches, NearDuplicates, ReadSamples, ToBatches
from winnow.pipelines.transforms.annotate import Entry
from winnow.schemas.errors import WinnowError

pytestmark = pytest.mark.processes

WORDS = [
    f"{first}{last}" for first in ("stone", "river", "cloud", "maple") for last in ("bank", "ward", "light", "fall")
]
BATCH = pa.RecordBatch.from_pydict({"id": ["a", "b"], "text": ["one two three four five six", "other words of mine"]})
_found: dict[str, list[Any]] = defaultdict(list)  # what an inline pipeline gives


def texts_with_copies(seed: int = 3) -> dict[str, str]:
    """Texts, equal ones, nearly equal ones, and some with half of the words in common, by id."""
    drawn = random.Random(seed)
    texts = {f"t{number:02d}": [drawn.choice(WORDS) for _ in range(90)] for number in range(12)}
    texts |= {f"near{number}": [*texts[f"t{number:02d}"], "at", "last"] for number in range(4)}
    texts |= {f"equal{number}": [word.upper() for word in texts["t00"]] for number in range(3)}
    texts |= {f"half{number}": texts[f"t{number + 4:02d}"][:45] + texts["t11"][:45] for number in range(3)}
    return {name: " ".join(words) for name, words in texts.items()} | {"empty": "", "signs": "… — !"}


def _keep(row: Any, name: str) -> None:
    _found[name].append(row)


def result(build: Any, rows: list[Any] | None = None) -> list[Any]:
    """The elements that a chain of transforms gives."""
    _found.pop("main", None)
    with beam.Pipeline(InlineRunner()) as pipeline:
        start = pipeline if rows is None else pipeline | beam.Create(rows)
        _ = start | build | "Keep" >> beam.Map(_keep, "main")
    return _found["main"]


def rows_of(texts: dict[str, str]) -> list[dict[str, str]]:
    return [{"id": name, "text": text} for name, text in texts.items()]


def clusters_of(rows: list[Any]) -> set[frozenset[str]]:
    members: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["duplicate.cluster"] is not None:
            members[row["duplicate.cluster"]].add(row["id"])
    return {frozenset(one) for one in members.values()}


def test_measurements_and_clusters_are_those_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = texts_with_copies()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows_of(texts)))
    source = {"root": str(tmp_path / "texts"), "files": ["*.jsonl"], "key": "id"}
    (tmp_path / "recipe.yaml").write_text(
        "version: 1\nstore: {path: store}\n"
        "sources: {files: {root: texts, files: ['*.jsonl'], class: files, key: id}}\n"
        "annotate: [text.length, text.gopher]\ndedupe: {near: {min_similarity: 0.8}}\n"
    )
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    stored = winnow.open_store("store").sql(
        "SELECT id, samples.text AS text, l.characters, g.words, g.status, d.cluster, d.size "
        "FROM samples JOIN text.length l USING (id) JOIN text.gopher g USING (id) JOIN dedupe.near d USING (id)"
    )
    expected = {row["id"]: row for row in stored.to_arrow().to_pylist()}

    _found.pop("rows", None)
    with beam.Pipeline(InlineRunner()) as pipeline:
        samples, refused = pipeline | ReadSamples(source)
        marked = (
            samples
            | Annotate(["text.length", "text.gopher"])
            | NearDuplicates({"min_similarity": 0.8}, partitions=3)
            | FromBatches()
        )
        _ = marked | beam.Map(_keep, "rows")
        _ = refused | "Refused" >> beam.Map(_keep, "refused")
    rows = [{**row, "id": row["id"].hex()} for row in _found["rows"]]
    assert {row["id"] for row in rows} == expected.keys()
    for row in rows:
        there = expected[row["id"]]
        assert [row["text"], row["text.length.characters"], row["text.gopher.words"], row["text.gopher.status"]] == [
            there[name] for name in ("text", "characters", "words", "status")
        ]
        if there["size"] is not None:
            assert row["duplicate.size"] == there["size"]
    by_cluster: dict[str, set[str]] = defaultdict(set)
    for name, row in expected.items():
        if row["size"] is not None and row["size"] > 1:
            by_cluster[row["cluster"]].add(name)
    assert len(by_cluster) == 4
    assert clusters_of(rows) == {frozenset(one) for one in by_cluster.values()}


@pytest.mark.parametrize("partitions", [1, 7])
def test_one_row_of_each_cluster_is_kept_and_it_does_not_depend_on_order_or_partitions(partitions: int) -> None:
    rows = rows_of(texts_with_copies())
    chain = ToBatches() | NearDuplicates(keep="representatives", partitions=partitions) | FromBatches()
    kept = result(chain, rows)
    first = result(ToBatches() | NearDuplicates(partitions=3) | FromBatches(), rows[::-1])
    assert len(first) == len(rows)
    assert sorted(row["id"] for row in kept) == sorted(row["id"] for row in first if row["duplicate.representative"])
    assert len(kept) == len(rows) - sum(len(cluster) - 1 for cluster in clusters_of(first))


def test_a_group_of_equal_texts_larger_than_any_bucket_is_one_cluster() -> None:
    text = texts_with_copies()["t01"]
    rows = [{"id": f"{number}", "text": text} for number in range(1200)] + [{"id": "other", "text": text + " so"}]
    marked = result(ToBatches() | NearDuplicates({"max_bucket": 100}, partitions=1) | FromBatches(), rows)
    assert {row["duplicate.size"] for row in marked} == {1201}


def test_pages_are_extracted_and_what_cannot_be_read_has_a_reason(tmp_path: Path) -> None:
    page = b"<html><title>News</title><p>" + b"A river runs through the old stone town. " * 5 + b"</p></html>"
    good = Capture("https://a.example/1", page, mime="text/html")
    path = write_warc(tmp_path / "crawl.warc.gz", [good, Capture("https://a.example/2", b"", mime="text/html")])
    with path.open("ab") as stream:
        stream.write(path.read_bytes()[:40])  # a member that breaks off
    _found.clear()
    with beam.Pipeline(InlineRunner()) as pipeline:
        samples, refused = pipeline | ReadSamples({"root": str(tmp_path), "files": ["*.warc.gz"]})
        inside = Annotate(["page.opt_out", {"text.length": {"where": "samples.source.offset > 0"}}])  # of structs
        _ = samples | inside | FromBatches() | beam.Map(_keep, "samples")
        _ = refused | "Lines" >> FromBatches() | "Refused" >> beam.Map(_keep, "refused")
    assert [row["url"] for row in _found["samples"]] == ["https://a.example/1"]
    (sample,) = _found["samples"]
    assert "old stone town" in sample["text"]
    assert (sample["page.opt_out.status"], sample["text.length.status"]) == ("ok", "not_selected")
    reasons = {row["reason"] for row in _found["refused"]}
    assert "empty" in reasons
    assert len(reasons) >= 2
    assert all(row["path"] == "crawl.warc.gz" and row["length"] > 0 for row in _found["refused"])


def test_an_operator_reads_columns_of_the_batch_and_of_operators_before_it() -> None:
    schema = pa.schema([("url", pa.string()), ("body", pa.string())])
    rows = [{"url": "https://www.a.example/x", "body": "Short."}, {"url": None, "body": None}]
    operators: list[Entry] = [{"text.length": {"where": "samples.url IS NOT NULL"}}, "url.canonical"]
    made = result(ToBatches(schema) | Annotate(operators, text="body") | FromBatches(), rows)
    assert [row["text.length.status"] for row in made] == ["ok", "not_selected"]
    assert [row["url.canonical.status"] for row in made] == ["ok", "no_input"]
    assert made[0]["body"] == "Short."


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: Annotate(["text.langage"]), "'text.langage' … 'text.language'"),
        (lambda: Annotate([{"text.length": {"sizes": 1}}]), "unknown key 'sizes'"),
        (lambda: Annotate([]), "expected a list of operators"),
        (lambda: Annotate("text.length"), "expected a list of operators"),
        (lambda: Annotate([{"text.length": {"where": object()}}]), "options are numbers"),
        (lambda: Annotate(["image.pdq"]), "image.pdq"),
        (lambda: NearDuplicates({"min_similarity": 7}), "min_similarity"),
        (lambda: NearDuplicates({"preset": "finewebs"}), "finewebs"),
        (lambda: NearDuplicates(keep="some"), "expected 'all' or 'representatives'"),  # type: ignore[arg-type]
        (lambda: NearDuplicates(partitions=0), "expected 1 to 65,536"),
        (lambda: ReadSamples({"root": "nowhere", "files": ["*"]}), "no folder nowhere"),
        (lambda: ReadSamples({"root": ".", "file": ["*"]}), "'file' … 'files'"),
    ],
)
def test_wrong_settings_are_one_line_before_anything_runs(make: Any, line: str) -> None:
    with pytest.raises(WinnowError) as caught:
        make()
    assert_told(str(caught.value), line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "chain", "line"),
    [
        (["a text"], ToBatches(), "expected a mapping"),
        ([{"id": 1, "text": "x"}], ToBatches(), "column 'id': expected string"),
        ([{"text": "x"}], ToBatches(), "a row has no 'id'"),
        ([{"id": "1", "txt": "x"}], ToBatches(), "'txt' … schema"),
        ([{"id": "1", "text": "x"}], ToBatches() | Annotate(["text.length"], text="body"), "no column 'body'"),
        ([{"id": "1", "text": "x"}], ToBatches() | Annotate(["url.canonical"]), "no column 'url'"),
        (
            [{"id": "1", "text": "a"}, {"id": "1", "text": "b"}],
            ToBatches() | NearDuplicates(partitions=2),
            "have the id '1'",
        ),
        ([BATCH, BATCH], NearDuplicates(partitions=2), "have the id 'a'"),
        (
            [pa.RecordBatch.from_pylist([{"doc": {"id": "1", "text": text}}]) for text in ("one", "two")],
            NearDuplicates(id="doc.id", text="doc.text", partitions=2),
            "'1' … 'doc.id'",
        ),
        (
            [pa.RecordBatch.from_arrays([*BATCH.columns, BATCH["id"]], ["id", "text", "id"])],
            NearDuplicates(),
            "NearDuplicates … 'id'",
        ),
        (
            [{"id": 1.5, "text": "a"}],
            ToBatches(pa.schema([("id", pa.float64()), ("text", pa.string())])) | NearDuplicates(),
            "expected strings",
        ),
        (
            [{"id": "1", "text": 7}],
            ToBatches(pa.schema([("id", pa.string()), ("text", pa.int64())])) | Annotate(["text.length"]),
            "Annotate: … 'text' … large_string",
        ),
        (
            [{"id": "1", "text": b"x"}],
            ToBatches(pa.schema([("id", pa.string()), ("text", pa.binary())])) | NearDuplicates(),
            "NearDuplicates … 'text' … large_string",
        ),
    ],
)
def test_wrong_rows_are_one_line(rows: list[Any], chain: Any, line: str) -> None:
    with pytest.raises(WinnowError) as caught:
        result(chain, rows)
    assert_told(str(caught.value), line)


def test_elements_of_another_type_and_windows_are_refused_while_the_pipeline_is_built() -> None:
    pipeline = beam.Pipeline(InlineRunner())
    texts = pipeline | beam.Create(["a", "b"]).with_output_types(str)
    with pytest.raises(TypeCheckError, match=r"Annotate: expected .*RecordBatch.*, got .*str"):
        _ = texts | Annotate(["text.length"])
    windowed = texts | beam.WindowInto(FixedWindows(60))
    with pytest.raises(TypeError, match="expected the global window"):
        _ = windowed | ToBatches()


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("beam_pipeline", Path("examples/beam_pipeline.py").resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["beam_pipeline"] = module  # where workers' copies of its functions look for it
    spec.loader.exec_module(module)
    return module


def english_texts() -> list[dict[str, str]]:
    said = "The committee met in the old town hall to talk about the new bridge and the money that it would cost. "
    other = "Nobody had expected so much rain in the middle of the summer, and the farmers were not at all unhappy. "
    german = "Der Ausschuss traf sich im alten Rathaus, um über die neue Brücke und ihre Kosten zu sprechen. "
    texts = {"a": said * 3, "b": said * 3, "c": other * 3, "d": german * 3, "e": "Too short."}
    return [{"id": name, "text": text} for name, text in texts.items()]


def test_the_example_keeps_english_texts_once() -> None:
    module = example()
    kept = result(beam.ptransform_fn(lambda rows: module.kept_texts(rows, 2))(), english_texts())
    assert sorted(row["duplicate.size"] for row in kept) == [1, 2]
    assert {row["text.language.code"] for row in kept} == {"eng_Latn"}
    assert {row["id"] for row in kept} in ({"a", "c"}, {"b", "c"})


@pytest.mark.large
def test_the_example_runs_as_its_page_says(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in english_texts()))
    command = [sys.executable, "examples/beam_pipeline.py", "--input", str(tmp_path / "in.jsonl")]
    subprocess.run([*command, "--output", str(tmp_path / "kept")], check=True, capture_output=True, timeout=300)
    lines = [json.loads(line) for path in tmp_path.glob("kept*.jsonl") for line in path.read_text().splitlines()]
    assert sorted(row["duplicate.size"] for row in lines) == [1, 2]
