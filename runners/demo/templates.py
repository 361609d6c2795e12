"""Eight site templates: what surrounds an article in a crawl (menus, banners, related links, advertisements).

They deliberately imitate the markup of different decades: tables, div soup, HTML5 with JSON-LD, a wiki, a board.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from winnow.runners.demo.choice import between, chance, pick
from winnow.runners.demo.sites import Site, Template
from winnow.runners.demo.texts import Labels, Language, labels

_ADS = (
    "Advertisement",
    "Sponsored: warm socks for cold bridges",
    "Sponsored: the kettle that listens",
    "Partner content: choose your ladder wisely",
)
_AUTHORS = ("A. Lind", "M. Castell", "J. Okoro", "S. Varga", "T. Brandt", "R. Ito", "L. Moreau", "N. Petrova")
_REMARKS = (
    "+1",
    "Thanks for this.",
    "First!",
    "Saved for later.",
    "Where was this taken?",
    "I remember it differently.",
)


@dataclass(frozen=True, slots=True)
class Figure:
    """An image inside an article, with its alternative text and caption."""

    src: str
    alt: str
    caption: str


@dataclass(frozen=True, slots=True)
class Document:
    """What a template wraps: an article and the particulars of its page."""

    url: str
    language: Language
    title: str
    paragraphs: tuple[str, ...]  # plain text; escaped by the template
    date: str = "2023-11-05"
    figures: tuple[Figure, ...] = ()
    related: tuple[tuple[str, str], ...] = ()  # (href, title)
    head: str = ""  # additional markup for <head>
    charset: str = "utf-8"  # as the page declares it; "" declares none
    body: str | None = None  # markup instead of the paragraphs


def render(site: Site, document: Document) -> str:
    """The whole page, as its site would serve it."""
    return _TEMPLATES[site.template](site, document, labels(document.language.key))


def _head(site: Site, document: Document, style: str) -> str:
    charset = f'<meta charset="{document.charset}">\n' if document.charset else ""
    return (
        f"<head>\n{charset}<title>{escape(document.title)} | {escape(site.name)}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style}</style>\n{document.head}"
        "<script>window.dataLayer=window.dataLayer||[];function track(){dataLayer.push(arguments)}track('view');</script>\n"
        "</head>\n"
    )


def _html(document: Document) -> str:
    direction = ' dir="rtl"' if document.language.rtl else ""
    return f'<!DOCTYPE html>\n<html lang="{document.language.tag}"{direction}>\n'


def _content(document: Document) -> str:
    """The article's paragraphs, with a figure after the first one."""
    if document.body is not None:
        return document.body
    blocks = [f"<p>{escape(paragraph, quote=False)}</p>" for paragraph in document.paragraphs]
    shown = [
        f'<figure><img src="{escape(figure.src)}" alt="{escape(figure.alt)}" width="160" height="120">'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
        for figure in document.figures
    ]
    return "\n".join([*blocks[:1], *shown, *blocks[1:]])


def _links(site: Site, words: Labels) -> list[str]:
    entries = {
        "/": words.home,
        "/news/": words.news,
        "/sport/": words.sport,
        "/culture/": words.culture,
        "/contact": words.contact,
    }
    return [f'<a href="{site.url(path)}">{name}</a>' for path, name in entries.items()]


def _menu(site: Site, words: Labels) -> str:
    return "".join(f"<li>{link}</li>" for link in _links(site, words))


def _cookies(words: Labels) -> str:
    return (
        f'<div id="cookie-banner" role="dialog" aria-live="polite"><p>{words.cookies}</p>'
        f'<button type="button">{words.accept}</button></div>\n'
    )


def _related(document: Document, words: Labels, tag: str = "h3") -> str:
    if not document.related:
        return ""
    links = "".join(f'<li><a href="{escape(href)}">{escape(title)}</a></li>' for href, title in document.related)
    return f'<div class="related"><{tag}>{words.related}</{tag}><ul>{links}</ul></div>\n'


def _comments(document: Document, words: Labels) -> str:
    rows = "".join(
        f'<li class="comment"><b>{pick(_AUTHORS, document.url, "commenter", n)}</b> '
        f"<time>{document.date}</time><p>{pick(_REMARKS, document.url, 'comment', n)}</p></li>"
        for n in range(between(0, 3, document.url, "comments"))
    )
    return f'<section id="comments"><h3>{words.comments}</h3><ol>{rows}</ol></section>\n' if rows else ""


def _advert(document: Document, place: str) -> str:
    text = pick(_ADS, document.url, "advert", place)
    return f'<div class="ad ad-{place}"><a href="https://ads.pushcart.example/c?{between(1000, 9999, document.url, place)}">{text}</a></div>\n'


def _newspaper(site: Site, document: Document, words: Labels) -> str:
    return (
        _html(document)
        + _head(site, document, "body{margin:0;font:16px/1.5 Georgia}.ad{background:#eee}#nav li{display:inline}")
        + f'<body>\n{_cookies(words)}<div id="wrapper"><div id="header"><a class="logo" href="{site.url("/")}">{site.name}</a>'
        f'<ul id="nav">{_menu(site, words)}</ul><form action="/search"><input name="q" placeholder="{words.search}"></form></div>\n'
        f'{_advert(document, "top")}<div id="main"><div class="article-header"><h1>{escape(document.title)}</h1>'
        f'<div class="byline">{pick(_AUTHORS, document.url)} · {document.date}</div>'
        f'<div class="share"><a href="#">{words.share}</a> <a href="#">Facebook</a> <a href="#">E-mail</a></div></div>\n'
        f'<div class="article-body">\n{_content(document)}\n</div>\n{_related(document, words)}{_comments(document, words)}</div>\n'
        f'<div id="sidebar">{_advert(document, "side")}<h4>{words.news}</h4><ul><li><a href="/1">1. {words.more}</a></li>'
        f'<li><a href="/2">2. {words.more}</a></li></ul></div>\n'
        f'<div id="footer">© 2023 {site.name}. {words.rights}. <a href="/contact">{words.contact}</a></div></div>\n</body>\n</html>\n'
    )


def _blog(site: Site, document: Document, words: Labels) -> str:
    return (
        _html(document)
        + _head(site, document, "body{max-width:44em;margin:auto}.entry-meta{color:#666}")
        + f'<body class="single single-post wp-like">\n<header class="site-header"><p class="site-title"><a href="{site.url("/")}">'
        f'{site.name}</a></p><nav><ul>{_menu(site, words)}</ul></nav></header>\n<main><article class="post">'
        f'<h1 class="entry-title">{escape(document.title)}</h1><p class="entry-meta">{document.date} · {pick(_AUTHORS, document.url)}</p>\n'
        f'<div class="entry-content">\n{_content(document)}\n</div>\n'
        f'<footer class="entry-footer"><a rel="tag" href="/tag/a">#{words.culture}</a> <a rel="tag" href="/tag/b">#{words.news}</a></footer>'
        f"</article>\n{_related(document, words)}{_comments(document, words)}</main>\n"
        f'<aside class="widget-area"><h2>{words.search}</h2><form><input type="search"></form>{_advert(document, "widget")}'
        f'<h2>2023</h2><ul><li><a href="/2023/11">11</a></li><li><a href="/2023/10">10</a></li></ul></aside>\n'
        f'<footer class="site-footer"><p>© {site.name} — {words.rights}.</p></footer>\n{_cookies(words)}</body>\n</html>\n'
    )


def _wiki(site: Site, document: Document, words: Labels) -> str:
    return (
        _html(document)
        + _head(site, document, ".infobox{float:right}#toc{border:1px solid #aaa}")
        + '<body class="mediawiki ltr"><div id="mw-page-base"></div><div id="content" role="main">'
        f'<h1 id="firstHeading">{escape(document.title)}</h1><div id="siteSub">From {site.name}</div>'
        '<div id="jump-to-nav"><a href="#mw-head">Jump to navigation</a></div>\n<div class="mw-parser-output">\n'
        f'<table class="infobox"><tr><th colspan="2">{escape(document.title)}</th></tr><tr><td>Revision</td>'
        f"<td>{between(10_000, 99_999, document.url)}</td></tr></table>\n{_content(document)}\n"
        '<h2>References<span class="mw-editsection">[<a href="?edit">edit</a>]</span></h2><ol class="references">'
        '<li>↑ County gazetteer, second edition.</li></ol></div>\n<div class="catlinks">Categories: <a href="/c/1">Places</a> | '
        f'<a href="/c/2">Stubs</a></div></div>\n<div id="mw-navigation"><ul>{_menu(site, words)}</ul><h3>Tools</h3><ul>'
        '<li><a href="/whatlinkshere">What links here</a></li><li><a href="/print">Printable version</a></li></ul></div>\n'
        f'<div id="footer"><ul><li>This page was last edited on {document.date}.</li><li>Text is available under the licence of '
        f"{site.name}.</li></ul></div></body>\n</html>\n"
    )


def _forum(site: Site, document: Document, words: Labels) -> str:
    return (
        _html(document)
        + _head(site, document, ".post{border:1px solid #ccc}.signature{font-size:80%}")
        + f'<body id="phpbb" class="section-viewtopic"><div id="page-header"><h1>{site.name}</h1><ul class="navlinks">'
        f"{_menu(site, words)}<li>Board index</li><li>FAQ</li><li>Register</li><li>Login</li></ul></div>\n"
        f'<h2 class="topic-title">{escape(document.title)}</h2><div class="pagination">Page 1 of 1</div>\n{_content(document)}\n'
        f'<div class="topic-actions"><a href="reply">Post Reply</a></div>{_advert(document, "board")}'
        '<div id="page-footer">Powered by a board. All times are UTC. Delete all board cookies.</div></body>\n</html>\n'
    )


def _shop(site: Site, document: Document, words: Labels) -> str:
    return (
        _html(document)
        + _head(site, document, ".price{font-weight:bold}.grid{display:grid}")
        + f'<body>\n<div class="topbar">Free delivery over 60.00 · 30 days return</div><nav><ul>{_menu(site, words)}</ul>'
        '<a href="/basket">Basket (0)</a></nav>\n<ol class="breadcrumb"><li>Home</li><li>Hardware</li></ol>'
        f'<main class="product"><h1>{escape(document.title)}</h1>\n{_content(document)}\n<button>Add to basket</button></main>\n'
        f'{_related(document, words)}<section class="newsletter"><h3>Newsletter</h3><p>Get 10% off your first order.</p></section>\n'
        f"{_cookies(words)}<footer>{site.name}. Prices include VAT. {words.rights}.</footer></body>\n</html>\n"
    )


def _tables(site: Site, document: Document, words: Labels) -> str:
    menu = "".join(f'<TR><TD BGCOLOR="#DDDDEE">{link}</TD></TR>' for link in _links(site, words))
    meta = (
        f'<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset={document.charset}">\n'
        if document.charset
        else ""
    )
    return (
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd">\n<HTML>\n<HEAD>\n'
        f"{meta}<TITLE>{escape(document.title)} | {escape(site.name)}</TITLE>\n{document.head}</HEAD>\n"
        f'<BODY BGCOLOR="#FFFFFF">\n<TABLE WIDTH="100%" BORDER=0><TR><TD COLSPAN=3 ALIGN=CENTER><FONT SIZE=5>{site.name}</FONT></TD></TR>\n'
        f"<TR VALIGN=TOP><TD WIDTH=140><TABLE>{menu}</TABLE></TD><TD>\n<H1>{escape(document.title)}</H1>\n{_content(document)}\n"
        f"<P ALIGN=RIGHT><SMALL>{document.date}</SMALL></TD><TD WIDTH=120>{_advert(document, 'right')}</TD></TR>\n"
        f'<TR><TD COLSPAN=3><HR><CENTER>{site.name} | <A HREF="/contact">{words.contact}</A> | {words.rights}<BR>'
        f"Best viewed at 800x600. You are visitor {between(10_000, 99_999, document.url)}.</CENTER></TD></TR></TABLE>\n</BODY>\n</HTML>\n"
    )


def _magazine(site: Site, document: Document, words: Labels) -> str:
    card = json.dumps(
        {
            "@context": "https://schema.org",
            "@type": "Article",
            "headline": document.title,
            "datePublished": document.date,
        },
        ensure_ascii=False,
    ).replace("</", "<\\/")
    return (
        _html(document)
        + _head(site, document, ":root{--ink:#222}article{max-width:38rem}@media print{nav{display:none}}")
        + f'<body>\n<script type="application/ld+json">{card}</script>\n<a class="skip" href="#main">{words.more}</a>\n'
        f'<header><a href="/">{site.name}</a><nav aria-label="{words.home}"><ul>{_menu(site, words)}</ul></nav></header>\n'
        f'<main id="main"><article>\n<header><h1>{escape(document.title)}</h1><address>{pick(_AUTHORS, document.url)}</address>'
        f'<time datetime="{document.date}">{document.date}</time></header>\n<section>\n{_content(document)}\n</section>\n</article>\n'
        f"<aside>{_related(document, words, 'h2')}{_advert(document, 'inline')}</aside></main>\n"
        f"{_comments(document, words)}<footer><small>© 2023 {site.name}. {words.rights}.</small></footer>\n{_cookies(words)}</body>\n</html>\n"
    )


def _docs(site: Site, document: Document, words: Labels) -> str:
    version = "<p class=note>This is version 2 of this page.</p>" if chance(30, document.url, "note") else ""
    return (
        _html(document)
        + _head(site, document, "body{font-family:sans-serif}")
        + f'<body><div class="toc"><p>{site.name}</p><ul>{_menu(site, words)}</ul></div>\n<div class="document" role="main">'
        f'<h1>{escape(document.title)}<a class="headerlink" href="#top">¶</a></h1>\n{version}{_content(document)}\n</div>\n'
        f'{_related(document, words)}<div class="footer">{site.name} · {document.date} · <a href="/contact">{words.contact}</a></div></body>\n</html>\n'
    )


_TEMPLATES: dict[Template, Callable[[Site, Document, Labels], str]] = {
    "newspaper": _newspaper,
    "blog": _blog,
    "wiki": _wiki,
    "forum": _forum,
    "shop": _shop,
    "tables": _tables,
    "magazine": _magazine,
    "docs": _docs,
}
