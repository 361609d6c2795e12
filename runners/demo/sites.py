"""The fictional hosts of the crawl, all under reserved names (.example, .test, example.com, documentation addresses).

A site has one template, a scheme and the languages that it publishes in; a site without languages publishes in any.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from winnow.runners.demo.choice import pick

Template: TypeAlias = Literal["newspaper", "blog", "wiki", "forum", "shop", "tables", "magazine", "docs"]


@dataclass(frozen=True, slots=True)
class Site:
    """One host and the look of its pages."""

    host: str
    name: str
    template: Template
    languages: tuple[str, ...] = ()
    scheme: str = "https"

    def url(self, path: str) -> str:
        """The address of a path on this site."""
        return f"{self.scheme}://{self.host}{path}"


SITES = (
    Site("www.kuriren.example", "Kuriren", "newspaper", ("swe",)),
    Site("blog.kuriren.example", "Kurirens bloggar", "blog", ("swe",)),
    Site("www.nordposten.example", "Nordposten", "newspaper", ("nob", "dan", "isl")),
    Site("tagebuch.hinterland.example", "Hinterland", "blog", ("deu",)),
    Site("www.ruhrbote.example", "Ruhrbote", "newspaper", ("deu", "nld"), "http"),
    Site("www.le-phare.example", "Le Phare", "magazine", ("fra",)),
    Site("carnet.le-phare.example", "Carnets du Phare", "blog", ("fra", "ita")),
    Site("www.vozdelmar.example", "La Voz del Mar", "newspaper", ("spa", "por")),
    Site("cucina.nonna-adele.test", "Nonna Adele", "blog", ("ita", "spa")),
    Site("www.pobrzeze.example", "Pobrzeże", "tables", ("pol", "ces", "hun"), "http"),
    Site("vestnik.klyuchi.example", "Вестник", "newspaper", ("rus", "ukr", "bul", "srp")),
    Site("www.xn--bcher-kva.example", "Bücher & Mehr", "magazine", ("deu", "ron", "tur")),
    Site("blog.kaigan.example", "海岸だより", "blog", ("jpn",)),
    Site("www.hepan.test", "河畔", "newspaper", ("cmn-Hans", "cmn-Hant")),
    Site("sijang.example.org", "시장 이야기", "magazine", ("kor", "vie")),
    Site("www.al-mahatta.example", "المحطة", "newspaper", ("arb", "pes", "urd")),
    Site("daf.hamaayan.example", "המעיין", "blog", ("heb",)),
    Site("patrika.barsat.example", "बरसात", "magazine", ("hin", "ben", "tam", "tel")),
    Site("www.openrights.example", "Open Rights Reader", "docs"),
    Site("reader.example.org", "World Reader", "magazine"),
    Site("wiki.commonground.example", "Commonground", "wiki"),
    Site("archive.townhall.test", "Town Hall Archive", "tables", (), "http"),
    Site("weekly.harbourpost.example", "The Harbour Post", "newspaper", ("eng",)),
    Site("notes.tidepool.example", "Tide Pool Notes", "blog", ("eng",)),
    Site("www.longtable.example", "The Long Table", "magazine", ("eng",)),
    Site("docs.example.com", "Handbook", "docs", ("eng",)),
)

FORUM = Site("forum.mendit.example", "Mend It Forum", "forum", ("eng",))
SHOP = Site("shop.brightnail.test", "Brightnail Hardware", "shop", ("eng",))
WEATHER = Site("weather.skyline.example", "Skyline Weather", "tables", ("eng",), "http")
MATCHES = Site("resultat.bollen.example", "Bollen", "newspaper", ("swe",))
WIKI = Site("wiki.commonground.example", "Commonground", "wiki", ("eng",))
MIRRORS = (
    Site("mirror.readagain.example", "Read Again", "tables", ("eng",), "http"),
    Site("www.newsgather.test", "NewsGather", "newspaper", ("eng",)),
    Site("cached.example.net", "Cached", "docs", ("eng",)),
)
OPTED_OUT = Site("www.keepout.example", "Keep Out Quarterly", "magazine", ("eng",))
BY_ADDRESS = Site("192.0.2.80:8080", "Intranet", "tables", ("eng",), "http")
PLANTED = Site("cases.oddments.example", "Oddments", "docs")


def site_for(key: str, *purpose: str | int) -> Site:
    """A site that publishes in the language: usually one that lists it, sometimes one that publishes in any."""
    own = [site for site in SITES if key in site.languages]
    multilingual = [site for site in SITES if not site.languages]
    return pick([*own, *own, *multilingual], "site", key, *purpose)
