"""A recipe's edits: bound to columns, with their keys, and applied to texts."""

import os
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from tests.messages import assert_refused, assert_told
from winnow.filters.spans import SPANS, TYPED_SPANS
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.reading.text_edits import with_keys
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import Recipe, recipe_from_text

KEY = "sixteen-bytes-of-it"


def recipe(
    edits: str, annotate: str = "[text.c4, text.refinedweb, text.secrets, text.length]", name: str = "r.yaml"
) -> Recipe:
    return recipe_from_text(
        'version: 1\nstore: {path: s}\nsources: {a: {root: r, files: ["*"], class: web}}\n'
        f"environment: {{PII_KEY: {{}}}}\nannotate: {annotate}\nedits: {edits}\n",
        name,
    )


def complaint(edits: str, annotate: str = "[text.c4, text.secrets, text.length]") -> str:
    with pytest.raises(RecipeError) as caught:
        _ = bind(recipe(edits, annotate)).edits
    return str(caught.value)


def test_a_layers_name_means_its_column_of_spans() -> None:
    bound = bind(recipe("[text.c4, text.refinedweb.removed, {text.secrets: {kinds: [jwt]}}]")).edits
    assert [(one.column.name, one.action, one.kinds) for one in bound] == [
        ("text.c4.removed", "delete", None),
        ("text.refinedweb.removed", "delete", None),
        ("text.secrets.spans", "placeholder", ("jwt",)),
    ]


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ("[text.secret]", "edits[0].text.secret … 'text.secret' … 'text.secrets'"),
        (
            "[text.c4.remove]",
            "edits[0].text.c4.remove … 'text.c4.remove' … 'text.c4.removed'",
        ),
        (
            "[text.length]",
            "edits[0].text.length … text.length … text.c4.removed",
        ),
        (
            "[text.length.bytes]",
            "edits[0].text.length.bytes … text.length.bytes … text.c4.removed",
        ),
        (
            "[{text.c4: {replace: placeholder}}]",
            "edits[0].text.c4 … text.c4.removed",
        ),
        (
            "[{text.c4: {kinds: [email]}}]",
            "edits[0].text.c4 … text.c4.removed … 'kinds'",
        ),
        (
            "[text.c4, text.c4.removed]",
            "edits[1].text.c4.removed … text.c4.removed … edits[0].text.c4",
        ),
    ],
)
def test_a_column_that_cannot_be_edited_is_refused_with_its_line(edits: str, message: str) -> None:
    assert_told(complaint(edits), "r.yaml:6", message, whole=True)


def test_layers_of_edits_must_be_measured() -> None:
    assert_told(
        complaint("[text.secrets]", "[text.length]"),
        "r.yaml:6",
        "edits[0].text.secrets",
        "'text.secrets'",
        "'annotate'",
        whole=True,
    )


NULL_TEXTS = pa.array(["ada@host.org " * 3, None, "clean", "k3y"], pa.large_string())
NULL_SPANS = {
    "text.c4.removed": pa.array([[{"start": 0, "end": 4}], None, [], []], SPANS),
    "text.c4.status": pa.array(["ok"] * 4),
    "text.secrets.spans": pa.array([None, None, [], [{"start": 0, "end": 3, "kind": "jwt"}]], TYPED_SPANS),
    "text.secrets.status": pa.array(["too_many_spans", "ok", "ok", "ok"]),
}


@pytest.mark.parametrize(
    ("setting", "first", "dropped"),
    [
        ("", None, True),
        ("when_null: drop", None, True),
        ("when_null: keep", "host.org ada@host.org ada@host.org ", False),
    ],
)
@pytest.mark.parametrize("kinds", ["", "kinds: [jwt]"])
def test_a_text_without_spans_is_dropped_unless_the_recipe_keeps_it(
    setting: str, kinds: str, first: str | None, dropped: bool
) -> None:
    options = ", ".join(filter(None, (setting, kinds)))
    edits = with_keys(bind(recipe(f"[text.c4, {{text.secrets: {{{options}}}}}]")).edits, {})
    made = edits.apply(NULL_TEXTS, NULL_SPANS)
    assert made.texts.to_pylist() == [first, None, "clean", "<JWT>"]
    assert made.dropped.to_pylist() == [dropped, False, False, False]


def test_when_null_error_names_the_layer_and_its_status() -> None:
    edits = with_keys(bind(recipe("[text.c4, {text.secrets: {when_null: error}}]")).edits, {})
    with pytest.raises(RecipeError) as caught:
        edits.apply(NULL_TEXTS, NULL_SPANS)
    assert_told(
        str(caught.value),
        "r.yaml:6",
        "edits[1].text.secrets",
        "text.secrets.spans",
        "text 0",
        "text.secrets.status",
        "'too_many_spans'",
        whole=True,
    )
    rest = {name: column.slice(1) for name, column in NULL_SPANS.items()}
    assert edits.apply(NULL_TEXTS.slice(1), rest).texts.to_pylist() == [None, "clean", "<JWT>"]


PII = '{text.secrets: {replace: pseudonym, key: "${PII_KEY}"}}'


def test_texts_are_edited_as_the_recipe_says() -> None:
    edits = with_keys(
        bind(recipe('[text.c4, {text.secrets: {kinds: [jwt], placeholders: {jwt: "[token]"}}}]')).edits, {}
    )
    texts = pa.array(["one two three four", None, "five"], pa.large_string())
    spans = {
        "text.c4.removed": pa.array([[{"start": 0, "end": 4}], None, []], SPANS),
        "text.secrets.spans": pa.array(
            [[{"start": 4, "end": 7, "kind": "jwt"}, {"start": 8, "end": 13, "kind": "npm_token"}], None, []],
            TYPED_SPANS,
        ),
    }
    assert {column.name for column in edits.columns} == {*spans, "text.c4.status", "text.secrets.status"}
    made = edits.apply(texts, spans)
    assert made.texts.to_pylist() == ["[token] three four", None, "five"]
    assert made.dropped.to_pylist() == [False, False, False]
    one = {name: column.slice(0, 1) for name, column in spans.items()}
    assert [(edit.start, edit.end, written) for edit, written in edits.of("one two three four", one)] == [
        (0, 4, ""),
        (4, 7, "[token]"),
    ]


def test_the_key_of_pseudonyms_comes_from_a_variable_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/pii.key").write_bytes(KEY.encode() + b"\n")
    by_file = recipe("[{text.secrets: {replace: pseudonym, key_file: keys/pii.key}}]", name=str(tmp_path / "r.yaml"))
    spans = {"text.secrets.spans": pa.array([[{"start": 0, "end": 3, "kind": "jwt"}]], TYPED_SPANS)}
    written = {
        with_keys(bind(one).edits, env).apply(pa.array(["abc"], pa.large_string()), spans).texts[0].as_py()
        for one, env in ((recipe(f"[{PII}]"), {"PII_KEY": KEY}), (by_file, {}))
    }
    assert len(written) == 1
    assert next(iter(written)).startswith("<JWT_")


def test_bound_edits_can_be_pickled_and_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PII_KEY", KEY)
    bound = bind(recipe(f"[{PII}]")).edits
    assert KEY.encode() not in pickle.dumps(bound)
    assert KEY not in repr(with_keys(bound))


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "PII_KEY … 16 bytes"),
        ({"PII_KEY": "short"}, "5 bytes … expected 16"),
    ],
)
def test_a_missing_or_short_key_is_refused_with_its_line(env: dict[str, str], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        with_keys(bind(recipe(f"[{PII}]")).edits, env)
    assert_told(str(caught.value), "r.yaml:6", "edits[0].text.secrets.key", message)
    assert "short" not in str(caught.value)


def test_a_file_without_a_key_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"k" * 100_000)
    messages = {"gone": "No such file", "pipe": "not a file", ".": "not a file", "large": "only the key"}
    for name, message in messages.items():
        edits = f"[{{text.secrets: {{replace: pseudonym, key_file: {name}}}}}]"
        with pytest.raises(RecipeError, match=rf"edits\[0\].text.secrets.key_file: .*{message}"):
            with_keys(bind(recipe(edits, name=str(tmp_path / "r.yaml"))).edits, {})


def test_an_unknown_kind_is_refused_with_a_suggestion() -> None:
    text = """
version: 1
store: {path: store}
sources: {lines: {root: lines, files: ["*.jsonl"], class: web}}
annotate: [{text.pii: {kinds: [email, ip]}}, text.secrets]
edits:
- {text.pii: {kinds: [emial]}}
- {text.secrets: {placeholders: {githb_token: X}}}
"""
    with pytest.raises(RecipeError) as refused:
        _ = bind(recipe_from_text(text)).edits
    assert_told(str(refused.value), "text.pii", "'emial'", "'email'")
    assert_told(str(refused.value), "text.secrets", "'githb_token'", "'github_token'")


def extracting(text: str) -> Recipe:
    return recipe_from_text(
        'version: 1\nstore: {path: s}\nsources: {a: {root: r, files: ["*"], class: web}}\n'
        f"extract: {{main: {{}}, trafilatura: {{}}}}\ntext: {text}\nedits: [extract.main.comments]\n",
        "r.yaml",
    )


def test_comments_of_an_extractor_are_cut_out_of_its_own_text_alone() -> None:
    bound = bind(extracting("coalesce(extract.main.text, samples.text)"))
    (edit,) = bound.edits
    assert (edit.column.name, edit.action, edit.when_null) == ("extract.main.comments", "delete", "keep")
    spans = pa.array([[{"start": 3, "end": 6}], None, []], SPANS)
    edited = with_keys(bound.edits).apply(
        pa.array(["abc\n\nd", "samples.text", "x"], pa.large_string()), {"extract.main.comments": spans}
    )
    assert edited.texts.to_pylist() == ["abc", "samples.text", "x"]
    assert not any(edited.dropped.to_pylist())
    with assert_refused(RecipeError, "extract.main.text", "'text'"):
        _ = bind(extracting("coalesce(extract.trafilatura.text, extract.main.text)")).edits
