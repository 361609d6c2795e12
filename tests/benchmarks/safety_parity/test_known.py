"""The texts that come with winnow, and the languages that texts are of."""

from benchmarks.parity.documents import Document
from benchmarks.safety_parity.known import DECLARATION, Known, bundled, passages, with_codes
from winnow.schemas.languages import language
from winnow.schemas.safety import subcategories


def test_there_are_declarations_and_passages_in_many_languages() -> None:
    known = list(bundled())
    names = [one.document.id for one in known]
    assert len(names) == len(set(names))
    assert len({one.document.language for one in known if one.topic == DECLARATION}) > 30
    assert all(one.planted is None for one in known)
    clean = passages()["clean"]
    assert len(clean) > 35
    for topic in ("health", "law", "sex education"):
        assert sum(topic in topics for topics in clean.values()) > 25


def test_what_is_written_to_be_planted_is_of_the_taxonomy() -> None:
    for iso, kinds in passages()["planted"].items():
        assert language(iso) is not None
        assert kinds.keys() <= subcategories().keys()


def test_a_declared_language_is_read_whatever_its_spelling_and_its_script_is_that_of_the_text() -> None:
    texts = [("pt-BR", "Todos os seres humanos"), ("srp", "Сва људска бића"), ("zh-CN", "人人生而自由"), ("xx", "a b")]
    known = [Known(Document("a", text, tag), "plain") for tag, text in texts]
    assert [one.document.language for one in with_codes(known)] == ["por_Latn", "srp_Cyrl", "cmn_Hani", "und_Latn"]


def test_a_language_that_is_not_declared_is_found() -> None:
    text = "Alle Menschen sind frei und gleich an Würde und Rechten geboren und sollen einander brüderlich begegnen."
    mixed = [Known(Document("a", text), "plain"), Known(Document("b", text, "gsw"), "plain")]
    assert [one.document.language for one in with_codes(mixed)] == ["deu_Latn", "gsw_Latn"]
