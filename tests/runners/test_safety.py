"""Safety of text from the command line: measured, planned, reported, carded; the same on one worker and on two."""

import json
from pathlib import Path

import pytest

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.messages import assert_told
from tests.runners.test_annotate import table
from winnow.pipelines.assets import find_asset, state_of

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 6, task_bytes: 1 KiB}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id, columns: {url: url}}
annotate:
  - text.language
  - {url.blocklist: {list: lists/blocked.txt, category: danger.listed_site}}
  - {url.blocklist: {as: url.opted_out, list: lists/opted-out.txt, category: rights.listed_domain}}
  - text.wordlist
  - text.spam
  - {text.pii: {kinds: [email, ip, iban, card]}}
  - text.secrets
keep:
  - {drop: url.blocklist.hit, reason: listed, when_null: keep}
  - {drop: url.opted_out.hit, reason: opted_out, when_null: keep}
  - {preset: spam}
edits:
  - {text.pii: {replace: placeholder}}
  - {text.secrets: {replace: placeholder}}
"""
ENGLISH = "The old mill by the river was rebuilt by the people of the village after the flood of that spring. "
AMHARIC = "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው፡፡ "
ROWS = [
    {"id": "clean", "url": "https://mill.example/1", "text": ENGLISH},
    {
        "id": "mail",
        "url": "https://mill.example/2",
        "text": f"{ENGLISH}Write to anna.keller@bergwerk-7.org for a tour.",
    },
    {"id": "listed", "url": "https://deep.bad.example/x", "text": ENGLISH},
    {"id": "opted", "url": "https://www.quiet.example/", "text": ENGLISH},
    {"id": "amharic", "url": "https://mill.example/3", "text": AMHARIC * 3},
    {"id": "nowhere", "text": ENGLISH},
    {
        "id": "casino",
        "url": "https://win.example/",
        "text": f"{ENGLISH}Casino, roulette, baccarat, blackjack, free spins, jackpot, sportsbook and slot machines.",
    },
    {"id": "card", "url": "https://mill.example/4", "text": f"{ENGLISH}Paid with 4111 1111 1111 1111."},
]


def written(folder: Path) -> Path:
    (folder / "lines").mkdir(parents=True)
    (folder / "lists").mkdir()
    for part in range(2):
        rows = [json.dumps({**row, "id": f"{part}-{row['id']}"}, ensure_ascii=False) for row in ROWS]
        (folder / "lines" / f"{part}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "lists" / "blocked.txt").write_text("\ufeff# ours\r\nbad.example\r\n", encoding="utf-8")
    (folder / "lists" / "opted-out.txt").write_text("quiet.example\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if state_of(find_asset("wordlists.core")) != "present":
        pytest.skip("the asset wordlists.core is not here; run: winnow assets fetch wordlists.core")
    folder = written(tmp_path_factory.mktemp("safety") / "one")
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    return folder


@pytest.mark.processes
def test_a_run_balances_and_another_number_of_workers_gives_the_same(folder: Path, tmp_path: Path) -> None:
    assert_clean(folder)
    other = written(tmp_path / "two")
    ended(run_here(other, "run", "recipe.yaml", "--workers", "2"))
    assert tree_hash(other) == tree_hash(folder)


def test_hits_name_the_list_and_the_entry(folder: Path) -> None:
    urls, hits = table(folder, "samples")["url"].to_pylist(), table(folder, "url.blocklist").to_pylist()
    found = dict(zip(urls, hits, strict=True))
    assert found["https://deep.bad.example/x"] == {
        "status": "ok",
        "hit": True,
        "list": "blocked",
        "entry": "bad.example",
        "match": "domain",
    }
    assert found["https://mill.example/1"]["hit"] is False
    assert found[None] == {"status": "no_input", "hit": None, "list": None, "entry": None, "match": None}


def test_the_plan_says_what_is_dropped_and_who_was_not_looked_at(folder: Path) -> None:
    plan = json.loads(ended(run_here(folder, "plan", "recipe.yaml", "--json")))
    dropped = {rule["reason"]: rule["dropped"]["rows"] for rule in plan["rules"]["rules"]}
    assert dropped == {"listed": 2, "opted_out": 2, "gambling_spam": 2, "sexual_spam": 0}
    safety = plan["safety"]
    languages = {one["language"]: one for one in safety["languages"]}
    assert sum(one["rows"] for one in languages.values()) == 10
    amharic, english = languages["amh_Ethi"], languages["eng_Latn"]
    assert amharic["seen"]["language.vulgar"] == amharic["seen"]["spam.gambling"] == 0
    assert amharic["seen"]["personal.email"] == amharic["rows"] == 2
    assert english["seen"]["language.vulgar"] == english["rows"] == 8
    assert english["found"]["personal.email"] == english["found"]["personal.card"] == 2
    assert english["seen"]["danger.listed_site"] == 6  # two have no address
    assert "personal.name" in safety["unwatched"]
    shown = ended(run_here(folder, "plan", "recipe.yaml"))
    assert_told(shown, "Safety:", "10", "2")
    assert "Not covered: " in shown


def test_the_report_and_the_card_say_so_too(folder: Path) -> None:
    report = (folder / "store" / "report.html").read_text(encoding="utf-8")
    assert "Safety: detector coverage" in report
    assert_told(report, "detector is unchecked")
    card = ended(run_here(folder, "card", "recipe.yaml"))
    assert card.startswith("---\npretty_name: ")
    assert "language:\n- amh\n- eng\n" in card
    assert "| personal.email | e-mail addresses | text.pii | 100.0 % | 2 |" in card
    assert "| opted\\_out | " in card
    assert "No detector for: " in card


def test_what_is_found_is_replaced_when_a_sample_is_shown(folder: Path) -> None:
    samples = table(folder, "samples").to_pylist()
    row = next(row for row in samples if row["source"]["record"] == "0-mail")
    shown = json.loads(ended(run_here(folder, "show", "recipe.yaml", row["id"].hex(), "--json")))
    assert "Write to <EMAIL> for a tour." in json.dumps(shown)


def test_a_preset_is_shown_with_its_rules(tmp_path: Path) -> None:
    shown = ended(run_here(tmp_path, "operators", "spam"))
    assert "gambling_spam: text.spam.gambling_distinct >= 6" in shown
    assert json.loads(ended(run_here(tmp_path, "operators", "spam", "--json")))[0]["name"] == "spam"


def test_a_device_is_no_place_for_decisions(folder: Path) -> None:
    done = run_here(folder, "plan", "recipe.yaml", "--decisions", "/dev/null")
    assert done.status == 1
    assert_told(done.err, "--decisions", "/dev/null")
