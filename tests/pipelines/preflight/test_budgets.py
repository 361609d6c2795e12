"""Budgets before anything is read: an impossible one is refused where `strict` says so, a doubtful one is a note."""

import gzip
import json
from pathlib import Path

import pytest

from tests.faults.winnow import run_here
from tests.messages import assert_told

ONE = ("--workers", "1")


def write(folder: Path, mix: str, *, name: str = "lines.jsonl", count: int = 40) -> None:
    """Lines of 100 characters each."""
    raw = "".join(json.dumps({"text": f"{number:03d}" + "x" * 97}) + "\n" for number in range(count)).encode()
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    (folder / "recipe.yaml").write_text(
        "version: 1\nstore: {path: store}\nsources: {a: {root: in, files: ['*'], class: web}}\n"
        f"annotate: [text.length]\nmix: {mix}\n"
    )


@pytest.mark.parametrize("command", [("plan", "recipe.yaml"), ("run", "recipe.yaml", *ONE)])
def test_a_budget_that_no_content_could_meet_is_refused_before_anything_is_read(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    write(tmp_path, "{unit: tokens, tokenizer: bytes, budget: 2e9, strict: true}")
    done = run_here(tmp_path, *command)
    assert done.status == 1
    assert_told(
        done.err.splitlines()[-1],
        "recipe.yaml:5",
        "mix.budget",
        "2,000,000,000 tokens",
        "4.4 KiB",
        "72,320 tokens",
        "4 times",
        whole=True,
    )
    assert not list((tmp_path / "store").glob("samples/*"))


def test_a_budget_above_what_the_rules_keep_is_refused_or_a_note_of_the_plan(tmp_path: Path) -> None:
    write(tmp_path, "{unit: tokens, tokenizer: bytes}")
    assert run_here(tmp_path, "annotate", "recipe.yaml", *ONE).status == 1  # there is no store yet
    assert run_here(tmp_path, "ingest", "recipe.yaml", *ONE).status == 0
    assert run_here(tmp_path, "annotate", "recipe.yaml", *ONE).status == 0
    kept = "are more than the rules keep: 3,000 bytes of text, each at most 4 times"
    keep = "keep: [{drop: \"samples.text < '010'\", reason: first, when_null: keep}]\n"
    for mix, status, said in (
        (
            "budget: 60_000, strict: true",
            1,
            f"mix.budget: 60,000 tokens {kept}; lower the budget, or leave out 'strict'",
        ),
        ("budget: 60_000", 0, f"mix.budget: 60,000 tokens {kept}; what there is will be given"),
        (
            "budget: 12_001, strict: true",
            0,
            f"12,001 tokens {kept}; strict makes that an error, once tokens are counted",
        ),
        ("budget: 12_000, strict: true", 0, ""),
    ):
        write(tmp_path, f"{{unit: tokens, tokenizer: bytes, {mix}}}")
        (tmp_path / "recipe.yaml").write_text((tmp_path / "recipe.yaml").read_text() + keep)
        done = run_here(tmp_path, "plan", "recipe.yaml")
        assert done.status == status, mix
        assert said in done.out + done.err, mix
        assert ("more than the rules keep" in done.out + done.err) == bool(said), mix


def test_a_budget_of_a_stage_is_named(tmp_path: Path) -> None:
    write(tmp_path, "{unit: bytes, strict: true, max_epochs: 2, stages: {a: {budget: 10}, b: {budget: 1e9}}}")
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 1
    assert "mix.stages.b.budget: 1,000,000,000 bytes" in done.err
    assert "each 2 times" in done.err
    assert "stages.a" not in done.err


@pytest.mark.parametrize(
    ("mix", "said"),
    [
        (
            "{unit: tokens, tokenizer: bytes, budget: 17_000}",
            "mix.budget: 17,000 tokens are more than the sources seem to hold: about 4,000 bytes of text before "
            "any rule, each at most 4 times; what there is will be given",
        ),
        (
            "{unit: samples, budget: 500, strict: true}",
            "mix.budget: 500 samples are more than the sources seem to hold: about 40 samples before any rule, each "
            "at most 4 times; strict makes that an error, after everything is measured",
        ),
        ("{unit: tokens, tokenizer: bytes, budget: 15_000, strict: true}", ""),
        ("{unit: samples}", ""),
        ("{unit: pixels, budget: 1e9}", ""),
    ],
)
def test_a_budget_above_an_estimate_is_a_note_of_the_plan(tmp_path: Path, mix: str, said: str) -> None:
    write(tmp_path, mix)
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 0, done.err
    assert (said in done.out) if said else ("seem to hold" not in done.out)


def test_what_may_inflate_is_refused_only_beyond_what_its_compression_can_do(tmp_path: Path) -> None:
    write(tmp_path, "{unit: bytes, budget: 1e6, strict: true}", name="lines.jsonl.gz")
    assert run_here(tmp_path, "plan", "recipe.yaml").status == 0
    write(tmp_path, "{unit: bytes, budget: 1e12, strict: true}", name="lines.jsonl.gz")
    assert run_here(tmp_path, "plan", "recipe.yaml").status == 1


def test_archives_and_stores_that_exist_are_not_judged_by_sizes(tmp_path: Path) -> None:
    write(tmp_path, "{unit: samples, budget: 1e15, strict: true}", name="lines.warc")
    assert "can hold" not in run_here(tmp_path, "plan", "recipe.yaml").err
    (tmp_path / "in" / "lines.warc").unlink()
    write(tmp_path, "{unit: samples}")
    assert run_here(tmp_path, "ingest", "recipe.yaml", *ONE).status == 0
    write(tmp_path, "{unit: samples, budget: 1e15, strict: true}")
    assert run_here(tmp_path, "plan", "recipe.yaml").status == 0


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.pdf", b"%PDF-1.4\n%\xe2\xe3\n" + b"x" * 50, "1 of application/pdf without text; to take media"),
        ("a.txt", b"", "1 dropped as empty"),
    ],
)
def test_sources_of_which_nothing_can_be_taken_are_refused_before_anything_is_read(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    write(tmp_path, "{unit: tokens, tokenizer: bytes}", name=name)
    (tmp_path / "in" / name).write_bytes(content)
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 1
    assert done.err.splitlines()[-1].startswith(
        "winnow: recipe.yaml:5: mix: no sample may be taken, since no record of the sources can be counted in tokens: "
        + why
    )
    (tmp_path / "in" / "other.txt").write_text("A text beside it.")
    assert run_here(tmp_path, "plan", "recipe.yaml").status == 0


def test_an_export_of_texts_of_sources_without_any_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    write(tmp_path, "{unit: samples}", name="a.pdf")
    (tmp_path / "in" / "a.pdf").write_bytes(b"%PDF-1.4\n%\xe2\xe3\n" + b"x" * 50)
    with (tmp_path / "recipe.yaml").open("a") as recipe:
        recipe.write("export: [{megatron: {path: out, tokenizer: bytes, end_token: 256}}]\n")
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 1
    assert_told(done.err.splitlines()[-1], "recipe.yaml:6", "export[0].megatron", "1 of application/pdf", whole=True)
    (tmp_path / "in" / "other.txt").write_text("A text beside it.")
    assert run_here(tmp_path, "plan", "recipe.yaml").status == 0
