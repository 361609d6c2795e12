"""Evaluation sets that are kept out of a mixture, from the command line: counted over shards, dropped or cut."""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.messages import assert_told
from tests.runners.test_annotate import table
from winnow.runners.stages import meetings
from winnow.runners.stages.running.engine_jobs import EngineJobs

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 3, row_group_rows: 2}
sources:
  pages: {root: pages, files: ["*.jsonl"], class: public, key: id}
annotate:
  - text.contamination:
      OPTIONS
      sets:
        quiz: {file: quiz.jsonl, answer: [answer]}
        lines: {file: lines.txt}
RULES
mix: {unit: samples}
export: [{jsonl: {path: out, compression: none}}]
"""
DROP = "keep: [{drop: text.contamination.ngrams > 0, reason: contaminated, when_null: keep}]"
COWS = "A farmer has 12 cows and buys 7 more cows at the market on Tuesday; how many cows has the farmer now?"
WATER = "What is the boiling point of water at sea level in degrees Celsius?"
FOX = "The quick brown fox jumps over the lazy dog, again and again, until the evening comes."
TEXTS = [f"Page {number} says something of its own." for number in range(6)]
TEXTS += [f"Homework. {COWS.upper()} Done.", f"One: {WATER}", f"Two: {WATER}", f"Three: {WATER}", "", FOX[:30]]


def write(folder: Path, options: str = "common_documents: 4", rules: str = DROP) -> None:
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    for name in "ab":
        rows = [{"id": f"{name}-{number}", "text": text} for number, text in enumerate(TEXTS)][
            : 12 if name == "a" else 8
        ]
        (folder / "pages" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = [{"question": COWS, "answer": "19 cows"}, {"question": WATER, "answer": "100"}, {"question": "Why?"}]
    (folder / "quiz.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (folder / "lines.txt").write_text(f"{FOX}\n")
    (folder / "recipe.yaml").write_text(RECIPE.replace("OPTIONS", options).replace("RULES", rules))


def left(folder: Path) -> list[str]:
    """The texts that are exported."""
    return [json.loads(line)["text"] for file in sorted((folder / "out").rglob("*.jsonl")) for line in file.open()]


def measured(folder: Path) -> dict[bytes, object]:
    """The rows of the layer by sample."""
    ids = table(folder, "samples")["id"].to_pylist()
    return dict(zip(ids, table(folder, "text.contamination").to_pylist(), strict=True))


@pytest.mark.processes
def test_ngrams_that_many_documents_have_do_not_count_whatever_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, again = tmp_path / "one", tmp_path / "two"
    for place in (folder, again):
        write(place)
    assert_told(ended(run_here(folder, "run", "recipe.yaml", "--workers", "1")), "1 have fewer than 4 words")
    rows = measured(folder)
    found = sorted((row["ngrams"], row["common"]) for row in rows.values() if row["status"] == "ok")  # type: ignore[index]
    assert found == [(0, 0)] * 13 + [(0, 1)] * 4 + [(10, 0)] * 2  # the water is in four documents
    assert sum(WATER in text for text in left(folder)) == 4
    assert not any(COWS.upper() in text for text in left(folder))
    assert_clean(folder)
    monkeypatch.setattr(meetings, "EngineJobs", partial(EngineJobs, here_bytes=-1))  # on workers, however small
    ended(run_here(again, "run", "recipe.yaml", "--workers", "2"))
    assert measured(again) == rows
    assert (left(again), tree_hash(again)) == (left(folder), tree_hash(folder))


@pytest.mark.processes
def test_what_is_found_is_cut_out_by_an_edit(tmp_path: Path) -> None:
    write(tmp_path, "max_ngram_words: 13", "edits: [{text.contamination: {replace: delete, when_null: keep}}]")
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    texts = left(tmp_path)
    assert len(texts) == 19  # the empty one has no tokens
    assert sum(text == "Homework. ? Done." for text in texts) == 2
    assert sum(text == "One: ?" for text in texts) == 2


@pytest.mark.processes
def test_a_corpus_that_an_edit_cuts_out_is_an_alarm(tmp_path: Path) -> None:
    write(tmp_path, "max_ngram_words: 8", "edits: [{text.contamination: {replace: delete, when_null: keep}}]")
    recipe = tmp_path / "recipe.yaml"
    text = recipe.read_text().replace("lines: {file: lines.txt}", "lines: {file: pages/a.jsonl, question: [text]}")
    recipe.write_text(f"{text}loss_alarms: {{min_rows: 10}}\n")
    refused = run_here(tmp_path, "run", "recipe.yaml", "--workers", "2")
    assert_told(ended(refused, 1), "text.contamination", "words", "of the source pages", "loss_alarms", "expected")
    assert_told(refused.out, "ALARM", "source pages")
    told = ended(run_here(tmp_path, "plan", "recipe.yaml"), 1)
    assert_told(told, "text.contamination", "of the source pages")
    recipe.write_text(f"{text}loss_alarms: {{min_rows: 10, expected: [text.contaminatio]}}\n")
    assert_told(ended(run_here(tmp_path, "plan", "recipe.yaml"), 1), "loss_alarms.expected", "text.contamination")
    recipe.write_text(f"{text}loss_alarms: {{min_rows: 10, expected: [text.contamination]}}\n")
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    assert all(len(one) < 40 for one in left(tmp_path))


@pytest.mark.processes
def test_bad_sets_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "lines.txt").write_bytes(b"caf\xe9 au lait\n")
    refused = ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"), 1)
    assert_told(refused, "recipe.yaml:8", "annotate[0].text.contamination", "lines.txt", "line 1", "LATIN1")
    text = (tmp_path / "recipe.yaml").read_text()
    for line, told in (("quiz: {file: gone.jsonl}", "gone.jsonl"), ("lines: {file: lines.txt}", "lines")):
        (tmp_path / "recipe.yaml").write_text(text.replace("quiz: {file: quiz.jsonl, answer: [answer]}", line))
        assert_told(ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"), 1), told)
    assert not (tmp_path / "store").exists()


@pytest.mark.processes
def test_the_report_tells_which_items_are_in_the_samples(tmp_path: Path) -> None:
    write(tmp_path, "max_ngram_words: 13")
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    found = json.loads(ended(run_here(tmp_path, "contamination", "recipe.yaml", "--json")))["text.contamination"]
    assert [(one["set"], one["items"], one["short"], one["found"], one["whole"]) for one in found["sets"]] == [
        ("quiz", 3, 1, 2, 2),
        ("lines", 1, 0, 0, 0),
    ]
    assert found["sources"] == [{"source": "pages", "measured": 19, "samples": 6}]
    water, cows = found["items"]
    assert (water["item"], water["samples"], water["found"], water["answered"]) == (2, 4, 1, False)
    assert (cows["item"], cows["samples"], cows["question"]) == (1, 2, COWS)
    lowest = min(one for one, row in measured(tmp_path).items() if row["item"] == [1])  # type: ignore[index]
    assert cows["id"] == lowest.hex()
    told = ended(run_here(tmp_path, "contamination", "recipe.yaml", "--limit", "1"))
    assert_told(told, "quiz:2", "4", "100.0%")
    assert "quiz:1" not in told
    assert "lines:1" not in told
    shorter = "  - text.contamination: {as: text.short, max_ngram_words: 4, sets: {lines: {file: lines.txt}}}\n"
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace(DROP, shorter + DROP))
    ended(run_here(tmp_path, "annotate", "recipe.yaml", "--workers", "1"))
    told = ended(run_here(tmp_path, "contamination", "recipe.yaml"))
    assert "lines:1" in told.partition("Evaluation sets by text.short")[2]
    assert_told(ended(run_here(tmp_path, "contamination", "store"), 1), "text.contamination")


@pytest.mark.processes
def test_an_evaluation_set_that_is_the_corpus_is_an_alarm(tmp_path: Path) -> None:
    write(tmp_path)
    recipe = tmp_path / "recipe.yaml"
    text = recipe.read_text().replace("common_documents: 4", "max_ngram_words: 8")
    text = text.replace("lines: {file: lines.txt}", "lines: {file: pages/a.jsonl, question: [text]}")
    text = text.replace("key: id}", "key: id}\n  more: {root: more, files: ['*.txt'], class: public}")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "one.txt").write_text("Something else that nobody has asked for in any quiz.")
    recipe.write_text(f"{text}loss_alarms: {{min_rows: 10}}\n")
    refused = run_here(tmp_path, "run", "recipe.yaml", "--workers", "1")
    assert_told(ended(refused, 1), "contaminated", "of the source pages", "loss_alarms", "expected")
    assert_told(refused.out, "ALARM", "contaminated")
    assert_told(ended(run_here(tmp_path, "contamination", "recipe.yaml")), "ALARM", "source pages")
    recipe.write_text(f"{text}loss_alarms: {{min_rows: 10, expected: [contaminated]}}\n")
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    assert left(tmp_path) == ["Something else that nobody has asked for in any quiz."]
