"""Made pages: what their bodies are, that they are written as training reads them, and that two runs are equal."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tools.main_content.making import books, landing
from tools.main_content.making.made import body_of, drawn, parsed, steady, text_of
from tools.main_content.making.texts import LANGUAGES, Passage, composed, in_script, languages_of, read_texts
from tools.main_content.making.writing import HELD_OUT, write
from tools.main_content.pages import load

BOOK = """<html><body><div class="navheader">Zurück</div>
<div class="section"><div class="titlepage"><h2>Der Kern</h2></div>
<div class="toc">Inhalt</div><p>Der Kern ist das <em>Herz</em> des Systems.</p><ul><li>erstens</li></ul>{}</div>
<div class="navfooter">Weiter</div></body></html>"""
PASSAGES = [
    Passage(f"Titel {n}", (("p", f"Satz {n} mit * und <b>."), ("li", "Punkt"), ("pre", "ls -l"), ("h2", "Mehr")))
    for n in range(6)
]


def test_a_parts_text_has_a_line_a_block_and_leaves_out_what_is_not_content() -> None:
    part = parsed('<div>a <b>b</b>c<p>d<br>e</p><script>x</script><a class="headerlink x">¶</a><pre>f\n g</pre></div>')
    assert text_of(part, (".headerlink",)) == "a bc\nd\ne\nf g"


def test_a_body_lacks_its_title_but_no_other_heading() -> None:
    assert body_of(parsed("<div><h1>Titel</h1><p>Text</p><h2>Mehr</h2><p>Text</p></div>")) == "Text\nMehr\nText"
    assert body_of(parsed("<div><p>Text</p></div>")) == "Text"


def test_a_books_body_is_what_stands_between_its_menus(tmp_path: Path) -> None:
    folder = tmp_path / "doc/debian-handbook/html/de-DE"
    folder.mkdir(parents=True)
    (folder / "sect.kern.html").write_text(BOOK.replace("navheader", "docnav").replace("navfooter", "docnav")
                                           .format("<p>Er lädt Treiber.</p>" * 20))  # fmt: skip
    (page,) = books.pages(tmp_path)
    assert page.body == "\n".join(["Der Kern ist das Herz des Systems.", "erstens", *["Er lädt Treiber."] * 20])
    assert (page.site, page.kind, page.language) == ("handbook", "documentation", "de")
    assert page.url == "https://docs.handbook.made/de/sect.kern.html"


def test_passages_are_written_so_that_markdown_reads_them_as_they_are() -> None:
    assert PASSAGES[0].markdown() == (
        "## Titel 0\n\nSatz 0 mit \\* und &lt;b&gt;.\n\n- Punkt\n\n    ls -l\n\n### Mehr\n"
    )
    assert PASSAGES[0].paragraphs == ["Satz 0 mit * und <b>."]


def test_only_what_is_translated_is_a_text(tmp_path: Path) -> None:
    for language, said in (("en-US", "The kernel starts the computer."), ("ru-RU", "Ядро запускает компьютер.")):
        folder = tmp_path / "doc/debian-handbook/html" / language
        folder.mkdir(parents=True)
        same = "<p>" + "Nobody has translated this yet. " * 20 + "</p>"
        for number in range(20):
            html = f"<html><body><h2>1. {said}</h2><p>{said * 9} {number}</p>{same}</body></html>"
            (folder / f"sect.{number:02}.html").write_text(html)
    (tmp_path / "help/C").mkdir(parents=True)
    declarations = tmp_path / "declaration"
    declarations.mkdir()
    for name in ("tha", "heb", "ben", "kat", "amh", "hye", "tam"):
        (declarations / f"{name}.html").write_text("<h1>none</h1>")
    found = read_texts(tmp_path, declarations)
    assert set(found) == {"en", "ru"}
    assert found["ru"][3] == Passage("Ядро запускает компьютер.", (("p", "Ядро запускает компьютер." * 9 + " 3"),))


def test_a_script_is_told_from_another_and_from_english() -> None:
    assert in_script("Ядро Linux запускает", "ru")
    assert not in_script("Linux kernel ядро", "ru")
    assert in_script("der Kern", "de")
    assert not in_script("the heart of the system", "de")


def test_neighbouring_sites_are_in_other_languages_and_all_in_english() -> None:
    assert set(languages_of(0, 4)) & set(languages_of(1, 4)) == {"en"}
    assert languages_of(3, 2, ["fr", "de"]) in (["en", "fr", "de"], ["en", "de", "fr"])
    assert len(LANGUAGES) >= 12


def test_choices_depend_on_the_key_alone() -> None:
    assert drawn("a", range(9), 4) == drawn("a", range(9), 4) != drawn("b", range(9), 4)
    assert composed({"de": PASSAGES}, "de", "site", 5) == composed({"de": PASSAGES}, "de", "site", 5)
    assert steady('let csrfToken: "k2"') == 'let csrfToken: "x"'
    assert steady('<input name="csrfmiddlewaretoken" value="k1">') == '<input name="csrfmiddlewaretoken" value="x">'


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """A folder of Node.js packages, whose templates are tiny."""
    for template in landing.TEMPLATES.values():
        path = tmp_path / "node_modules" / template
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "<html><head><title>T</title></head><body><nav>Home</nav>"
            "<h1>A heading of some length, long enough here</h1>"
            "<p>A paragraph of some more length, which says a little about the offer.</p><a class='btn'>Go</a>"
            "<footer>Copyright</footer></body></html>"
        )
    return tmp_path


def test_a_templates_body_is_what_was_put_in_outside_of_menus_and_buttons(templates: Path) -> None:
    for page in landing.pages(dict.fromkeys(LANGUAGES, PASSAGES), templates):
        heading, paragraph = page.body.splitlines()
        assert text_of(parsed(page.html).find("body/h1")) == heading
        assert text_of(parsed(page.html).find("body/p")) == paragraph


def test_two_runs_write_the_same_files_and_training_reads_them(templates: Path, tmp_path: Path) -> None:
    texts = dict.fromkeys(LANGUAGES, PASSAGES)
    for name in ("one", "two"):
        longer = (replace(page, body=page.body + " x" * 60) for page in landing.pages(texts, templates))
        counts = write(longer, tmp_path / name)
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.*")} for name in ("one", "two")
    )
    assert first == second
    truth = json.loads((tmp_path / "one/ground-truth.json").read_text())
    assert len(truth) == counts.total() == len(landing.TEMPLATES) * 14
    assert all(entry["made"] and entry["held_out"] == (entry["site"] in HELD_OUT) for entry in truth.values())
    pages = load(tmp_path / "one")
    assert {page.domain for page in pages} == {f"{site}.made" for site in landing.TEMPLATES}
