"""Which text of a row counts."""

import pyarrow as pa

from winnow.pipelines.reading.chosen_text import first_text, text_setting


def test_the_first_text_that_is_not_empty_counts() -> None:
    main = pa.array(["a", "", None, "", None, ""])
    library = pa.array(["b", "b", "b", None, None, ""], pa.large_string())
    own = pa.array(["c", "c", "c", "c", None, None], pa.string_view()).cast(pa.string())
    assert first_text([main, library, own]).to_pylist() == ["a", "b", "b", "c", None, ""]
    assert first_text([main]).to_pylist() == main.to_pylist()
    assert first_text([main[:0], library[:0]]).to_pylist() == []


def test_a_choice_among_columns_is_part_of_a_layers_key() -> None:
    assert text_setting(("samples.text",)) == ["samples.text"]
    assert text_setting(("a.text", "b.text"))[2:] == ["first that is not empty"]
