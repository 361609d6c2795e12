"""`winnow duplicates`: the clusters of a store, a row's own, and where it differs from its match."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import ended, run_here
from tests.made_once import made_once
from tests.messages import assert_told
from tests.pipelines.dedupe.search import changed, prose
from winnow.pipelines.query.cluster_counts import ESTIMATE
from winnow.runners.commands.main import main
from winnow.runners.facts.duplicates import similar

pytestmark = pytest.mark.processes

RECIPE = """\
version: 1
store: {path: store, seed: 7, shard_rows: 2000, task_bytes: 64 KiB}
sources:
  books: {root: books, files: ["*.jsonl"], class: public, key: id}
  pages: {root: pages, files: ["*.jsonl"], class: web, key: id}
annotate: [{text.pii: {kinds: [email]}}]
dedupe: {exact: {}, url: {}, near: {min_similarity: 0.7}}
edits: [text.pii]
"""
MANY = 5000
CHINESE = (
    "春天的早晨，村子里的人都到河边去看那座新修好的磨坊。老人说，上一次洪水把旧的冲走以后，大家花了三年才把它重新"
    "盖起来。孩子们在桥上跑来跑去，渔夫把网晒在岸边的石头上，空气里有面粉和青草的味道。"
)
ARABIC = (
    "في صباح الربيع خرج أهل القرية إلى النهر ليروا الطاحونة الجديدة التي بنوها بعد الفيضان. قال الشيخ إن القديمة "
    "جرفها الماء قبل ثلاث سنوات وإن الناس عملوا معا حتى عادت. كان الأطفال يركضون فوق الجسر والصيادون يجففون "
    "شباكهم على الحجارة."
)
THAI = (
    "เช้าวันหนึ่งในฤดูใบไม้ผลิชาวบ้านพากันไปที่ริมแม่น้ำเพื่อดูโรงสีหลังใหม่ที่สร้างขึ้นหลังน้ำท่วม ผู้เฒ่าเล่าว่าหลังเก่าถูกน้ำพัดไปเมื่อสามปีก่อน"
    "และทุกคนช่วยกันสร้างมันขึ้นมาใหม่ เด็กๆ วิ่งเล่นบนสะพาน ชาวประมงตากแหไว้บนก้อนหิน"
)
LATIN = " ".join(prose(1))
HOST = "bergwerk-7.org"
ADA = f"ada.keller@{HOST}"
HOSTILE = f"{' '.join(prose(2))}\nend \x1b[31mred\u202e\u0301\u0301 <script>"

BOOKS = {
    "latin": LATIN,
    "latin2": " ".join(changed(prose(1), 0.02, 1)),
    "latin3": LATIN.upper(),
    "chinese": CHINESE,
    "chinese2": CHINESE.replace("渔夫", "农民"),
    "arabic": ARABIC,
    "arabic2": ARABIC.replace("الشيخ", "العجوز"),
    "thai": THAI,
    "thai2": THAI.replace("ผู้เฒ่า", "ลุง"),
    "hostile": HOSTILE,
    "hostile2": HOSTILE.replace("31mred", "32mgreen"),
    "mail": f"{' '.join(prose(3))} Write to {ADA} for one.",
    "mail2": f"{' '.join(prose(3))} Write to {ADA} for two.",
    "alone": " ".join(prose(4)),
    "empty": "!?!",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe and its store, searched for duplicates."""
    return made_once(tmp_path_factory, "duplicates", searched)


def searched(folder: Path) -> None:
    books = [{"id": name, "url": f"https://books.example/{name[:5]}", "text": text} for name, text in BOOKS.items()]
    pages = [{"id": str(number), "text": "The same text again and again and again."} for number in range(MANY)]
    for name, rows in (("books", books), ("pages", pages)):
        (folder / name).mkdir()
        (folder / name / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1"]) == 0


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def winnow(folder: Path) -> "Winnow":
    return Winnow(folder)


@dataclass(frozen=True)
class Winnow:
    """The command line on that folder."""

    folder: Path

    def __call__(self, *arguments: str, place: str = "recipe.yaml", status: int = 0) -> str:
        given = [str(self.folder / place) if word == "PLACE" else word for word in arguments]
        done = run_here(self.folder, "duplicates", *given)
        assert "\x1b" not in done.out
        assert "\u202e" not in done.out
        return ended(done, status)

    def id(self, record: str) -> str:
        """The id of the row that its source gave this key."""
        for path in sorted((self.folder / "store/samples").rglob("*.parquet")):
            for row in pq.read_table(path, columns=["id", "source"]).to_pylist():
                if row["source"]["record"] == record:
                    return str(row["id"].hex())
        raise KeyError(record)


def test_every_kind_in_one_line_and_its_clusters_by_size(winnow: Winnow) -> None:
    shown = winnow("PLACE")
    assert_told(shown, "compared")
    assert "exact  rows  5,015     5,015         1        5,000    4,999  99.7 %    5,000\n" in shown
    assert "near   rows  5,015     5,014         7        5,013    5,006  99.8 %    5,000\n" in shown
    assert "\nrows     exact  url  near\n" in shown
    assert "\n1000+        1    0     1\n" in shown


def test_the_largest_clusters_are_those_of_most_different_texts(winnow: Winnow) -> None:
    found = json.loads(winnow("PLACE", "--kind", "near", "--json"))["kinds"]["near"]
    assert list(found) == [
        "rows", "compared", "forgotten", "stale", "clusters", "rows_in_clusters", "surplus", "most_rows", "sizes",
        "largest",
    ]  # fmt: skip
    assert found["sizes"] == {"1": 1, "2": 5, "3-4": 1, "5-9": 0, "10-99": 0, "100-999": 0, "1000+": 1}
    assert (found["most_rows"], found["surplus"], found["forgotten"]) == (MANY, 5006, 0)
    sizes = [(cluster["texts"], cluster["rows"]) for cluster in found["largest"]]
    assert sizes == [(2, 3), *[(2, 2)] * 5, (1, MANY)]
    many = found["largest"][-1]
    assert (many["sources"], many["languages"], many["lowest_similarity"]) == ({"pages": MANY}, {}, 1.0)
    assert many["examples"][0] == {"id": many["cluster"], "text": "The same text again and again and again."}
    assert len(json.loads(winnow("PLACE", "--json", "--limit", "2"))["kinds"]["near"]["largest"]) == 2


def test_what_an_edit_takes_out_of_a_text_is_shown_nowhere(winnow: Winnow) -> None:
    every = winnow("PLACE"), winnow("PLACE", "--json"), winnow("show", "PLACE", winnow.id("mail"), "--lines", "0")
    whole = json.loads(winnow("show", "PLACE", winnow.id("mail"), "--json"))["compared"]["difference"]
    assert not any(HOST in shown for shown in (*every, str(whole)))
    assert whole["runs"][0]["left"].endswith("Write to <EMAIL> for")
    assert HOST in winnow("show", "PLACE", winnow.id("mail"), "--raw", "--lines", "0")


def test_of_a_store_alone_no_text_is_shown_but_as_it_was_read(winnow: Winnow) -> None:
    listed = winnow("PLACE", place="store")
    assert "again and again" not in listed
    assert_told(listed, "give the recipe")
    assert "again and again" in winnow("PLACE", "--raw", place="store")
    row = winnow("show", "PLACE", winnow.id("latin"), place="store")
    assert LATIN[:10] not in row
    assert_told(row, "FineWeb's", "recipe sets")
    assert "or --raw\n" in row


def test_a_row_is_shown_with_its_cluster_and_where_it_differs(winnow: Winnow) -> None:
    own, other = winnow.id("chinese"), winnow.id("chinese2")
    shown = winnow("show", "PLACE", own[:10])
    assert_told(shown, "near:", str(min(own, other)), "2 rows", "2")
    first, second = (line.split() for line in shown.split("near: ")[1].splitlines()[3:5])
    assert first[:3] == [own[:12], "books", str(len(CHINESE))]
    assert "this row" in " ".join(first)
    assert second[0] == other[:12]
    assert "match" in " ".join(second)
    assert "[-渔夫-]" in shown
    assert "{+农民+}" in shown
    assert "equal words" in shown
    assert "Jaccard 0." in shown


@pytest.mark.parametrize(
    ("name", "gone", "new"), [("arabic", "الشيخ", "العجوز"), ("latin2", "x", "w"), ("thai", "ผู้เฒ่", "ลุ")]
)
def test_scripts_are_aligned_by_their_words(winnow: Winnow, name: str, gone: str, new: str) -> None:
    shown = winnow("show", "PLACE", winnow.id(name), "--lines", "0")
    assert f"[-{gone}" in shown
    assert f"{{+{new}" in shown


def test_hostile_text_is_written_out(winnow: Winnow) -> None:
    shown = winnow("show", "PLACE", winnow.id("hostile"), "--lines", "0")
    assert "\\x1b[" in shown
    assert "\\u202e" in shown


def test_json_has_it_all(winnow: Winnow) -> None:
    own, other = winnow.id("arabic"), winnow.id("arabic2")
    found = json.loads(winnow("show", "PLACE", own, "--json"))
    assert list(found) == ["id", "clusters", "decided", "not_decided", "compared", "not_compared"]
    assert (found["decided"], found["not_decided"]) == (True, None)
    assert list(found["clusters"]) == ["exact", "url", "near"]
    assert found["clusters"]["exact"]["status"] == "unmatched"
    near = found["clusters"]["near"]
    assert (near["cluster"], near["rows"], near["texts"], near["matched"]) == (min(own, other), 2, 2, other)
    assert list(near["members"][0]) == [
        "id", "source", "url", "language", "characters", "similarity", "matched", "by", "names_cluster", "goes",
        "duplicate_of",
    ]  # fmt: skip
    assert [member["id"] for member in near["members"]] == [own, other]
    assert near["members"][0]["characters"] == len(ARABIC)
    pair = found["compared"]
    assert (pair["left"], pair["right"], pair["matched"], pair["scheme"]) == (own, other, "near", "5 words")
    assert 0.7 < pair["jaccard"] == pair["shared_shingles"] / pair["shingles"] < 1
    runs = pair["difference"]["runs"]
    assert [run["left"] for run in runs if not run["same"]] == ["الشيخ"]
    assert " ".join(run["left"].strip() for run in runs) == ARABIC


def test_a_large_cluster_is_cut_and_what_is_left_out_counted(winnow: Winnow) -> None:
    found = json.loads(winnow("PLACE", "--kind", "exact", "--json"))["kinds"]["exact"]["largest"][0]
    shown = winnow("show", "PLACE", found["cluster"], "--limit", "7", "--kind", "exact")
    assert "and 4,993 more (--limit N)\n" in shown
    assert shown.count("\n") < 25
    assert "no differences except white space" in shown
    row = json.loads(winnow("show", "PLACE", found["cluster"], "--limit", "7", "--json"))["clusters"]["exact"]
    assert (len(row["members"]), row["not_listed"], row["found"]) == (7, 4993, MANY)
    assert row["members"][0]["names_cluster"]


STALE = "was made with other settings or rows; run winnow dedupe RECIPE to update it"


def test_layers_that_the_recipe_would_make_otherwise_are_said_to_be_stale(copy: Path, tmp_path: Path) -> None:
    winnow = Winnow(copy)
    stricter = copy / "stricter.yaml"
    stricter.write_text(RECIPE.replace("min_similarity: 0.7", "min_similarity: 0.9"))
    assert f"\nnote  dedupe.near {STALE}\n" in winnow("PLACE", place="stricter.yaml")
    assert STALE not in winnow("PLACE")
    assert STALE not in winnow("PLACE", "--kind", "exact", place="stricter.yaml")

    def stale(*arguments: str, place: str, at: str = "kinds") -> dict[str, bool | None]:
        found = json.loads(winnow(*arguments, "--json", place=place))[at]
        return {kind: said["stale"] for kind, said in found.items()}

    row = ("show", "PLACE", winnow.id("arabic"))
    assert stale("PLACE", place="stricter.yaml") == {"exact": False, "url": False, "near": True}
    assert stale("PLACE", place="recipe.yaml") == {"exact": False, "url": False, "near": False}
    assert stale("PLACE", place="store") == {"exact": None, "url": None, "near": None}
    assert stale(*row, place="stricter.yaml", at="clusters") == {"exact": False, "url": False, "near": True}
    assert f"\nnote  dedupe.near {STALE}\n" in winnow(*row, place="stricter.yaml")
    for recipe, noted in (("stricter.yaml", True), ("recipe.yaml", False)):
        page = tmp_path / "page.html"
        assert main(["report", str(copy / recipe), "--output", str(page)]) == 0
        assert (f"dedupe.near {STALE}." in page.read_text()) == noted


def test_who_goes_is_told_apart_from_what_is_not_decided(copy: Path) -> None:
    winnow = Winnow(copy)
    own, other = winnow.id("arabic"), winnow.id("arabic2")

    def goes(*arguments: str, place: str = "recipe.yaml") -> tuple[bool, str | None, set[str | None]]:
        found = json.loads(winnow("show", "PLACE", own, *arguments, "--json", place=place))
        members = found["clusters"]["near"]["members"]
        assert {member["id"] for member in members} == {own, other}
        return found["decided"], found["not_decided"], {member["goes"] for member in members}

    shown = winnow("show", "PLACE", own)
    assert "dropped as" in shown
    gone = f"note  the plan drops this row as duplicate_url and keeps {other}"
    kept = winnow("show", "PLACE", other)
    assert (gone in shown) != (f"as duplicate_url: {own} stays" in kept)
    assert goes() == (True, None, {None, "duplicate_url"})  # they share an address

    decided, why, reasons = goes(place="store")
    assert (decided, reasons) == (False, {None})
    assert_told(str(why), "needs the recipe", whole=True)
    shown = winnow("show", "PLACE", own, place="store")
    assert "dropped as" not in shown
    assert_told(shown, "drops as duplicates")

    for name, change in (
        ("strict.yaml", ("min_similarity: 0.7", "min_similarity: 0.9")),
        (
            "lacking.yaml",
            ("\nedits:", "\neligible: [{drop: text.language.score < 1, reason: x, when_null: drop}]\nedits:"),
        ),
        ("none.yaml", ("dedupe: {", "dedupe: {representative: [], ")),
    ):
        (copy / name).write_text(RECIPE.replace(*change))
    decided, why, members = goes(place="strict.yaml")
    assert (decided, members) == (False, {None})
    assert "the layer dedupe.near of generation" in str(why)
    assert "was made with other settings" in str(why)
    assert "; run: winnow dedupe" in str(why)
    shown = winnow("show", "PLACE", own, place="strict.yaml")
    assert "dropped as" not in shown
    assert_told(shown, "plan drops", str(why))

    decided, why, members = goes(place="lacking.yaml")
    assert (decided, members) == (False, {None})
    assert "eligible[0]: text.language is not measured" in str(why)
    assert "\n" not in str(why)

    assert goes(place="none.yaml") == (True, None, {None})
    shown = winnow("show", "PLACE", own, place="none.yaml")
    assert "dropped as" not in shown
    assert_told(shown, "plan drops none")


@pytest.mark.parametrize(
    ("value", "by", "said"),
    [
        (1.0, "equal", "1"), (1.0, "jaccard", "1"), (1.0, "estimate", ".999"), (1.0, None, ".999"),
        (0.99999, "jaccard", ".999"), (0.9142, "estimate", ".914"), (None, None, ""),
    ],
)  # fmt: skip
def test_an_estimate_never_reads_as_1(value: float | None, by: str | None, said: str) -> None:
    assert similar(value, exact=by not in (None, ESTIMATE)) == said


@pytest.mark.parametrize("damage", ["empty", "cut", "garbage", "gone"])
def test_a_damaged_layer_is_one_line_that_says_what_to_do(copy: Path, tmp_path: Path, damage: str) -> None:
    damaged = max((copy / "store/layers/dedupe.near").rglob("*.parquet"), key=lambda path: path.stat().st_size)
    whole = damaged.read_bytes()
    damaged.unlink()
    shutil.rmtree(copy / "store/decisions")  # kept counts need no layer
    if damage != "gone":
        damaged.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "garbage": b"\x00\xff" * 999}[damage])
    there = Winnow(copy)
    what = "is missing" if damage == "gone" else "is damaged: "
    page = ended(run_here(copy, "report", "recipe.yaml", "--output", str(tmp_path / "page.html")), 1)
    for said in (there("PLACE", status=1), there("show", "PLACE", there.id("1"), status=1), page):
        assert said.count("\n") == 1
        assert f"{damaged.relative_to(copy / 'store')} {what}" in said
        assert_told(said, "'winnow dedupe RECIPE'")


def test_two_rows_of_ones_own_choice_are_compared(winnow: Winnow) -> None:
    shown = winnow("show", "PLACE", winnow.id("thai"), "--with", winnow.id("chinese"), "--lines", "3")
    assert_told(shown, "row given", "--with")
    assert "Jaccard 0.0000" in shown
    assert "more lines (--lines 0 shows all)" in shown


def test_what_cannot_be_shown_is_said_in_one_line(winnow: Winnow) -> None:
    def refused(*arguments: str, place: str = "recipe.yaml") -> str:
        said = winnow(*arguments, place=place, status=1)
        assert said.count("\n") == 1
        return said

    own = winnow.id("latin")
    assert "has no sample of id ffffffffffff0" in refused("show", "PLACE", "ffffffffffff0")
    what = "is not an id: expected 1 to 32 hexadecimal digits, as winnow duplicates prints them"
    assert refused("show", "PLACE", "latin") == f"winnow: 'latin' {what}\n"
    assert refused("show", "PLACE", own, "--with", "zz") == f"winnow: --with 'zz' {what}\n"
    assert refused("show", "PLACE", "") == f"winnow: '' {what}\n"
    assert "more than one sample begins with" in refused("show", "PLACE", own[:1])
    assert "is the row itself" in refused("show", "PLACE", own, "--with", own)
    assert "write: winnow duplicates show" in refused("PLACE", own)
    assert "expected RECIPE|STORE and ID" in refused("show", "PLACE")
    assert "--limit 0: expected 1 to 10,000" in refused("PLACE", "--limit", "0")
    assert "--with ID compares two rows" in refused("PLACE", "--with", own)
    assert "expected a recipe file or a store folder" in refused("PLACE", place="nothing")


def test_a_row_that_is_alone_and_one_that_was_not_compared_say_so(winnow: Winnow) -> None:
    alone, empty = winnow.id("alone"), winnow.id("empty")
    said = winnow("show", "PLACE", alone, "--kind", "near", status=1)
    assert said == f"winnow: {alone}: near: no duplicates\n"
    said = winnow("show", "PLACE", empty, "--kind", "near", status=1)
    assert said == f"winnow: {empty}: near: not compared (no_words)\n"


def test_nothing_of_a_forgotten_row_is_shown(copy: Path, winnow: Winnow) -> None:
    own, other = winnow.id("chinese"), winnow.id("chinese2")
    assert main(["forget", str(copy / "recipe.yaml"), "--id", own]) == 0
    there = Winnow(copy)
    assert_told(there("show", "PLACE", own, status=1), "forgotten and cannot")
    left = there("show", "PLACE", other)
    assert "渔夫" not in left
    assert_told(left, "note  1", "forgotten later")
    assert_told(left, "matching row")
    listed = there("PLACE", "--json")
    assert "渔夫" not in listed
    found = json.loads(listed)["kinds"]["near"]
    assert found["forgotten"] == 1
    (cluster,) = (one for one in found["largest"] if one["cluster"] == min(own, other))
    assert (cluster["rows"], cluster["forgotten"], cluster["sources"]) == (2, 1, {"books": 1})
    assert [one["id"] for one in cluster["examples"]] == [other]
    assert_told(there("PLACE"), "1", "forgotten later")
    assert not found["stale"]  # of all rows that are shown it is true
    assert "were made with other settings" not in there("PLACE")
    assert main(["gc", str(copy / "recipe.yaml"), "--purge"]) == 0
    assert "run: winnow dedupe RECIPE" in there("PLACE", status=1)


def test_without_the_key_of_its_edits_no_text_is_listed(copy: Path) -> None:
    keyed = copy / "keyed.yaml"
    edits = 'environment: {NO_SUCH_KEY: {}}\nedits: [{text.pii: {replace: pseudonym, key: "${NO_SUCH_KEY}"}}]\n'
    keyed.write_text(RECIPE.replace("edits: [text.pii]\n", edits))
    assert_told(Winnow(copy)("PLACE", place="keyed.yaml", status=1), "environment variable", "NO_SUCH_KEY")
    page = copy / "keyed.html"
    assert main(["report", str(keyed), "--output", str(page)]) == 0
    assert "not shown" in page.read_text().partition('id="duplicates"')[2].partition("</section>")[0]


def test_the_report_shows_them_as_they_would_be_exported(folder: Path) -> None:
    page = (folder / "store/report.html").read_text()
    assert 'id="duplicates"' in page
    assert "Clusters by size (near)" in page
    assert "The same text again and again and again." in page
    assert "pages\N{NO-BREAK SPACE}5,000" in page
