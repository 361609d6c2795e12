from winnow.filters.extraction.placed_text import context


def test_context_is_cut_between_characters() -> None:
    text = ("é" * 300 + "|" + "日" * 300).encode()
    assert context(text, 600) == ("é" * 200, "|" + "日" * 199)
    assert context(b"", 0) == (None, None)
