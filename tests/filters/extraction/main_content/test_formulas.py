"""Formulas become TeX between dollars wherever a page has their TeX, and no markup makes this slow."""

import pytest

from winnow.filters.extraction.main_content.blocks import page_blocks
from winnow.filters.extraction.main_content.formulas import with_formulas

ANNOTATED = (
    "<math{}><semantics><mrow><mi>x</mi><mo>&lt;</mo><mn>2</mn></mrow>"
    '<annotation encoding="application/x-tex">x &lt; 2</annotation></semantics></math>'
)
KATEX = (
    f'<span class="katex"><span class="katex-mathml">{ANNOTATED.format("")}</span>'
    '<span class="katex-html" aria-hidden="true"><span class="base"><span>x</span></span><span>2</span></span></span>'
)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (f"<p>if {ANNOTATED.format('')} then", "if $x < 2$ then"),
        (f"<p>if {ANNOTATED.format(' display=block')} then", "if $$x < 2$$ then"),
        (f"<p>if {KATEX} then", "if $x < 2$ then"),
        (r'<p>if <math alttext="{\displaystyle x^{2}}"><mi>x</mi></math> then', "if $x^{2}$ then"),
        ("<p>if <math><mi>x</mi> <mo>=</mo>\n<mn>2</mn></math> then", "if x=2 then"),
        ('<p>if <script type="math/tex">a<b & c</script> then', "if $a<b & c$ then"),
        ('<p>if <script type="math/tex; mode=display">a</script> then', "if $$a$$ then"),
        ("<p>if <math><mfrac><mn>1</mn><msqrt><mi>x</mi></msqrt></mfrac></math> then", r"if $\frac{1}{\sqrt{x}}$ then"),
        ("<p>if <math><msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup></math> then", "if $x_{1}^{2}$ then"),
        ("<p>if <m:math><m:msup><m:mi>ab</m:mi><m:mn>2</m:mn></m:msup></m:math> then", "if ab2 then"),  # no MathML here
        ("<p>if <math><mi>a</mi><mo>&lt;</mo><msup><mi>b</mi><mi>&#945;</mi></msup></math>", "if $a<b^{α}$"),
        (
            "<p>if <math display=block><mtable><mtr><mtd>a</mtd><mtd>b</mtd></mtr><mtr><mtd>c</mtd><mtd>d</mtd></mtr>"
            "</mtable></math>",
            r"if $$\begin{matrix}a & b \\ c & d\end{matrix}$$",
        ),
        ("<p>if <math><mfrac><mn>1</mn></mfrac></math> then", "if 1 then"),
        ("<p>if <math><mfrac><mn>1</mn></math> then", "if 1 then"),
        ('<p>if <span class="MathJax"><span>x2</span></span><script type="math/tex">x^2</script>', "if $x^2$"),
        ("<p>if <math><mi>x</mi> never ends", "if"),  # as in browsers, what has no end is still a formula
        ("<p>no <mathx>formula</mathx>", "no formula"),
        ('<p>no <span class="katex-html">end', "no end"),
    ],
)
def test_formulas_are_written_as_tex(html: str, text: str) -> None:
    assert "\n".join(page_blocks(html.encode(), None).texts()) == text


def test_the_picture_that_a_wiki_shows_for_a_formula_goes_with_it() -> None:
    picture = '<img src=/x.svg class="mwe-math-fallback-image-inline" alt="x">'
    page = page_blocks(f"<p>if <span>{ANNOTATED.format('')}</span>{picture} then {picture}".encode(), None)
    assert page.texts() == ["if $x < 2$ then"]
    assert page.source.count(b"<img") == 1


def test_a_formula_within_formulas_without_end_is_its_characters() -> None:
    deep = "<msqrt>" * 300 + "x" + "</msqrt>" * 300
    assert page_blocks(f"<p>if <math>{deep}</math>".encode(), None).texts() == ["if x"]


def test_a_page_without_formulas_is_the_same_bytes() -> None:
    page = b"<p>The annotation of <b>TeX</b> costs $5<script>math</script>"
    assert page_blocks(page, None).source is page


@pytest.mark.parametrize(
    "piece", ["<math ", '<span class="katex-html">', "<math alttext='", "<script type=math/tex>", "<annotation "]
)
def test_pieces_of_formulas_by_the_hundred_thousand_end(piece: str) -> None:
    with_formulas((piece * 100_000).encode())
    with_formulas((piece * 100_000 + "</math>").encode())
