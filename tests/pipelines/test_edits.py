"""A recipe's edits bound to columns, with their keys, on texts."""

import os
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from winnow.filters.edits import SPANS, TYPED_SPANS
from winnow.pipelines.edits import bind_edits, with_keys
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
        bind_edits(recipe(edits, annotate))
    return str(caught.value)


def test_a_layer_stands_for_its_column_of_spans() -> None:
    bound = bind_edits(recipe("[text.c4, text.refinedweb.removed, {text.secrets: {kinds: [jwt]}}]"))
    assert [(one.column.name, one.action, one.kinds) for one in bound] == [
        ("text.c4.removed", "delete", None),
        ("text.refinedweb.removed", "delete", None),
        ("text.secrets.spans", "placeholder", ("jwt",)),
    ]


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ("[text.secret]", "edits[0].text.secret: unknown layer or column 'text.secret' (did you mean 'text.secrets'?)"),
        (
            "[text.c4.remove]",
            "edits[0].text.c4.remove: unknown layer or column 'text.c4.remove' (did you mean 'text.c4.removed'?)",
        ),
        (
            "[text.length]",
            "edits[0].text.length: text.length says nothing of what to delete or to replace: it has no spans; of spans "
            "there are: text.c4.removed, text.secrets.spans",
        ),
        (
            "[text.length.bytes]",
            "edits[0].text.length.bytes: text.length.bytes says nothing of what to delete or to replace: it has no "
            "spans; of spans there are: text.c4.removed, text.secrets.spans",
        ),
        (
            "[{text.c4: {replace: placeholder}}]",
            "edits[0].text.c4: the spans of text.c4.removed are of no kind: they can only be deleted; leave replace: "
            "placeholder out",
        ),
        (
            "[{text.c4: {kinds: [email]}}]",
            "edits[0].text.c4: the spans of text.c4.removed are of no kind: they can only be deleted; leave 'kinds' "
            "out",
        ),
        (
            "[text.c4, text.c4.removed]",
            "edits[1].text.c4.removed: edits text.c4.removed, as edits[0].text.c4 does; write one",
        ),
    ],
)
def test_what_cannot_be_edited_is_said_with_the_line(edits: str, message: str) -> None:
    assert complaint(edits) == f"r.yaml:6: {message}"


def test_the_layers_of_edits_must_be_measured() -> None:
    assert complaint("[text.secrets]", "[text.length]") == (
        "r.yaml:6: edits[0].text.secrets: unknown layer or column 'text.secrets'; name it under 'annotate' to have it "
        "measured"
    )


PII = '{text.secrets: {replace: pseudonym, key: "${PII_KEY}"}}'


def test_texts_are_edited_as_the_recipe_says() -> None:
    edits = with_keys(
        bind_edits(recipe('[text.c4, {text.secrets: {kinds: [jwt], placeholders: {jwt: "[token]"}}}]')), {}
    )
    texts = pa.array(["one two three four", None, "five"], pa.large_string())
    spans = {
        "text.c4.removed": pa.array([[{"start": 0, "end": 4}], None, None], SPANS),
        "text.secrets.spans": pa.array(
            [[{"start": 4, "end": 7, "kind": "jwt"}, {"start": 8, "end": 13, "kind": "npm_token"}], None, []],
            TYPED_SPANS,
        ),
    }
    assert {column.name for column in edits.columns} == set(spans)
    assert edits.apply(texts, spans).to_pylist() == ["[token] three four", None, "five"]
    one = {name: column.slice(0, 1) for name, column in spans.items()}
    assert [(edit.start, edit.end, written) for edit, written in edits.of("one two three four", one)] == [
        (0, 4, ""),
        (4, 7, "[token]"),
    ]


def test_pseudonyms_take_their_key_from_the_variable_or_the_file(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/pii.key").write_bytes(KEY.encode() + b"\n")
    by_file = recipe("[{text.secrets: {replace: pseudonym, key_file: keys/pii.key}}]", name=str(tmp_path / "r.yaml"))
    spans = {"text.secrets.spans": pa.array([[{"start": 0, "end": 3, "kind": "jwt"}]], TYPED_SPANS)}
    written = {
        with_keys(bind_edits(one), env).apply(pa.array(["abc"], pa.large_string()), spans)[0].as_py()
        for one, env in ((recipe(f"[{PII}]"), {"PII_KEY": KEY}), (by_file, {}))
    }
    assert len(written) == 1
    assert next(iter(written)).startswith("<JWT_")


def test_what_is_bound_travels_and_knows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PII_KEY", KEY)
    bound = bind_edits(recipe(f"[{PII}]"))
    assert KEY.encode() not in pickle.dumps(bound)
    assert KEY not in repr(with_keys(bound))


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "the variable PII_KEY is not set; it holds the key of pseudonyms, of 16 bytes or more"),
        ({"PII_KEY": "short"}, "the key has 5 bytes; expected 16 or more, at random"),
    ],
)
def test_a_key_that_is_none_is_said_with_its_line(env: dict[str, str], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        with_keys(bind_edits(recipe(f"[{PII}]")), env)
    assert str(caught.value).startswith(f"r.yaml:6: edits[0].text.secrets.key: {message}")
    assert "short" not in str(caught.value)


def test_a_file_without_a_key_is_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"k" * 100_000)
    messages = {"gone": "No such file", "pipe": "not a file", ".": "not a file", "large": "a key is short"}
    for name, message in messages.items():
        edits = f"[{{text.secrets: {{replace: pseudonym, key_file: {name}}}}}]"
        with pytest.raises(RecipeError, match=rf"edits\[0\].text.secrets.key_file: .*{message}"):
            with_keys(bind_edits(recipe(edits, name=str(tmp_path / "r.yaml"))), {})
