"""What cannot be had is one clear line on stderr, and nothing half-written is left."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import run
from tests.filters.language.tokenizers.samples import byte_level
from tests.messages import assert_told
from tests.runners.mixtures.tiny import MIX, RECIPE, Tiny, tree
from tests.scoring.laws import law
from tests.small_disks import small_disk_at
from winnow.pipelines.mix.drawn_objects import DrawnObjects
from winnow.schemas.law import law_to_json

ONE = "{jsonl: {path: out/jsonl, shard_bytes: 16 KiB}}"
LAW = "{unit: tokens, tokenizer: bytes, families: {by: group, law: law.json}}"


def refused(tiny: Tiny, mix: str, *, base: str = RECIPE, command: str = "mix", export: str = "") -> str:
    """What is said of a mixture that cannot be had; the store and the folder beside it stay as they were."""
    tiny.write(mix, export, base)
    before = tree(tiny.folder)
    said = tiny.complaint(command)
    assert tree(tiny.folder) == before
    assert str(tiny.recipe) in said
    return said


@pytest.mark.parametrize(
    "mix",
    [
        "{families: {by: group, weights: {Germanic: 1}}}",
        "{languages: {weights: {deu_Latn: 1}}}",
        "{families: {law: law.json}}",
        "{families: {unimax: 2}}",
        "{languages: {temperature: 3.3}}",
    ],
)
@pytest.mark.parametrize("command", ["plan", "mix"])
def test_shares_of_languages_need_languages(tiny: Tiny, command: str, mix: str) -> None:
    base = RECIPE.replace("text.language, ", "")
    assert_told(refused(tiny, mix, base=base, command=command), "language is measured")


@pytest.mark.parametrize(
    ("mix", "said"),
    [
        ("{sources: {web: 0.5, books: 0.4}}", "mix.sources … 0.9 … 1"),
        ("{classes: {crawled: 0.5, printed: 0.6}}", "mix.classes … 1.1 … 1"),
        ("{sources: {web: 0.5, boks: 0.5}}", "'boks' … 'books'"),
        ("{classes: {web: 1}}", "sources … 'web'"),
        (
            "{families: {weights: {Indoeuropean: 1}}}",
            "'Indoeuropean' … 'Indo-European'",
        ),
        ("{families: {by: group, weights: {germanic: 1}}}", "(did you mean 'Germanic'?)"),
        ("{families: {by: branch}}", "families.by"),
        ("{languages: {weights: {deu_Latn: 0.5, xx: 0.5}}}", "language … 'xx'"),
        (
            "{tokenizer: bytes, languages: {weights: {deu: 1}}}",
            "'deu' … 'deu_Latn'",
        ),
        ("{bands: {by: text.length.charcters, top: 0.1}}", "(did you mean 'text.length.characters'?)"),
        ("{bands: {by: text.language.code, top: 0.1}}", "expected a column of numbers"),
        ("{bands: {by: text.length.bytes, cuts: [1], weights: [1]}}", "1 cuts … 2 bands … 1 weights"),
        ("{tokenizer: bytes, where: text.length.bytes > 1_000_000}", "no sample may be taken"),
        ("{where: text.lenght.bytes > 1}", "unknown column"),
        ("{tokenizer: bytes, sources: {web: 1}, where: samples.source_class = 'printed'}", "web"),
        ("{tokenizer: bytes, budget: 553, strict: true}", "138 samples … 4 epochs"),
        ("{unit: tokens, tokenizer: bytes, budget: 1_000_000, strict: true}", "are more than available"),
        ("{unit: tokens}", "tokenizer"),
        ("{budget: 0}", "budget"),
        (
            "{tokenizer: bytes, strict: true, stages: {a: {budget: 138}, b: {budget: 415}}}",
            "earlier stages … gave 138",
        ),
        ("{stages: {a: {}, validation: {}}}", "'validation' … 'split'"),
        ("{stages: {Core: {}}}", "'Core' … 39 … 0-9"),
        ("{budget: 10 GB}", "unit is samples"),
        ("{stages: {a: {budget: 1MB}}}", "budget of stage"),
        ("{budget: 1.5}", "mix.budget … number 1.5"),
        ("{budget: 2B}", "mix.budget … '2B' … write 2_000_000_000"),
        ("{budget: 2.5M}", "write 2_500_000 … 2.5e6 … 2.5 MB"),
        ("{budget: 2G}", "mix.budget … '2G' … write 2_000_000_000"),
        ("{budget: 2.000}", "mix.budget … 2.000 … 2"),
        ("{budget: 2 000}", "mix.budget … '2 000' … write 2_000"),
        (
            "{budget: 50%}",
            "mix.budget … 2_000_000 … 2e6",
        ),
        ("{budget: 1,5M}", "mix: … '5M' … 0.5"),
        ("{classes: {web: 0,5}}", "mix.classes … '5' … 0"),
        ("{classes: {web: 50 %}}", "mix.classes … 'web' … 0"),
        ("{max_epochs: 1,5}", "mix: … '5' … 0.5"),
        (
            "{budget: ten}",
            "mix.budget … 2_000_000 … 2e6",
        ),
        ("{split: {validation: 0.9}}", "validation"),
        ("{max_epochs: 0}", "max_epochs"),
        ("{max_share_of_sample: 0.1}", "mix: … 'max_share_of_sample'"),
        ("{unit: tokens, tokenizer: bytes, budget: 9, max_share_of_sample: 0.5}", "nothing is left"),
    ],
)
def test_mixtures_that_cannot_be_had(tiny: Tiny, mix: str, said: str) -> None:
    assert_told(refused(tiny, mix), said)


def test_no_mixture_at_all(tiny: Tiny) -> None:
    tiny.write(None)
    assert "write mix: {}" in tiny.complaint("mix")
    tiny.write(None, ONE)
    assert "mix" in tiny.complaint("export")


@pytest.mark.parametrize(
    ("tokenizer", "content", "said"),
    [
        ("gone.json", None, "gone.json"),
        ("cut.json", b'{"version": "1.0", "model": {"type": "BPE", "voc', "cut.json"),
        ("other.json", b"[]", "other.json"),
        ("empty.model", b"", "empty.model"),
        ("no.tiktoken", b"a b c\n", "no.tiktoken"),
        ("words.txt", b"the cat\n", "words.txt"),
    ],
)
def test_tokenizers_that_cannot_be_read(tiny: Tiny, tokenizer: str, content: bytes | None, said: str) -> None:
    pytest.importorskip("tokenizers")
    if content is not None:
        (tiny.folder / tokenizer).write_bytes(content)
    complaint = refused(tiny, f"{{unit: tokens, tokenizer: {tokenizer}}}")
    assert "mix.tokenizer" in complaint
    assert said in complaint


def test_a_truncated_tokenizer(tiny: Tiny) -> None:
    byte_level(tiny.folder / "bpe.json")
    raw = (tiny.folder / "bpe.json").read_bytes()
    (tiny.folder / "bpe.json").write_bytes(raw[: len(raw) // 2])
    assert "mix.tokenizer" in refused(tiny, "{unit: tokens, tokenizer: bpe.json}")


def test_texts_that_a_tokenizer_cannot_encode_are_left_out_and_counted(tiny: Tiny) -> None:
    """Of a tokenizer that knows Latin letters alone; in samples, which need no tokens, Megatron's format refuses."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=["</s>"], show_progress=False)
    made.train_from_iterator([row.edited for row in tiny.rows.values() if row.language.endswith("Latn")], trainer)
    made.save(str(tiny.folder / "latin.json"))
    tiny.write("{unit: tokens, tokenizer: latin.json}", ONE)
    record, drawn = tiny.mix()
    assert {name: amount.samples for name, amount in record.plan.left_out.items()} == {"unencodable": 40}
    assert {tiny.rows[identity].language[-4:] for identity, _ in drawn["train"]} == {"Latn"}
    tiny.write("{unit: samples, tokenizer: latin.json}", "{megatron: {path: out/megatron}}")
    said = tiny.complaint("export")
    assert "latin.json" in said
    assert_told(said, "encode some characters")
    assert not (tiny.folder / "out/megatron").exists()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (None, "law.json' … winnow law"),
        (b"", "not JSON"),
        (b"{}", "law"),
        (law_to_json(law())[:1000], "not JSON"),
        (law_to_json(law()).replace(b'"schema": 1', b'"schema": 9').replace(b'"schema":1', b'"schema":9'), "schema"),
        (law_to_json(law()).replace(b"gamma", b"gamna"), "law.json"),
    ],
)
def test_laws_that_cannot_be_read(tiny: Tiny, raw: bytes | None, said: str) -> None:
    if raw is not None:
        (tiny.folder / "law.json").write_bytes(raw)
    complaint = refused(tiny, LAW)
    assert "mix.families.law" in complaint
    assert_told(complaint, said)


def test_a_law_that_is_a_folder(tiny: Tiny) -> None:
    (tiny.folder / "law.json").mkdir()
    assert "mix.families.law" in refused(tiny, LAW)


def test_a_draw_that_somebody_rewrote_is_not_exported(tiny: Tiny) -> None:
    tiny.write(MIX, "{webdataset: {path: out/wds}}")
    tiny.mix()
    listed = DrawnObjects.read(tiny.store.objects, tiny.record().draws)
    draws = [tiny.folder / "store" / one.object for one in listed]
    table = pq.read_table(draws[0])
    ids = table["id"].combine_chunks().to_pylist()
    ids[1] = ids[0]
    pq.write_table(table.set_column(2, table.schema.field("id"), pa.array(ids, pa.binary(16))), draws[0])
    said = tiny.complaint("export")
    assert not (tiny.folder / "out/wds").exists()
    assert f"{draws[0].name} is damaged: " in said


def test_folders_that_are_somebody_elses(tiny: Tiny) -> None:
    (tiny.folder / "out/full").mkdir(parents=True)
    (tiny.folder / "out/full/theirs.txt").write_text("theirs")
    (tiny.folder / "out/file").write_text("theirs")
    tiny.write(MIX)
    tiny.mix()
    before = tree(tiny.folder / "out")
    foreign = "contains files not written by winnow (theirs.txt)"
    for path, said in (("out/file", "is a file"), ("out/full", foreign), ("web", "web")):
        tiny.write(MIX, f"{{jsonl: {{path: {path}}}}}")
        for more in ((), ("--replace",)):
            assert said in tiny.complaint("export", *more)
    assert tree(tiny.folder / "out") == before
    assert [file.name for file in (tiny.folder / "web").iterdir()] == ["rows.jsonl"]


@pytest.mark.parametrize(
    ("export", "said"),
    [
        ("{parquett: {path: out}}", "parquet"),
        ("{parquet: {path: out, compresion: zstd}}", "compresion"),
        ("{parquet: {}}", "path"),
        ("{parquet: {path: out}}, {jsonl: {path: out/}}", "two exports"),
        ("{parquet: {path: out, shard_bytes: 1 KB}}", "shard_bytes"),
        ("{megatron: {path: out, tokenizer: gone.json}}", "gone.json"),
        ("{megatron: {path: out}}", "tokenizer"),
        ("{arrayrecord: {path: out, name: A-B}}", "name"),
        ("{webdataset: {path: out, energon: true, key: position}}", "key: id"),
    ],
)
def test_exports_that_cannot_be_had(tiny: Tiny, export: str, said: str) -> None:
    assert said in refused(tiny, "{}", command="export", export=export)


@pytest.mark.parametrize("where", ["no/such/plan.json", "."])
def test_a_plan_that_cannot_be_written_where_it_was_asked_for(tiny: Tiny, where: str) -> None:
    assert "--output" in tiny.complaint("mix", "--plan-only", "--output", tiny.folder / where)
    assert "--id-list" in tiny.complaint("export", "--id-list", tiny.folder / where)


@pytest.mark.parametrize("explicit", [False, True])
def test_a_file_that_is_no_plan_is_not_written_over(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, explicit: bool
) -> None:
    monkeypatch.chdir(tiny.folder)
    tiny.write(MIX)
    theirs, option = tiny.folder / "plan.json", ("--output", "plan.json") if explicit else ()
    theirs.write_text('{"plan": "theirs"}')
    said = "winnow: plan.json: exists and is not a winnow plan; choose another file with --output\n"
    assert tiny.complaint("mix", "--plan-only", *option) == said
    assert theirs.read_text() == '{"plan": "theirs"}'
    theirs.write_bytes(b"")
    tiny.run("mix", "--plan-only", *option)
    ours = theirs.read_bytes()
    assert ours != b""
    tiny.run("mix", "--plan-only", *option)  # a plan makes room for another
    assert theirs.read_bytes() == ours


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk_at(tmp_path / "disk", megabytes=4) as disk:
        yield disk


def fill(disk: Path, room: int) -> Path:
    """Leave room for so many bytes."""
    left = shutil.disk_usage(disk).free
    filler = disk / "filler"
    filler.write_bytes(bytes(max(0, left - room)))
    return filler


FULL = "No space left on device"


def test_a_full_disk_where_a_plan_or_a_list_of_ids_goes(small_disk: Path, tiny: Tiny) -> None:
    fill(small_disk, 0)
    plan, ids = small_disk / "plan.json", small_disk / "ids.npy"
    assert f"--output {plan}: cannot be written: {FULL}" in tiny.complaint("mix", "--plan-only", "--output", plan)
    assert f"--id-list {ids}: cannot be written: {FULL}" in tiny.complaint("export", "--id-list", ids)
    assert [file.name for file in small_disk.iterdir()] == ["filler"]


@pytest.mark.large
def test_a_full_disk_under_what_is_counted_while_planning(small_disk: Path, tiny: Tiny) -> None:
    tiny.write(MIX)
    for room in (8192, 12_288):  # for a folder, not for columns
        filler = fill(small_disk, room)
        done = run(tiny.folder, "mix", "recipe.yaml", "--workers", "1", env={"TMPDIR": str(small_disk)})
        assert done.status == 1
        assert done.err.count("\n") == 1
        assert FULL in done.err
        assert str(small_disk) in done.err
        left = {file.name for file in small_disk.rglob("*") if file.is_file()}
        assert left <= {"filler", "lock", "guard"}
        filler.unlink()
    tiny.mix()


@pytest.mark.processes
def test_a_full_disk_under_the_store(small_disk: Path, tiny: Tiny) -> None:
    tiny.write(MIX, base=RECIPE.replace("path: store", f"path: {small_disk}/store"))
    shutil.move(tiny.folder / "store", small_disk / "store")
    filler = fill(small_disk, 16_384)  # for leases, not for the draw
    # A process of its own: on a full disk it cannot say that it is done, but the next one sees that it is gone.
    done = run(tiny.folder, "mix", "recipe.yaml", "--workers", "1")
    assert done.status == 1
    assert done.err.startswith(f"winnow: {small_disk}/store")
    assert FULL in done.err
    assert done.err.count("\n") == 1
    assert not list((small_disk / "store").glob("plans/*/plan.json"))
    filler.unlink()
    tiny.run("mix")
    assert not list((small_disk / "store/.tmp").iterdir())


@pytest.mark.parametrize("room", [0, 40_000])
def test_a_full_disk_under_an_export(small_disk: Path, tiny: Tiny, room: int) -> None:
    tiny.write(MIX, f"{{jsonl: {{path: {small_disk}/out, compression: none, shard_bytes: 16 KiB}}}}")
    filler = fill(small_disk, room)
    said = tiny.complaint("export")
    assert FULL in said
    assert f"{small_disk}/out" in said
    assert not (small_disk / "out").exists()
    filler.unlink()
    tiny.run("export")
    assert [one.name for one in small_disk.iterdir()] == ["out"]
    assert sum(len(raw.splitlines()) for path, raw in tree(small_disk / "out").items() if "jsonl" in path) == 138
