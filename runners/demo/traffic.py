"""Captures other than pages: robots.txt, redirects, errors, JSON, style sheets, revisits."""

import json

from winnow.runners.demo.captures import Capture, Truth
from winnow.runners.demo.grammar import entry, product
from winnow.runners.demo.pages import articles
from winnow.runners.demo.sites import OPTED_OUT, PLANTED, SHOP, SITES, WIKI

_ROBOTS = (
    (SITES[0], "User-agent: *\nDisallow: /admin/\nCrawl-delay: 5\n"),
    (SITES[2], "User-agent: *\nAllow: /\nSitemap: https://www.nordposten.example/sitemap.xml\n"),
    (OPTED_OUT, "User-agent: examplebot\nDisallow: /\n\nUser-agent: *\nDisallow:\n\n# TDM reservation applies\n"),
    (PLANTED, "\ufeffuser-agent : *\r\ndisallow : /charset\r\n<html>this is not a robots file</html>\r\n"),
    (SHOP, ""),
)


def traffic() -> list[Capture]:
    """All of it, in a fixed order."""
    return [*_robots(), *_redirects(), *_errors(), *_api(), *_assets(), *_revisits()]


def _robots() -> list[Capture]:
    return [
        Capture(site.url("/robots.txt"), rules.encode(), Truth("robots_txt", site.host), content_type="text/plain")
        for site, rules in _ROBOTS
    ]


def _redirects() -> list[Capture]:
    targets = [capture.url for capture in articles()[:4]]
    local = ("http://127.0.0.1/admin", "file:///etc/passwd")  # a fetcher must not follow these
    return [
        Capture(
            PLANTED.url(f"/go/{at}"),
            b"<html><body>Moved</body></html>",
            Truth("redirect", "to a page" if at < len(targets) else "to a local address"),
            status=301 if at % 2 == 0 else 302,
            headers=(("Location", target),),
        )
        for at, target in enumerate([*targets, *local])
    ]


def _errors() -> list[Capture]:
    cases = ((404, SITES[0]), (404, SITES[5]), (404, WIKI), (410, SHOP), (500, SITES[3]), (503, SITES[8]))
    return [
        Capture(
            site.url(f"/missing/{at}"),
            f"<html><head><title>{status}</title></head><body><h1>{status}</h1><p>{entry(at, 'error').paragraphs[0]}</p></body></html>".encode(),
            Truth("error", str(status)),
            status=status,
        )
        for at, (status, site) in enumerate(cases)
    ]


def _api() -> list[Capture]:
    captures = []
    for at in range(5):
        text = product(at)
        body = json.dumps(
            {"id": at, "name": text.title, "description": text.body, "tags": ["hardware", None], "nested": {"n": at}}
        )
        captures.append(
            Capture(
                SHOP.url(f"/api/products/{at}.json"),
                body.encode(),
                Truth("api", "json"),
                content_type="application/json",
            )
        )
    return captures


def _assets() -> list[Capture]:
    return [
        Capture(
            SITES[0].url("/static/site.css"),
            b"body{color:#222}\n.ad{display:none}\n" * 20,
            Truth("api", "css"),
            content_type="text/css",
        ),
        Capture(
            SITES[0].url("/static/app.js"),
            b"(function(){console.log('ready')})();\n" * 20,
            Truth("api", "javascript"),
            content_type="text/javascript",
        ),
        Capture(
            SITES[0].url("/feed.xml"),
            b'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>Kuriren</title><item><title>Ett</title></item></channel></rss>',
            Truth("api", "rss"),
            content_type="application/rss+xml",
        ),
    ]


def _revisits() -> list[Capture]:
    return [
        Capture(
            article.url, article.body, Truth("revisit", "identical payload", of=article.url), revisit_of=article.url
        )
        for article in articles()[4:10]
    ]
